"""What every test gets: proof that it left nothing behind."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from multiprocessing import forkserver, resource_tracker
from pathlib import Path

import psutil
import pytest

_SHM = Path("/dev/shm")  # noqa: S108 - looked at, never written to
_GRACE = 5.0
"""Seconds a worker that was told to end has for really ending."""


def _segments() -> set[str]:
    return {entry.name for entry in _SHM.glob("wfbench_*")} if _SHM.is_dir() else set()


def _session_processes() -> set[int | None]:
    """Python's own long-lived processes: one resource tracker and one fork server per session."""
    return {
        getattr(resource_tracker._resource_tracker, "_pid", None),
        getattr(forkserver._forkserver, "_forkserver_pid", None),
    }


def _children() -> set[int]:
    found = set()
    for child in psutil.Process().children(recursive=True):
        try:
            if child.status() != psutil.STATUS_ZOMBIE:
                found.add(child.pid)
        except psutil.NoSuchProcess:
            continue
    return found - _session_processes()


def _descriptors() -> dict[int, str]:
    """Open files, pipes and sockets by number.

    The pipes to Python's resource tracker and fork server stay open for the session by design, and
    a file under /proc or /sys is a library's own cache, so neither counts.
    """
    open_now = {}
    for entry in Path("/proc/self/fd").iterdir():
        try:
            target = str(entry.readlink())
        except OSError:
            continue
        if not target.startswith(("/proc/", "/sys/", "/dev/")):
            open_now[int(entry.name)] = target
    return open_now


def _session_descriptors() -> set[int | None]:
    return {
        getattr(resource_tracker._resource_tracker, "_fd", None),
        getattr(forkserver._forkserver, "_forkserver_alive_fd", None),
    }


@pytest.fixture(autouse=True)
def no_leaks() -> Iterator[None]:
    """Fail a test that leaves a child process, a shared-memory segment or a descriptor behind."""
    children, segments, descriptors = _children(), _segments(), _descriptors()
    yield
    deadline = time.monotonic() + _GRACE
    while (left := _children() - children) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not left, f"processes left behind: {sorted(left)}"
    mine = {name for name in _segments() - segments if name.split("_")[1:2] == [str(os.getpid())]}
    assert not mine, f"shared-memory segments left behind: {sorted(mine)}"
    after = _descriptors()
    grown = {fd: after[fd] for fd in after.keys() - descriptors.keys() - _session_descriptors()}
    assert not grown, f"descriptors left open: {grown}"
