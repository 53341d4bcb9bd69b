from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from wfbench.contract import Event
from wfbench_tensorboard import plugin

SEARCH = [
    "--preset",
    "per-order",
    "--env",
    "synthetic-batch",
    "--n-envs",
    "4",
    "--workflows",
    "2",
    "--max-episodes",
    "2",
    "--min-episodes",
    "1",
]


JOINT = [
    "--env",
    "synthetic-batch:obs_size=6,num_actions=5,episode_length=10,orders=U>E>O>S>D;D>S>O>E>U",
    "--n-envs",
    "4",
    "--joint-episodes",
    "2",
    "--specialise",
    "0",
    "--eval-episodes",
    "4",
    "--stress",
    "0",
]


def scalars(folder: Path) -> dict[str, list[tuple[int, float]]]:
    found = EventAccumulator(str(folder))
    found.Reload()
    # Scalars of the present format are stored as tensors of a single number.
    return {
        tag: [(e.step, float(e.tensor_proto.float_val[0])) for e in found.Tensors(tag)]
        for tag in found.Tags()["tensors"]
    }


def run(
    *arguments: str, cwd: Path, settings: Sequence[str] = SEARCH, **variables: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "wfbench", "run", *settings, "--name", "one", "--quiet", *arguments],
        cwd=cwd,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )


def test_a_run_leaves_its_curves_beside_its_other_files(tmp_path):
    done = run("--out", "runs", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    curves = scalars(tmp_path / "runs/one/tensorboard")
    lines = (tmp_path / "runs/one/events.jsonl").read_text().splitlines()
    events = [json.loads(line) for line in lines]
    for kind, tag, step in (
        ("update", "update/compliance", "env_steps_spent"),
        ("workflow-finished", "workflow/score", "workflow"),
    ):
        told = [(e[step], e[tag.partition("/")[2]]) for e in events if e["event"] == kind]
        assert told
        assert [step for step, _ in curves[tag]] == [step for step, _ in told]
        assert [value for _, value in curves[tag]] == pytest.approx([value for _, value in told])
    assert "update/time/work" in curves
    assert not {"update/update", "update/env_steps_spent", "workflow/seed"} & curves.keys()


def test_a_joint_run_leaves_a_point_per_update_and_per_training(tmp_path):
    done = run("--out", "runs", cwd=tmp_path, settings=JOINT)
    assert done.returncode == 0, done.stderr
    curves = scalars(tmp_path / "runs/one/tensorboard")
    lines = (tmp_path / "runs/one/events.jsonl").read_text().splitlines()
    events = [json.loads(line) for line in lines]
    spent = [e["env_steps_spent"] for e in events if e["event"] == "update"]
    scores = [e["score"] for e in events if e["event"] == "workflow-finished"]
    assert [step for step, _ in curves["update/return"]] == spent
    assert curves["workflow/score"] == [(n, pytest.approx(s)) for n, s in enumerate(scores)]
    assert len(scores) == 3  # two joint trainings, and one without orders


def test_a_directory_of_ones_own(tmp_path):
    done = run(cwd=tmp_path, WFBENCH_TENSORBOARD_DIR=str(tmp_path / "boards"))
    assert done.returncode == 0, done.stderr
    assert scalars(tmp_path / "boards/one")
    assert not list(tmp_path.glob("results/**/tensorboard"))


def test_what_cannot_be_written_does_not_disturb_the_run(tmp_path):
    (tmp_path / "boards").write_text("a file where a directory is to be")
    done = run(cwd=tmp_path, WFBENCH_TENSORBOARD_DIR=str(tmp_path / "boards"))
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("failed in wfbench_") == 1


def test_events_of_a_run_without_a_directory_are_ignored(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(plugin.DIRECTORY_VARIABLE, raising=False)
    plugin.wfbench_run_started(Event("r", {}))
    plugin.wfbench_update_finished(Event("r", {"env_steps_spent": 1, "loss": 2.0}))
    plugin.wfbench_run_finished(Event("r", {}))
    assert list(tmp_path.iterdir()) == []


def test_numbers_that_are_none_or_not_finite_leave_no_point(tmp_path):
    values = {
        "env_steps_spent": 7,
        "loss": float("nan"),
        "score": None,
        "return": -3.5,
        "order": "A>B",
    }
    plugin.wfbench_update_finished(Event("r", values, str(tmp_path)))
    plugin.wfbench_run_finished(Event("r", {}, str(tmp_path)))
    assert scalars(tmp_path / "tensorboard") == {"update/return": [(7, -3.5)]}


def test_listing_plugins_does_not_import_tensorboard():
    code = "import sys, wfbench_tensorboard.plugin; sys.exit('tensorboard' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
