"""Shared memory and workers of dead owners, and nobody else's."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

from wfbench.contract import CollectError, News
from wfbench.processes import leftovers, segments
from wfbench.processes.in_process import InProcessExecutor
from wfbench.processes.segments import Segment

ME = os.getuid()


class Process:
    """A process as psutil tells of it."""

    def __init__(
        self, owner: str = "", uid: int = ME, status: str = "running", *, denied: bool = False
    ) -> None:
        self.owner, self.uid, self._status, self.denied = owner, uid, status, denied
        self.ended: list[str] = []

    def uids(self) -> Any:
        return SimpleNamespace(real=self.uid)

    def status(self) -> str:
        return self._status

    def environ(self) -> dict[str, str]:
        if self.denied:
            raise psutil.AccessDenied
        return {"WFBENCH_OWNER": self.owner} if self.owner else {}


def test_orphans_are_ours_alive_and_of_a_dead_owner(monkeypatch: pytest.MonkeyPatch) -> None:
    orphan = Process("5")
    others = [
        Process("7"),
        Process(""),
        Process("many"),
        Process("5", uid=ME + 1),
        Process("5", status=psutil.STATUS_ZOMBIE),
        Process("5", denied=True),
    ]
    everybody = [*others[:3], orphan, *others[3:]]
    monkeypatch.setattr(psutil, "process_iter", lambda: iter(everybody))
    monkeypatch.setattr(leftovers, "alive", lambda pid: pid == 7)
    assert list(leftovers.orphans()) == [orphan]


def test_orphans_are_asked_then_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[Any] = []
    waits: list[Any] = []

    def ending(how: str) -> Any:
        def end(one: str) -> None:
            told.append((how, one))
            if one == "gone":
                raise psutil.NoSuchProcess(1)

        return end

    def wait_procs(left: list[str], timeout: float) -> Any:
        waits.append(timeout)
        return [], [one for one in left if one == "deaf" and len(waits) < 2]

    monkeypatch.setattr(leftovers, "orphans", lambda: iter(["mild", "gone", "deaf"]))
    monkeypatch.setattr(psutil, "wait_procs", wait_procs)
    monkeypatch.setattr(
        psutil, "Process", SimpleNamespace(terminate=ending("ask"), kill=ending("kill"))
    )
    assert leftovers.end_orphans() == 3
    assert told == [("ask", "mild"), ("ask", "gone"), ("ask", "deaf"), ("kill", "deaf")]
    assert waits == [3.0, 3.0]


@pytest.mark.parametrize(
    ("status", "runs"),
    [
        ("running", True),
        ("sleeping", True),
        (psutil.STATUS_ZOMBIE, False),
        (psutil.NoSuchProcess(1), False),
        (psutil.AccessDenied(1), True),
    ],
)
def test_what_cannot_be_looked_at_is_taken_to_run(
    status: Any, runs: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    def process(pid: int) -> Any:
        assert pid == 44
        if isinstance(status, Exception):
            raise status
        return SimpleNamespace(status=lambda: status)

    monkeypatch.setattr(psutil, "Process", process)
    assert leftovers.alive(44) is runs


@pytest.fixture
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory instead of the memory file system."""
    monkeypatch.setattr(segments, "SHM", tmp_path)
    return tmp_path


