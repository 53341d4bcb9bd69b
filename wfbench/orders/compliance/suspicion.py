"""Warn of a compliance that never changes, because it measures nothing."""

from __future__ import annotations

from collections.abc import Sequence


def constant_warning(compliances: Sequence[float], definition: str = "") -> str | None:
    """Return a warning if compliance was 0, or 1, after every update of a run, else None."""
    if len(compliances) < 2 or set(compliances) not in ({0.0}, {1.0}):
        return None
    by = f" by {definition}" if definition else ""
    return (
        f"compliance{by} was {max(compliances):.0f} in all {len(compliances)} updates of this "
        "run, even with the untrained policy: it is probably not measured; check the "
        "environment's workflow model and masks"
    )
