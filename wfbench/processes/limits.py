"""How many cores this process may use, and how to keep libraries to one thread."""

from __future__ import annotations

import os
from pathlib import Path

BLAS_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
"""What limits the linear algebra under numpy and torch."""

THREAD_VARIABLES = (
    *BLAS_VARIABLES,
    "NUMBA_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
)
"""Environment variables that limit a library's threads. It reads them when it is loaded."""

ONE_THREAD = dict.fromkeys(THREAD_VARIABLES, "1")
"""Environment variables that keep every library to one thread."""


def usable_cores() -> int:
    """Return how many cores this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def cpu_quota(file: Path = Path("/sys/fs/cgroup/cpu.max")) -> float | None:
    """Return how many cores' time the control group may use; None if no limit is known."""
    try:
        limit, period = file.read_text(encoding="ascii").split()
        return None if limit == "max" else int(limit) / int(period)
    except (OSError, ValueError):
        return None


def usable_threads() -> int:
    """Return how many threads a computation may use: as many as set for BLAS, or all cores."""
    given = os.environ.get(BLAS_VARIABLES[0], "")
    return min(int(given), usable_cores()) if given.isdigit() and int(given) else usable_cores()
