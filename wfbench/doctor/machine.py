"""Checks of the machine: whether it is fit to measure on."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import psutil

from wfbench.contract import Health

_GIB = 2**30
_LOW_MEMORY = 1 * _GIB
_LOW_SHM = 64 * 2**20
_THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
)
SHM = Path("/dev/shm")  # noqa: S108 - where POSIX shared memory lives on Linux


def usable_cores() -> int:
    """Cores this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def cores() -> Health:
    """Whether the cores we see are cores we get."""
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
    """Whether there is memory for environments in worker processes."""
    free = psutil.virtual_memory().available
    message = f"{free / _GIB:.1f} GiB available"
    remedy = "close other programs, or use fewer workers"
    return Health(free >= _LOW_MEMORY, message, remedy)


def shared_memory() -> Health:
    """Whether shared arrays will fit."""
    if not SHM.is_dir():
        return Health(ok=True, message=f"no {SHM}; shared arrays go to the temporary directory")
    free = shutil.disk_usage(SHM).free
    remedy = f"enlarge it (docker: --shm-size=1g; else: mount -o remount,size=1g {SHM})"
    return Health(free >= _LOW_SHM, f"{free / 2**20:.0f} MiB free in {SHM}", remedy)


def threads() -> Health:
    """Whether libraries would start more threads than there are cores."""
    limit = usable_cores()
    for name in _THREAD_VARIABLES:
        value = os.environ.get(name)
        if value is not None and not (value.isdigit() and 1 <= int(value) <= limit):
            return Health(
                ok=False,
                message=f"{name} is {value!r}, with {limit} cores",
                remedy=f"export {name}=1 (or unset it)",
            )
    given = [f"{name}={os.environ[name]}" for name in _THREAD_VARIABLES if name in os.environ]
    return Health(
        ok=True, message=", ".join(given) or "no thread limits set; workers set their own"
    )


def _quota(file: Path) -> float | None:
    """Cores' worth of time the control group may use; None: no limit known."""
    try:
        limit, period = file.read_text(encoding="ascii").split()
        return None if limit == "max" else int(limit) / int(period)
    except (OSError, ValueError):
        return None
