"""What a process takes of the system: children, descriptors, shared memory, memory."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from multiprocessing import forkserver, resource_tracker
from pathlib import Path

import psutil

from wfbench.processes.leftovers import alive
from wfbench.processes.segments import SHM


def tree(pid: int | None = None) -> set[int]:
    """Return a process, this one by default, and its descendants."""
    process = psutil.Process(pid)
    return {process.pid, *(child.pid for child in process.children(recursive=True))}


def children() -> set[int]:
    """Return living descendants, without the two processes that Python keeps for a session."""
    own = (
        os.getpid(),
        getattr(getattr(resource_tracker, "_resource_tracker"), "_pid", None),  # noqa: B009 (private)
        getattr(getattr(forkserver, "_forkserver"), "_forkserver_pid", None),  # noqa: B009 (private)
    )
    return living(tree().difference(own))


def living(pids: Iterable[int]) -> set[int]:
    """Return those of the processes that still run."""
    return {pid for pid in pids if alive(pid)}


def descriptors() -> int:
    """Return how many files, pipes and sockets this process has open."""
    return psutil.Process().num_fds()


def segments(pids: Iterable[int]) -> set[str]:
    """Return the shared-memory files that these processes have mapped or open."""
    found: set[str] = set()
    for pid in pids:
        with suppress(OSError):
            lines = Path(f"/proc/{pid}/maps").read_text(encoding="utf-8").splitlines()
            found |= {line.split(maxsplit=5)[-1] for line in lines}
            for entry in list(Path(f"/proc/{pid}/fd").iterdir()):
                # The listing has its own descriptor in it, which is gone by now.
                with suppress(OSError):
                    found.add(str(entry.readlink()))
    return {path for path in found if path.startswith(f"{SHM}/") and "(deleted)" not in path}


def wait_for(condition: Callable[[], bool], seconds: float) -> bool:
    """Return whether the condition came true within `seconds`."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True
