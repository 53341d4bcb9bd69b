"""Shared memory that is named by us and never outlives us for long.

A segment is a file `wfbench_<pid>_<random>` in the memory file system. Its owner holds a lock on it
for as long as it lives, so a segment whose owner's pid is gone and whose lock is free is garbage,
whoever left it. Those who attach open it by name and own nothing: neither Python's resource tracker
nor the end of a worker can take a segment away from its owner.
"""

from __future__ import annotations

import errno
import fcntl
import mmap
import os
import re
import secrets
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

from wfbench.contract import CollectError

_NAME = re.compile(r"wfbench_(\d+)_[0-9a-f]+")


def segment_dir() -> Path:
    """Where segments live: the memory file system, or the temporary directory without one."""
    shm = Path("/dev/shm")  # noqa: S108 - the place POSIX shared memory lives on Linux
    return shm if shm.is_dir() else Path(tempfile.gettempdir())


class Segment:
    """A named piece of shared memory, filled with zeros."""

    def __init__(self, name: str, descriptor: int, size: int, *, owner: bool) -> None:
        self.name = name
        self.size = size
        self._descriptor: int | None = descriptor
        self._owner = owner
        self._memory: mmap.mmap | None = mmap.mmap(descriptor, size)

    @classmethod
    def create(cls, size: int) -> Segment:
        """A new segment with all its memory reserved; CollectError if there is not enough."""
        directory = segment_dir()
        free = shutil.disk_usage(directory).free
        if size > free:
            raise _no_room(directory, size, free)
        name = f"wfbench_{os.getpid()}_{secrets.token_hex(6)}"
        descriptor = os.open(directory / name, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            os.ftruncate(descriptor, size)
            _reserve(descriptor, size)
            return cls(name, descriptor, size, owner=True)
        except BaseException as error:
            (directory / name).unlink(missing_ok=True)
            os.close(descriptor)
            if isinstance(error, OSError) and error.errno == errno.ENOSPC:
                raise _no_room(directory, size, shutil.disk_usage(directory).free) from error
            raise

    @classmethod
    def attach(cls, name: str) -> Segment:
        """The segment someone else owns."""
        descriptor = os.open(segment_dir() / name, os.O_RDWR)
        return cls(name, descriptor, os.fstat(descriptor).st_size, owner=False)

    def view(self) -> mmap.mmap:
        """Its memory."""
        if self._memory is None:
            raise ValueError(f"segment {self.name} is closed")
        return self._memory

    def close(self) -> None:
        """Let go; the owner also removes it. Arrays that still look at it stay valid."""
        if self._descriptor is None:
            return
        if self._owner:
            (segment_dir() / self.name).unlink(missing_ok=True)
        memory, self._memory = self._memory, None
        if memory is not None:
            with suppress(BufferError):
                memory.close()
        os.close(self._descriptor)
        self._descriptor = None


def stale_segments() -> list[Path]:
    """Segments of this user whose owner is dead."""
    found = []
    for path in segment_dir().glob("wfbench_*"):
        match = _NAME.fullmatch(path.name)
        if match and not _alive(int(match[1])) and _unlocked(path):
            found.append(path)
    return sorted(found)


def reap_stale_segments() -> list[str]:
    """Remove segments whose owner is dead; their names."""
    removed = []
    for path in stale_segments():
        with suppress(OSError):
            path.unlink()
            removed.append(path.name)
    return removed


def _reserve(descriptor: int, size: int) -> None:
    """Claim the pages now: a full file system is then an error here, not a SIGBUS in a worker."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(descriptor, 0, size)


def _no_room(directory: Path, needed: int, free: int) -> CollectError:
    return CollectError(
        f"{directory} is too small for the shared arrays: {needed} bytes are needed and {free} are "
        "free; enlarge it (docker: --shm-size), remove stale files there, or use fewer envs"
    )


def _alive(pid: int) -> bool:
    stat = Path(f"/proc/{pid}/stat")
    try:
        return stat.read_text().rpartition(")")[2].split()[0] != "Z"
    except (OSError, IndexError):
        pass
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return not Path("/proc/self").exists()


def _unlocked(path: Path) -> bool:
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
