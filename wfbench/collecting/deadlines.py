"""Deadlines of waits that cannot be interrupted: checked when they end."""

from __future__ import annotations

from wfbench.contract import DeadlineError


def refuse_late(took: float, limit: float, what: str) -> None:
    """Raise DeadlineError if `what` took more than `limit` seconds."""
    if took > limit:
        raise DeadlineError(f"{what} took {took:.1f} s; its deadline is {limit:g} s")
