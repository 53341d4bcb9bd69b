"""A figure that never changes measures nothing."""

from __future__ import annotations

from collections.abc import Sequence

ENOUGH = 2
"""One value is never a constant."""


def constant_warning(compliances: Sequence[float], definition: str = "") -> str | None:
    """A sentence if compliance was 0, or 1, from the first value of a run to the last, else None.

    `compliances` are the values after each update of a whole run.
    """
    if len(compliances) < ENOUGH or compliances[0] not in {0.0, 1.0}:
        return None
    if any(value != compliances[0] for value in compliances):
        return None
    by = f" by {definition}" if definition else ""
    return (
        f"compliance{by} was {compliances[0]:.0f} in all {len(compliances)} updates of this run, "
        "from the untrained policy on: it is probably not measured; check the environment's "
        "workflow model and masks"
    )
