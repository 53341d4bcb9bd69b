"""Segments are ours by name, reserved before use, and reaped when their owner is dead."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from wfbench.contract import CollectError, Plan
from wfbench.policies import RandomPolicy
from wfbench.processes.leftovers import remove_stale_segments, stale_segments
from wfbench.processes.segments import Segment, segment_dir
from wfbench_collectors.shm import ShmCollector


class Usage(NamedTuple):
    """What `shutil.disk_usage` answers."""

    total: int
    used: int
    free: int


@pytest.fixture
def dead_pid() -> int:
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    return child.pid


@pytest.fixture
def leftover(dead_pid: int) -> Iterator[Path]:
    path = segment_dir() / f"wfbench_{dead_pid}_0badcafe"
    path.write_bytes(b"left behind")
    yield path
    path.unlink(missing_ok=True)


def test_the_next_open_removes_what_a_dead_run_left(
    build: Callable[..., Any], plan_of: Callable[..., Plan], leftover: Path
) -> None:
    with build() as collector:
        collector.open(plan_of("Quiet"))
        assert not leftover.exists()


def test_a_segment_in_use_is_never_stale(dead_pid: int) -> None:
    segment = Segment.create(64)
    disguised = segment_dir() / f"wfbench_{dead_pid}_0badcafe"
    (segment_dir() / segment.name).rename(disguised)
    try:
        # Its owner cannot be seen, as from another container, but holds the lock.
        assert disguised not in stale_segments()
        remove_stale_segments()
        assert disguised.exists()
    finally:
        disguised.unlink()
        segment.close()


def test_a_segment_of_a_living_process_is_never_stale() -> None:
    path = segment_dir() / f"wfbench_{os.getppid()}_0badcafe"
    path.touch()
    try:
        assert path not in stale_segments()
    finally:
        path.unlink()


def test_names_that_are_not_ours_are_left_alone(dead_pid: int) -> None:
    path = segment_dir() / f"wfbench_{dead_pid}_notes.txt"
    path.touch()
    try:
        assert path not in stale_segments()
    finally:
        path.unlink()


def test_too_little_room_is_one_clear_line(
    plan_of: Callable[..., Plan], monkeypatch: pytest.MonkeyPatch
) -> None:
    collector = ShmCollector(workers=2)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(1000, 999, 1))
    with pytest.raises(CollectError, match=r"\d+ bytes are needed and 1 are free"):
        collector.open(plan_of("Quiet"))


def test_more_than_there_is_room_for_is_refused_before_it_is_used() -> None:
    needed = shutil.disk_usage(segment_dir()).total + 1
    with pytest.raises(CollectError, match=f"{needed} bytes are needed"):
        Segment.create(needed)


def test_a_worker_that_ends_takes_no_memory_away(
    build: Callable[..., Any], plan_of: Callable[..., Plan]
) -> None:
    """Python's resource tracker would remove segments that a worker had attached to."""
    policy = RandomPolicy(4)
    with build(on_worker_death="restart") as collector:
        collector.open(plan_of("Quiet"))
        collector.collect(policy, 3)
        before = sorted(segment_dir().glob(f"wfbench_{os.getpid()}_*"))
        collector._supervisor.watch.nursery.signal(0, 9)
        for _ in range(3):
            collector.collect(policy, 3)
        after = sorted(segment_dir().glob(f"wfbench_{os.getpid()}_*"))
        assert before == after
