"""What dead runs left behind: shared memory and worker processes."""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil

from wfbench.contract import OWNER_VARIABLE, Health
from wfbench.doctor.machine import SHM

_SEGMENT = re.compile(r"wfbench_(\d+)_\w+")
_PATIENCE = 3.0


def segments() -> Health:
    """Whether shared memory of dead processes takes up room."""
    stale = list(_stale_segments())
    size = sum(path.stat().st_size for path in stale)
    if not stale:
        return Health(ok=True, message=f"no stale segments in {SHM}")
    names = ", ".join(path.name for path in stale)
    return Health(
        ok=False,
        message=f"{len(stale)} stale segments, {size} bytes: {names}",
        remedy="wfbench doctor --fix removes them",
    )


def remove_segments() -> str:
    """Remove the shared memory of dead processes."""
    removed = 0
    for path in _stale_segments():
        with suppress(OSError):
            path.unlink()
            removed += 1
    return f"removed {removed} segments"


def workers() -> Health:
    """Whether workers outlived the process they worked for."""
    orphans = list(_orphans())
    if not orphans:
        return Health(ok=True, message="no orphaned workers")
    pids = ", ".join(str(process.pid) for process in orphans)
    return Health(
        ok=False,
        message=f"{len(orphans)} orphaned workers: {pids}",
        remedy="wfbench doctor --fix ends them",
    )


def end_workers() -> str:
    """End workers whose owner is dead: ask, then kill."""
    orphans = list(_orphans())
    for process in orphans:
        with suppress(psutil.NoSuchProcess):
            process.terminate()
    _, alive = psutil.wait_procs(orphans, timeout=_PATIENCE)
    for process in alive:
        with suppress(psutil.NoSuchProcess):
            process.kill()
    psutil.wait_procs(alive, timeout=_PATIENCE)
    return f"ended {len(orphans)} workers"


def _stale_segments() -> Iterator[Path]:
    if SHM.is_dir():
        for path in sorted(SHM.glob("wfbench_*")):
            match = _SEGMENT.fullmatch(path.name)
            if match and not _alive(int(match[1])) and _unlocked(path):
                yield path


def _unlocked(path: Path) -> bool:
    """Whether nobody holds the segment: its owner may live where we cannot see its pid."""
    try:
        descriptor = os.open(path, os.O_RDWR)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return True


def _orphans() -> Iterator[psutil.Process]:
    """Processes of this user that carry the mark of an owner who is gone."""
    for process in psutil.process_iter():
        try:
            if process.uids().real != os.getuid() or process.status() == psutil.STATUS_ZOMBIE:
                continue
            owner = process.environ().get(OWNER_VARIABLE, "")
        except psutil.Error:
            continue
        if owner.isdigit() and not _alive(int(owner)):
            yield process


def _alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
    except psutil.Error:
        return True
