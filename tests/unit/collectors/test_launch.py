"""How a nursery and its workers start and end, looked at one process at a time."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import pytest

from wfbench.contract import CollectError, EnvRef, Plan
from wfbench_collectors import launch, nursery, worker
from wfbench_collectors.pipe import PipeCollector
from wfbench_collectors.wire import CollectorEnd, Kind, connect, encode

TRACE = """
import os
import sys

with open(os.environ["WFBENCH_TEST_TRACE"], "a") as file:
    file.write(f"{os.getpid()}\\n")

from wfbench_synthetic.env import SyntheticEnv


def warm_up():
    with open(os.environ["WFBENCH_TEST_TRACE"], "a") as file:
        file.write(f"warm {os.getpid()}\\n")


def Speaking():
    sys.stdout.write("it speaks\\n")
    return SyntheticEnv()
"""


def broken(*_: Any) -> NoReturn:
    raise OSError("broken")


def exit_code(pid: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def test_a_fork_that_fails_before_it_serves_ends_with_70(
    plan_of: Callable[..., Plan], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launch, "_close_all_but", broken)
    with pytest.raises(CollectError, match="the process that starts workers ended with 70"):
        PipeCollector(start_method="fork").open(plan_of())


def test_a_worker_that_cannot_be_executed_ends_with_70(monkeypatch: pytest.MonkeyPatch) -> None:
    made = nursery._Nursery.__new__(nursery._Nursery)
    made._fresh, made._children = True, {}
    made._control, theirs = socket.socketpair()
    made._bell, made._clapper = socket.socketpair()
    monkeypatch.setattr(os, "execv", broken)
    made._spawn(4, os.pipe())
    [(pid, number)] = made._children.items()
    assert number == 4
    assert exit_code(pid) == 70
    for end in (made._control, theirs, made._bell, made._clapper):
        end.close()


@pytest.mark.parametrize("method", ["forkserver", "spawn"])
def test_modules_are_imported_and_warmed_up_once_unless_workers_are_fresh(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, method: str
) -> None:
    trace = tmp_path / "trace"
    (tmp_path / "traced_env.py").write_text(TRACE)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("WFBENCH_TEST_TRACE", str(trace))
    plan = Plan(EnvRef("traced", "traced_env:Speaking"), 2, (1, 2))
    with PipeCollector(start_method=method) as collector:
        collector.open(plan)
        pid = collector._supervisor.watch.nursery.pid
    lines = trace.read_text().split("\n")[:-1]
    if method == "spawn":
        assert len(set(lines)) == 2
        assert not any(str(pid) in line for line in lines)
    else:
        assert lines == [str(pid), f"warm {pid}"]


def served(*, then: Callable[[CollectorEnd], object]) -> int:
    """Have a worker serve one collector, and return its exit code."""
    end, descriptors = connect()
    pid = os.fork()
    if pid == 0:
        end.close()
        worker.main((descriptors, 0, os.getppid()))
    for descriptor in descriptors:
        os.close(descriptor)
    then(end)
    found = exit_code(pid)
    end.close()
    return found


def test_a_worker_ends_with_0_when_it_is_told_to_or_left_alone() -> None:
    assert served(then=lambda end: end.send(encode(1, Kind.CLOSE), time.monotonic() + 60)) == 0
    assert served(then=lambda end: end.close()) == 0


def test_a_worker_that_fails_itself_ends_with_1(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "_answer_all", broken)
    assert served(then=lambda _end: None) == 1


def test_what_an_environment_printed_is_not_lost_with_its_worker(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "loud_env.py").write_text(TRACE)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("WFBENCH_TEST_TRACE", os.devnull)
    with PipeCollector() as collector:
        collector.open(Plan(EnvRef("loud", "loud_env:Speaking"), 1, (1,)))
        assert "it speaks" in capfd.readouterr().err, "it is told at once"
