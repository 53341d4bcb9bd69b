"""Shared memory that has an owner and does not outlive it for long.

A segment is a file `wfbench_<pid>_<random>` in the memory file system. Its owner holds a lock on it
for as long as it lives, so a segment whose owner's pid is gone and whose lock is free is garbage.
Whoever attaches opens it by name and owns nothing: neither Python's resource tracker nor the end of
a worker can take a segment away from its owner.
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

SHM = Path("/dev/shm")  # noqa: S108 (where POSIX shared memory is on Linux)
SEGMENT_NAME = re.compile(r"wfbench_(\d+)_\w+")
"""Names of segments; the number is the pid of the owner."""


def segment_dir() -> Path:
    """Return where segments are: the memory file system, or the temporary directory without one."""
    return SHM if SHM.is_dir() else Path(tempfile.gettempdir())


class Segment:
    """A named piece of shared memory, filled with zeros."""

    def __init__(self, name: str, descriptor: int, size: int, *, owner: bool) -> None:
        self.name = name
        self.size = size
        self._descriptor = descriptor
        self._owner = owner
        self._memory: mmap.mmap | None = mmap.mmap(descriptor, size)

    @classmethod
    def create(cls, size: int) -> Segment:
        """Return a new segment with its memory reserved; raise CollectError if there is no room."""
        directory = segment_dir()
        free = shutil.disk_usage(directory).free
        if size > free:
            raise _no_room(directory, size, free)
        name = f"wfbench_{os.getpid()}_{secrets.token_hex(6)}"
        descriptor = os.open(directory / name, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            os.ftruncate(descriptor, size)
            if hasattr(os, "posix_fallocate"):
                # A full file system is then an error here, not a SIGBUS in a worker.
                os.posix_fallocate(descriptor, 0, size)
            return cls(name, descriptor, size, owner=True)
        except BaseException as error:
            (directory / name).unlink(missing_ok=True)
            os.close(descriptor)
            if isinstance(error, OSError) and error.errno == errno.ENOSPC:
                raise _no_room(directory, size, shutil.disk_usage(directory).free) from error
            raise

    @classmethod
    def attach(cls, name: str) -> Segment:
        """Open a segment that someone else owns."""
        descriptor = os.open(segment_dir() / name, os.O_RDWR)
        return cls(name, descriptor, os.fstat(descriptor).st_size, owner=False)

    def view(self) -> mmap.mmap:
        """Return its memory."""
        if self._memory is None:
            raise ValueError(f"segment {self.name} is closed")
        return self._memory

    def close(self) -> None:
        """Release it; the owner also removes it. Arrays that still look at it stay valid."""
        memory, self._memory = self._memory, None
        if memory is None:
            return
        if self._owner:
            (segment_dir() / self.name).unlink(missing_ok=True)
        with suppress(BufferError):
            memory.close()
        os.close(self._descriptor)


def _no_room(directory: Path, needed: int, free: int) -> CollectError:
    return CollectError(
        f"{directory} is too small for the shared arrays: {needed} bytes are needed and {free} are "
        "free; enlarge it (docker: --shm-size), remove stale files there, or use fewer envs"
    )
