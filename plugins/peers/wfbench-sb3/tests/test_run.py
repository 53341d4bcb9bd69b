from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

from wfbench import load_policy

LIBRARY = ["--collector", "sb3-dummy", "--trainer", "sb3-ppo"]


def run(out: Path, *arguments: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Run as a user does; return the events of updates and of finished trainings."""
    command = [sys.executable, "-m", "wfbench", "run", *LIBRARY, *arguments]
    command += ["--name", "one", "--out", str(out), "--json", "--quiet"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=250, check=False)
    assert done.returncode == 0, done.stderr
    events = [json.loads(line) for line in (out / "one/events.jsonl").read_text().splitlines()]
    kinds = ("update", "workflow-finished")
    updates, finished = ([e for e in events if e["event"] == kind] for kind in kinds)
    return updates, finished


def test_a_search_collects_and_learns_with_the_library(tmp_path):
    search = ["--preset", "per-order", "--n-envs", "4", "--workflows", "2", "--max-episodes", "2"]
    updates, finished = run(tmp_path, *search, "--min-episodes", "1")
    assert updates
    assert [event["inherited_from"] for event in finished] == [None, 0]
    assert (tmp_path / "one/policy.npz").exists()


def test_its_ppo_trains_one_policy_for_all_orders(tmp_path):
    updates, finished = run(tmp_path, "--smoke")
    stages = [(event["stage"], event["inherited_from"]) for event in finished]
    assert stages == [("joint", None), ("joint", None), ("free", None), ("specialised", 0)]
    for training in range(4):
        learned = [e["stats"] for e in updates if e["workflow"] == training and e["stats"]]
        assert learned
        assert all("approx_kl" in stats for stats in learned)

    told = [load_policy(tmp_path / "one", order=order, seed=0) for order in ("SEUHD", "DHUES")]
    assert [one.label.order for one in told] == [(), ()]
    assert all(one.label.trainer.startswith("sb3-ppo:") for one in told)
    obs = np.random.default_rng(1).integers(0, 2, (1000, *told[0].obs_shape)).astype(np.uint8)
    assert not np.array_equal(*(one.act(obs) for one in told))
