"""Checks for what dead runs left behind: shared memory and worker processes."""

from __future__ import annotations

from wfbench.contract import Health
from wfbench.processes import leftovers
from wfbench.processes.segments import segment_dir


def segments() -> Health:
    """Return whether shared memory of dead processes takes up room."""
    stale = leftovers.stale_segments()
    if not stale:
        return Health(ok=True, message=f"no stale segments in {segment_dir()}")
    size = sum(path.stat().st_size for path in stale)
    names = ", ".join(path.name for path in stale)
    return Health(
        ok=False,
        message=f"{len(stale)} stale segments, {size} bytes: {names}",
        remedy="wfbench doctor --fix removes them",
    )


def remove_segments() -> str:
    """Remove the shared memory of dead processes."""
    return f"removed {len(leftovers.remove_stale_segments())} segments"


def workers() -> Health:
    """Return whether workers outlived the process they worked for."""
    orphans = [str(process.pid) for process in leftovers.orphans()]
    if not orphans:
        return Health(ok=True, message="no orphaned workers")
    return Health(
        ok=False,
        message=f"{len(orphans)} orphaned workers: {', '.join(orphans)}",
        remedy="wfbench doctor --fix ends them",
    )


def end_workers() -> str:
    """End the workers whose owner is dead."""
    return f"ended {leftovers.end_orphans()} workers"
