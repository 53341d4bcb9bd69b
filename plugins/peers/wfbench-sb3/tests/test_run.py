from __future__ import annotations

import json
import subprocess
import sys


def test_a_search_collects_and_learns_with_the_library(tmp_path):
    command = [sys.executable, "-m", "wfbench", "run", "--preset", "per-order"]
    command += ["--collector", "sb3-dummy"]
    command += ["--trainer", "sb3-ppo", "--n-envs", "4", "--workflows", "2", "--max-episodes", "2"]
    command += ["--min-episodes", "1", "--name", "one", "--out", str(tmp_path), "--json", "--quiet"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=250, check=False)
    assert done.returncode == 0, done.stderr
    events = [json.loads(line) for line in (tmp_path / "one/events.jsonl").read_text().splitlines()]
    updates = [event for event in events if event["event"] == "update"]
    finished = [event for event in events if event["event"] == "workflow-finished"]
    assert updates
    assert [event["inherited_from"] for event in finished] == [None, 0]
    assert (tmp_path / "one/policy.npz").exists()
