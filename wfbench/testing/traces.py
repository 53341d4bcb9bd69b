"""What a process leaves in the system: children, descriptors, shared memory, memory."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from multiprocessing import forkserver, resource_tracker
from pathlib import Path

import psutil

SHM = Path("/dev/shm")  # noqa: S108 (looked at, never written to)


def children() -> set[int]:
    """Living descendants, without the two processes that Python itself keeps for a session."""
    found = set()
    for child in psutil.Process().children(recursive=True):
        try:
            if child.status() != psutil.STATUS_ZOMBIE:
                found.add(child.pid)
        except psutil.NoSuchProcess:
            continue
    own = (
        getattr(getattr(resource_tracker, "_resource_tracker"), "_pid", None),  # noqa: B009 (private)
        getattr(getattr(forkserver, "_forkserver"), "_forkserver_pid", None),  # noqa: B009 (private)
    )
    return found - {pid for pid in own if pid is not None}


def alive(pids: Iterable[int]) -> list[int]:
    """Those of the processes that still run."""
    left = []
    for pid in pids:
        try:
            if psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
                left.append(pid)
        except psutil.NoSuchProcess:
            continue
    return left


def descriptors() -> int:
    """How many files, pipes and sockets this process has open."""
    return psutil.Process().num_fds()


def segments(pids: Iterable[int]) -> set[str]:
    """The shared-memory files that these processes have mapped or open."""
    found: set[str] = set()
    for pid in pids:
        found.update(_mapped(pid), _open(pid))
    return {path for path in found if path.startswith(f"{SHM}/") and "(deleted)" not in path}


def _mapped(pid: int) -> list[str]:
    try:
        lines = Path(f"/proc/{pid}/maps").read_text(encoding="utf-8").splitlines()
    except OSError:
        return []
    return [line.split(maxsplit=5)[-1] for line in lines]


def _open(pid: int) -> list[str]:
    found = []
    try:
        entries = list(Path(f"/proc/{pid}/fd").iterdir())
    except OSError:
        return []
    for entry in entries:
        # The listing has its own descriptor in it, which is gone by now.
        with suppress(OSError):
            found.append(str(entry.readlink()))
    return found


def tree() -> set[int]:
    """This process and its descendants."""
    return {os.getpid(), *(child.pid for child in psutil.Process().children(recursive=True))}


def memory(pids: Iterable[int]) -> int:
    """Bytes that only these processes use, added up."""
    total = 0
    for pid in pids:
        try:
            total += psutil.Process(pid).memory_full_info().uss
        except psutil.Error:
            continue
    return total


def wait_for(condition: Callable[[], bool], seconds: float) -> bool:
    """Whether the condition came true within `seconds`."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def family(pid: int) -> set[int]:
    """A process and its descendants."""
    process = psutil.Process(pid)
    return {pid, *(child.pid for child in process.children(recursive=True))}
