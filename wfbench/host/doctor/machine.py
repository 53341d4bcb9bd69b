"""Checks of the machine: whether it is fit to measure on."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import psutil

from wfbench.contract import Health
from wfbench.processes.limits import THREAD_VARIABLES, usable_cores
from wfbench.processes.segments import SHM

_GIB = 2**30
_LOW_MEMORY = 1 * _GIB
_LOW_SHM = 64 * 2**20


def cores() -> Health:
    """Return whether the container may use all the cores it sees."""
    usable = usable_cores()
    quota = _quota(Path("/sys/fs/cgroup/cpu.max"))
    if quota is not None and quota < usable:
        return Health(
            ok=False,
            message=f"{usable} cores are visible, but the container may use only {quota:.3g}",
            remedy=f"give worker collectors workers={max(1, int(quota))}, or raise the CPU limit",
        )
    return Health(ok=True, message=f"{usable} of {os.cpu_count()} cores usable")


def memory() -> Health:
    """Return whether there is memory for environments in worker processes."""
    free = psutil.virtual_memory().available
    message = f"{free / _GIB:.1f} GiB available"
    remedy = "close other programs, or use fewer workers"
    return Health(free >= _LOW_MEMORY, message, remedy)


def shared_memory() -> Health:
    """Return whether shared arrays will fit."""
    if not SHM.is_dir():
        return Health(ok=True, message=f"no {SHM}; shared arrays go to the temporary directory")
    free = shutil.disk_usage(SHM).free
    remedy = f"enlarge it (docker: --shm-size=1g; else: mount -o remount,size=1g {SHM})"
    return Health(free >= _LOW_SHM, f"{free / 2**20:.0f} MiB free in {SHM}", remedy)


def threads() -> Health:
    """Return whether libraries would start more threads than there are cores."""
    limit = usable_cores()
    for name in THREAD_VARIABLES:
        value = os.environ.get(name)
        if value is not None and not (value.isdigit() and 1 <= int(value) <= limit):
            return Health(
                ok=False,
                message=f"{name} is {value!r}, with {limit} cores",
                remedy=f"export {name}=1 (or unset it)",
            )
    given = [f"{name}={os.environ[name]}" for name in THREAD_VARIABLES if name in os.environ]
    return Health(
        ok=True, message=", ".join(given) or "no thread limits set; workers set their own"
    )


def _quota(file: Path) -> float | None:
    """Return how many cores' time the control group may use; None if no limit is known."""
    try:
        limit, period = file.read_text(encoding="ascii").split()
        return None if limit == "max" else int(limit) / int(period)
    except (OSError, ValueError):
        return None