def test_stale_segments_are_of_dead_owners_and_unlocked(
    memory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    owners: list[int] = []
    monkeypatch.setattr(leftovers, "alive", lambda pid: (owners.append(pid), pid == 7)[1])
    names = [
        "wfbench_5_b",
        "wfbench_5_a",
        "wfbench_7_a",
        "wfbench_x_a",
        "wfbench_5_a.b",
        "other_5_a",
    ]
    for name in names:
        (memory / name).touch()
    with (memory / "wfbench_6_held").open("w") as held:
        leftovers.fcntl.flock(held, leftovers.fcntl.LOCK_EX)
        assert [path.name for path in leftovers.stale_segments()] == ["wfbench_5_a", "wfbench_5_b"]
        assert set(owners) == {5, 6, 7}
        assert leftovers.remove_stale_segments() == ["wfbench_5_a", "wfbench_5_b"]
    left = {path.name for path in memory.iterdir()}
    assert left == {*names[2:], "wfbench_6_held"}


def test_what_cannot_be_removed_is_not_said_to_be(
    memory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leftovers, "stale_segments", lambda: [memory / "gone", memory / "here"])
    (memory / "here").touch()
    assert leftovers.remove_stale_segments() == ["here"]


def test_a_segment_is_reserved_private_and_zero(memory: Path) -> None:
    segment = Segment.create(4096)
    path = memory / segment.name
    try:
        assert segments.SEGMENT_NAME.fullmatch(segment.name)
        assert segment.name.startswith(f"wfbench_{os.getpid()}_")
        assert len(segment.name.split("_")[2]) == 12
        about = path.stat()
        assert (about.st_size, segment.size) == (4096, 4096)
        assert about.st_blocks * 512 >= 4096
        assert stat.S_IMODE(about.st_mode) == 0o600
        assert bytes(segment.view()) == bytes(4096)
        other = Segment.attach(segment.name)
        other.view()[5] = 9
        assert segment.view()[5] == 9
        other.close()
        assert path.exists()
        other.close()
    finally:
        segment.close()
    assert not path.exists()
    with pytest.raises(ValueError, match=f"segment {segment.name} is closed"):
        segment.view()
    segment.close()


def test_a_segment_that_somebody_removed_can_be_closed(memory: Path) -> None:
    segment = Segment.create(8)
    (memory / segment.name).unlink()
    segment.close()


def test_memory_that_is_looked_at_stays_valid(memory: Path) -> None:
    del memory
    segment = Segment.create(8)
    look = memoryview(segment.view())
    segment.close()
    assert bytes(look) == bytes(8)
    look.release()


@pytest.mark.parametrize("number", [leftovers.fcntl.LOCK_EX, 12345])
def test_a_segment_that_fails_leaves_nothing(
    number: int, memory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise OSError(segments.errno.ENOSPC if number != 12345 else number, "no")

    monkeypatch.setattr(os, "posix_fallocate", full, raising=False)
    expected = OSError if number == 12345 else CollectError
    with pytest.raises(expected) as error:
        Segment.create(64)
    assert ("64 bytes are needed and" in str(error.value)) is (expected is CollectError)
    assert list(memory.iterdir()) == []


@pytest.mark.parametrize("room", [0, 1])
def test_a_segment_may_take_all_the_room(
    room: int, memory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = SimpleNamespace(free=63 + room)
    monkeypatch.setattr(segments.shutil, "disk_usage", lambda _: usage)
    if room:
        Segment.create(64).close()
    else:
        with pytest.raises(CollectError, match="64 bytes are needed and 63 are free"):
            Segment.create(64)
    assert list(memory.iterdir()) == []


def test_calls_go_on_one_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[str] = []

    def counting(name: str) -> Iterator[str]:
        try:
            yield f"{name}1"
            yield f"{name}2"
        finally:
            closed.append(name)

    monkeypatch.setattr("wfbench.processes.in_process.load_object", lambda _: counting)
    executor = InProcessExecutor()
    assert (executor.width, executor.in_process) == (1, True)
    assert executor.wait(1.0) == []
    call: Any = lambda name: SimpleNamespace(function="any", argument=name)  # noqa: E731
    executor.submit(4, call("a"))
    executor.submit(5, call("b"))
    found = [executor.wait(1.0) for _ in range(4)]
    assert found == [
        [News(4, "value", "a1")],
        [News(4, "value", "a2")],
        [News(4, "ended")],
        [News(5, "value", "b1")],
    ]
    executor.submit(6, call("c"))
    executor.cancel(5)
    assert closed == ["a", "b"]
    assert executor.wait(1.0) == [News(6, "value", "c1")]
    executor.close()
    assert closed == ["a", "b", "c"]
    assert executor.wait(1.0) == []
