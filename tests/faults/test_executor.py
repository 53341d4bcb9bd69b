"""Worker processes that die under a search, and a search that dies over its worker processes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

_DEADLINE = 90.0


@pytest.fixture
def environ(clean_environ: dict[str, str], small_plugins: dict[str, str]) -> dict[str, str]:
    return {**clean_environ, **small_plugins}


@pytest.fixture
def argv(small_run: list[str]) -> list[str]:
    """A search of a few seconds, two orders at a time."""
    searcher = small_run.index("climber")
    changed = [*small_run[:searcher], "random", *small_run[searcher + 1 :]]
    slow = [word.replace("step=0.0002", "step=0.002") for word in changed]
    return [*slow, "--batch", "2"]


@contextmanager
def _started(argv: list[str], environ: dict[str, str]) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-m", "wfbench", *argv],
        env=environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate(timeout=30)


def _until(holds: Callable[[], Any]) -> Any:
    deadline = time.monotonic() + _DEADLINE
    while not (found := holds()):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return found


def _until_it_stays(number: Callable[[], int], seconds: float = 3.0) -> None:
    """Wait until a number has been the same for so long."""
    deadline, last, since = time.monotonic() + _DEADLINE, number(), time.monotonic()
    while time.monotonic() - since < seconds:
        assert time.monotonic() < deadline
        time.sleep(0.01)
        if number() != last:
            last, since = number(), time.monotonic()


def _workers(pid: int) -> list[psutil.Process]:
    return [
        child
        for child in psutil.Process(pid).children()
        if any("wfbench_executors.worker" in word for word in child.cmdline())
    ]


def _result(run: Path) -> tuple[list[dict[str, Any]], dict[str, bytes]]:
    lines = (run / "events.jsonl").read_text().splitlines()
    events = [{k: v for k, v in json.loads(line).items() if k != "time"} for line in lines]
    stored = [run / "policy.npz", *sorted((run / "checkpoints").iterdir())]
    return events, {path.name: path.read_bytes() for path in stored}


def _finished(run: Path) -> int:
    log = run / "events.jsonl"
    return log.read_text().count('"event":"workflow-finished"') if log.exists() else 0


@pytest.fixture(scope="module")
def kept() -> list[Any]:
    """What tests leave to those after them."""
    return []


@pytest.fixture
def expected(argv: list[str], environ: dict[str, str], tmp_path: Path, kept: list[Any]) -> Any:
    """The same search, left alone in one process."""
    if not kept:
        out = tmp_path / "expected"
        with _started([*argv, "--out", str(out), "--name", "r"], environ) as process:
            assert process.wait(_DEADLINE) == 0, process.stderr
        kept.append(_result(out / "r"))
    return kept[0]


def test_a_killed_worker_costs_nothing_but_time(
    argv: list[str], environ: dict[str, str], tmp_path: Path, expected: Any
) -> None:
    run = tmp_path / "killed" / "r"
    where = ["--executor", "processes:2", "--out", str(run.parent), "--name", "r"]
    with _started([*argv, *where], environ) as process:
        _until(lambda: _finished(run) >= 2)
        victims = _until(lambda: _workers(process.pid))
        # Stopped, it never ends an order, so what the search waits for in the end is this worker.
        os.kill(victims[0].pid, signal.SIGSTOP)
        _until_it_stays(lambda: _finished(run))
        os.kill(victims[0].pid, signal.SIGKILL)
        said, errors = process.communicate(timeout=_DEADLINE)
    assert process.returncode == 0, errors
    assert "lost (its worker process was killed by SIGKILL), will be retried" in said
    assert _result(run) == expected


def test_a_killed_search_leaves_no_worker_and_goes_on_where_it_was(
    argv: list[str], environ: dict[str, str], tmp_path: Path, expected: Any
) -> None:
    run = tmp_path / "again" / "r"
    where = ["--executor", "processes:2", "--out", str(run.parent)]
    with _started([*argv, *where, "--name", "r"], environ) as process:
        _until(lambda: _finished(run) >= 3)
        workers = _workers(process.pid)
        process.kill()
        process.wait(_DEADLINE)
    assert workers
    _until(lambda: not any(worker.is_running() for worker in workers))
    assert 3 <= _finished(run) < 8
    with _started(["run", "--resume", "r", "--out", str(run.parent)], environ) as process:
        assert process.wait(_DEADLINE) == 0
    assert _result(run) == expected


def test_ctrl_c_ends_the_workers_too(
    argv: list[str], environ: dict[str, str], tmp_path: Path
) -> None:
    run = tmp_path / "r"
    where = ["--executor", "processes:2", "--out", str(tmp_path), "--name", "r"]
    with _started([*argv, *where, "--workflows", "10000"], environ) as process:
        _until(lambda: _finished(run) >= 1)
        workers = _until(lambda: _workers(process.pid))
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=_DEADLINE)
    assert process.returncode == 130
    assert f"wfbench run --resume {run}" in errors
    assert "Traceback" not in errors
    _until(lambda: not any(worker.is_running() for worker in workers))
