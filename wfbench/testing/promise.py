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
    slug: str = ""
    """What a descriptor's `cannot` calls it; only promises of collectors have one."""
    excuse: str = ""
    """Why the plugin declares that it cannot keep it; empty: it declares no such thing."""

    @property
    def broken(self) -> bool:
        """Whether it was to be kept and is not."""
        return self.kept is False and not self.excuse

    @property
    def stale(self) -> bool:
        """Whether it is kept although the plugin declares that it cannot be."""
        return self.kept is True and bool(self.excuse)


Progress = Callable[[Promise], None]
"""Told each promise as soon as it is judged."""
