"""What dead runs left behind: shared memory and worker processes."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from wfbench.contract import OWNER_VARIABLE

from .segments import SEGMENT_NAME, segment_dir

if TYPE_CHECKING:
    import psutil

_GRACE = 3.0
"""Seconds a worker has to end when asked, and again when killed."""


def stale_segments() -> list[Path]:
    """Return the shared memory of this user whose owner is dead."""
    return sorted(
        path
        for path in segment_dir().glob("wfbench_*")
        if (match := SEGMENT_NAME.fullmatch(path.name))
        and not alive(int(match[1]))
        and _unlocked(path)
    )


def remove_stale_segments() -> list[str]:
    """Remove shared memory whose owner is dead; return the names."""
    removed = []
    for path in stale_segments():
        with suppress(OSError):
            path.unlink()
            removed.append(path.name)
    return removed


def orphans() -> Iterator[psutil.Process]:
    """Yield the processes of this user that carry the mark of a dead owner."""
    import psutil

    for process in psutil.process_iter():
        try:
            if process.uids().real != os.getuid() or process.status() == psutil.STATUS_ZOMBIE:
                continue
            owner = process.environ().get(OWNER_VARIABLE, "")
        except psutil.Error:
            continue
        if owner.isdigit() and not alive(int(owner)):
            yield process


def end_orphans() -> int:
    """End the workers of dead owners, by force if asking is not enough; return how many."""
    import psutil

    found = left = list(orphans())
    for end in (psutil.Process.terminate, psutil.Process.kill):
        for process in left:
            with suppress(psutil.NoSuchProcess):
                end(process)
        _, left = psutil.wait_procs(left, timeout=_GRACE)
    return len(found)


def alive(pid: int) -> bool:
    """Return whether a process runs; a zombie does not."""
    # Workers import this module, and few of them ever need psutil.
    import psutil

    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False
    except psutil.Error:
        return True


def _unlocked(path: Path) -> bool:
    """Return whether nobody holds the segment: its owner may live where we cannot see its pid."""
    try:
        with path.open("r+b") as segment:
            fcntl.flock(segment, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
