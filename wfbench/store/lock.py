"""A lock that lets only one process use a run directory."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from wfbench.contract import UsageError

from .files import writing


class RunLock:
    """Held while this process has the run open; the system releases it if the process dies."""

    def __init__(self, directory: Path) -> None:
        path = directory / "lock"
        with writing(path):
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            owner = os.read(self._descriptor, 32).decode(errors="replace").strip() or "another"
            self.release()
            hint = "wait for it, or end it and resume"
            raise UsageError(f"{directory} is in use by process {owner}; {hint}") from error
        with writing(path):
            os.ftruncate(self._descriptor, 0)
            os.pwrite(self._descriptor, f"{os.getpid()}\n".encode(), 0)

    def release(self) -> None:
        """Release the lock; safe to call twice."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)


def in_use(directory: Path) -> bool:
    """Tell whether a process has the run open."""
    try:
        descriptor = os.open(directory / "lock", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False
