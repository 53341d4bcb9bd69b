"""What a result was made on."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import psutil

from wfbench import __version__
from wfbench.processes.limits import THREAD_VARIABLES, usable_cores

_PACKAGES = ("gymnasium", "numba", "numpy", "pluggy", "psutil", "torch")


def fingerprint() -> dict[str, Any]:
    """Cores, memory, versions and load of this machine, as JSON values."""
    return {
        "cpu": _cpu_model(),
        "cores": os.cpu_count(),
        "usable_cores": usable_cores(),
        "memory_bytes": psutil.virtual_memory().total,
        "load": list(psutil.getloadavg()),
        "system": platform.platform(),
        "python": platform.python_version(),
        "wfbench": __version__,
        "commit": _commit(),
        "packages": {name: _installed(name) for name in _PACKAGES},
        "threads": {name: os.environ[name] for name in THREAD_VARIABLES if name in os.environ},
    }


def same_machine(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Return whether results of one machine can be compared with those of the other."""
    return all(one.get(key) == other.get(key) for key in ("cpu", "usable_cores"))


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    for line in lines:
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor()


def _commit() -> str | None:
    """Return the git revision of the current folder, marked if it was changed since."""
    asked = ["git", "describe", "--always", "--dirty", "--abbrev=10", "--exclude=*"]
    try:
        done = subprocess.run(asked, capture_output=True, text=True, timeout=10, check=True)  # noqa: S603
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


def _installed(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
