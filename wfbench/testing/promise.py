"""The unit of a conformance report."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Promise:
    """One promise of the contract and whether a plugin keeps it."""

    name: str
    """The promise in words: "a second close is a no-op"."""
    kept: bool | None
    """None: it does not apply to this plugin."""
    detail: str = ""
    """What was seen where it was broken, or why it does not apply."""


Progress = Callable[[Promise], None]
"""Told each promise as soon as it is judged."""
