"""Joint runs as processes: killed and resumed, on an executor, as a matrix, out of time."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

KILLS = 5
THIRD_PARTY = Path(__file__).parents[1] / "data" / "third_party"
RUN = [
    *("run", "--env", "synthetic-batch:obs_size=6,num_actions=6,episode_length=10"),
    *("--collector", "vector", "--trainer", "reinforce", "--searcher", "gp-ucb"),
    *("--n-envs", "4", "--joint-episodes", "3", "--max-episodes", "2", "--update-every", "10"),
    *("--eval-episodes", "2", "--stress", "2", "--specialise", "2", "--seed", "5"),
]
Wfbench = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def third_party() -> dict[str, str]:
    """Variables that offer a collector and a trainer from before there were joint runs."""
    return {"WFBENCH_PLUGINS_DIR": str(THIRD_PARTY)}


@pytest.fixture(scope="module")
def whole(
    tmp_path_factory: pytest.TempPathFactory,
) -> Callable[[Wfbench, dict[str, str], str], Path]:
    """Runs that were left alone, by the number of orders asked for at a time."""
    kept: dict[str, Path] = {}

    def run(wfbench: Wfbench, environ: dict[str, str], batch: str) -> Path:
        if batch not in kept:
            out = tmp_path_factory.mktemp("whole")
            place = ("--out", str(out), "--name", "r")
            done = wfbench(*RUN, "--batch", batch, *place, env=environ)
            assert done.returncode == 0, done.stderr
            kept[batch] = out / "r"
        return kept[batch]

    return run


def _events(run: Path) -> list[dict[str, Any]]:
    lines = (run / "events.jsonl").read_text().splitlines()
    return [{k: v for k, v in json.loads(line).items() if k != "time"} for line in lines]


def _expect_same(one: Path, other: Path) -> None:
    assert _events(one) == _events(other)
    files = [path.relative_to(one) for path in sorted(one.rglob("*.npz"))]
    assert files == [path.relative_to(other) for path in sorted(other.rglob("*.npz"))]
    assert {path.parts[0] for path in files} == {"checkpoints", "policies", "policy.npz", "sweeps"}
    for file in files:
        assert (one / file).read_bytes() == (other / file).read_bytes(), file


@pytest.mark.parametrize("batch", ["1", "2"])
@pytest.mark.timeout(300)
def test_a_joint_run_killed_again_and_again_ends_like_one_left_alone(
    wfbench: Wfbench,
    whole: Any,
    clean_environ: dict[str, str],
    third_party: dict[str, str],
    tmp_path: Path,
    batch: str,
) -> None:
    left_alone = whole(wfbench, third_party, batch)
    rng = random.Random(int(batch))  # noqa: S311 - when to kill is no secret
    run = tmp_path / "r"
    argv = [*RUN, "--batch", batch, "--out", str(tmp_path), "--name", "r"]
    kills = 0
    for part in range(1, KILLS + 1):
        if _ended(run):
            break
        size = int(_log_size(left_alone) * (part - rng.random()) / (KILLS + 1))
        kills += _killed(argv, {**clean_environ, **third_party}, run, size)
        argv = ["run", "--resume", "r", "--out", str(tmp_path)]
    assert kills >= 3
    done = wfbench(*argv, env=third_party)
    assert done.returncode == 0, done.stderr
    _expect_same(left_alone, run)
    checked = wfbench("runs", "validate", str(run))
    assert checked.returncode == 0, checked.stdout


def _ended(run: Path) -> bool:
    return (run / "events.jsonl").exists() and '"run-finished"' in (
        run / "events.jsonl"
    ).read_text()


def _killed(argv: list[str], environ: dict[str, str], run: Path, size: int) -> bool:
    """Kill a command once it has grown the log to a size; tell whether it was alive.

    Progress decides, not time: a run that got faster is killed just as often.
    """
    before = _log_size(run)
    with subprocess.Popen(
        [sys.executable, "-m", "wfbench", *argv],
        env=environ,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        deadline = time.monotonic() + 60
        while process.poll() is None and (_log_size(run) == before or _log_size(run) < size):
            assert time.monotonic() < deadline
            time.sleep(0.001)
        process.send_signal(signal.SIGKILL)
    return process.returncode == -signal.SIGKILL


def _log_size(run: Path) -> int:
    log = run / "events.jsonl"
    return log.stat().st_size if log.exists() else -1


def test_an_executor_with_processes_gives_the_same_joint_run(
    wfbench: Wfbench, whole: Any, third_party: dict[str, str], tmp_path: Path
) -> None:
    argv = [*RUN, "--batch", "2", "--executor", "processes:2"]
    done = wfbench(*argv, "--out", str(tmp_path), "--name", "r", env=third_party)
    assert done.returncode == 0, done.stderr
    _expect_same(whole(wfbench, third_party, "2"), tmp_path / "r")


def test_a_matrix_of_collectors_gives_the_same_results(
    wfbench: Wfbench, whole: Any, third_party: dict[str, str], tmp_path: Path
) -> None:
    """One of the collectors has never heard of orders in observations."""
    argv = [*RUN, "--collector", "shm:workers=2", "--collector", "old"]
    done = wfbench(*argv, "--out", str(tmp_path), "--name", "m", env=third_party)
    assert done.returncode == 0, done.stderr
    truth = whole(wfbench, third_party, "1")
    cells = sorted(path for path in (tmp_path / "m").iterdir() if path.is_dir())
    assert len(cells) == 3
    for cell in cells:
        for sweep in sorted((truth / "sweeps").iterdir()):
            assert (cell / "sweeps" / sweep.name).read_bytes() == sweep.read_bytes()
        found, wanted = ([e for e in _events(p) if "score" in e] for p in (cell, truth))
        assert found == wanted


def test_a_joint_run_ends_when_its_time_is_up(
    wfbench: Wfbench, whole: Any, third_party: dict[str, str], tmp_path: Path
) -> None:
    whole(wfbench, third_party, "1")  # it leaves nothing to compile, which a limit does not count
    argv = [*RUN, "--joint-episodes", "1000000", "--max-seconds", "4"]
    done = wfbench(*argv, "--out", str(tmp_path), "--name", "r", env=third_party)
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in (tmp_path / "r/events.jsonl").read_text().splitlines()]
    assert lines[-1]["event"] == "run-finished"
    assert lines[-1]["reason"] == "wall-time"
    late = [line["event"] for line in lines if line["time"]["elapsed"] > 4]
    assert late.count("update") <= 1, "what had begun may end"
    assert "workflow-started" not in late
    [first, *_] = [line for line in lines if line["event"] == "workflow-finished"]
    assert (first["stage"], first["reason"]) == ("joint", "wall-time")
    assert (tmp_path / "r" / "policy.npz").exists()
