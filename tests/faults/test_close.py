"""`close` ends within its deadline in any state, twice too, and leaves nothing."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from wfbench.contract import DeadlineError, Plan
from wfbench.policies import RandomPolicy
from wfbench.processes.segments import segment_dir
from wfbench.testing.harness import footprint
from wfbench_collectors.free_running import AsyncCollector

POLICY = RandomPolicy(4)
CLOSED_WITHIN = 5.0
"""The plans' deadline is 3 s; the rest is for a machine that is busy with something else."""


def _nursery() -> psutil.Process:
    """The only child, apart from those that Python keeps for a session."""
    own = footprint.children()
    [nursery] = [child for child in psutil.Process().children() if child.pid in own]
    return nursery


def _workers() -> list[psutil.Process]:
    return _nursery().children()


def _own_segments() -> list[str]:
    return [path.name for path in segment_dir().glob(f"wfbench_{os.getpid()}_*")]


@pytest.fixture
def closing(within: Callable[[float], Any]) -> Callable[[Any], None]:
    def close(collector: Any) -> None:
        with within(CLOSED_WITHIN):
            collector.close()
        assert not footprint.children()
        assert not _own_segments()
        with within(1.0):
            collector.close()

    return close


def test_before_open(build: Callable[..., Any], closing: Callable[[Any], None]) -> None:
    closing(build())


def test_after_open(
    build: Callable[..., Any], plan_of: Callable[..., Plan], closing: Callable[[Any], None]
) -> None:
    collector = build()
    collector.open(plan_of("Quiet"))
    assert _own_segments()
    closing(collector)


def test_after_collect_and_again_after_a_second_life(
    build: Callable[..., Any], plan_of: Callable[..., Plan], closing: Callable[[Any], None]
) -> None:
    collector = build()
    for _ in range(2):
        collector.open(plan_of("Quiet"))
        assert collector.collect(POLICY, 5).transitions == 20
        closing(collector)


def test_with_all_workers_stopped(
    build: Callable[..., Any], plan_of: Callable[..., Plan], closing: Callable[[Any], None]
) -> None:
    collector = build()
    collector.open(plan_of("Quiet"))
    collector.collect(POLICY, 5)
    for worker in _workers():
        worker.suspend()
    closing(collector)


def test_with_the_nursery_stopped(
    build: Callable[..., Any], plan_of: Callable[..., Plan], closing: Callable[[Any], None]
) -> None:
    collector = build()
    collector.open(plan_of("Quiet"))
    _nursery().suspend()
    closing(collector)


def test_with_all_workers_killed(
    build: Callable[..., Any], plan_of: Callable[..., Plan], closing: Callable[[Any], None]
) -> None:
    collector = build()
    collector.open(plan_of("Quiet"))
    for worker in _workers():
        worker.kill()
    closing(collector)


def test_with_workers_busy_in_native_code(
    build: Callable[..., Any],
    plan_of: Callable[..., Plan],
    closing: Callable[[Any], None],
    caplog: pytest.LogCaptureFixture,
) -> None:
    collector = build()
    collector.open(plan_of("Busy", step=1.0))
    with pytest.raises(DeadlineError) as caught:
        collector.collect(POLICY, 5)
    closing(collector)
    named = re.findall(r"worker \d+", str(caught.value))
    assert named
    told = [name for message in caplog.messages for name in re.findall(r"worker \d+", message)]
    assert not {*named} & {*told}, "the error has said it already"


def test_with_envs_that_never_close_and_ignore_sigterm(
    build: Callable[..., Any], plan_of: Callable[..., Plan], closing: Callable[[Any], None]
) -> None:
    collector = build()
    collector.open(plan_of("StubbornClose"))
    closing(collector)


def test_a_worker_that_has_to_be_killed_is_reported(
    build: Callable[..., Any],
    plan_of: Callable[..., Plan],
    closing: Callable[[Any], None],
    caplog: pytest.LogCaptureFixture,
) -> None:
    collector = build()
    plan = plan_of(fault="close-hang", fault_env=3)
    collector.open(plan)
    collector.collect(POLICY, 5)
    closing(collector)
    [warning] = caplog.messages
    assert f"(in env 3, seed {plan.env_seeds[3]}) did not end within 0.9 s" in warning


def test_a_hung_environment_that_async_passed_over_is_reported_at_close(
    plan_of: Callable[..., Plan],
    closing: Callable[[Any], None],
    caplog: pytest.LogCaptureFixture,
    tmp_path: Path,
) -> None:
    marker = tmp_path / "hung"
    collector = AsyncCollector(workers=2)
    collector.open(plan_of(fault="hang@3", fault_env=3, fault_once=str(marker)))
    while not marker.exists():
        assert collector.collect(POLICY, 5).transitions == 20
    assert collector.collect(POLICY, 5).transitions == 20
    closing(collector)
    [warning] = caplog.messages
    assert warning.startswith("worker 1 (in env 3, seed ")


def test_after_a_keyboard_interrupt(
    build: Callable[..., Any], plan_of: Callable[..., Plan], closing: Callable[[Any], None]
) -> None:
    collector = build()
    collector.open(plan_of("Busy"))

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGUSR1, interrupt)
    killer = psutil.Popen(["/bin/sh", "-c", f"sleep 0.5; kill -USR1 {os.getpid()}"])
    try:
        with pytest.raises(KeyboardInterrupt):
            collector.collect(POLICY, 5)
    finally:
        killer.wait()
        signal.signal(signal.SIGUSR1, before)
    closing(collector)


def test_what_an_env_left_running_is_ended_too(
    build: Callable[..., Any],
    plan_of: Callable[..., Plan],
    closing: Callable[[Any], None],
    tmp_path: Path,
) -> None:
    pid_file = tmp_path / "pid"
    collector = build()
    collector.open(plan_of("Breeder", n_envs=1, pid_file=str(pid_file)))
    left_running = int(pid_file.read_text())
    assert psutil.pid_exists(left_running)
    closing(collector)
    try:
        psutil.Process(left_running).wait(5)
    except psutil.NoSuchProcess:
        return
    assert not psutil.pid_exists(left_running)
