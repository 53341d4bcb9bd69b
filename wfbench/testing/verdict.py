"""How a check says what it found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .ground import Ground

LIMIT = 60.0
"""Seconds a check may take before its subject counts as hung."""


class BrokenPromiseError(Exception):
    """The subject broke the promise; the message says what was seen."""


class DoesNotApply(Exception):  # noqa: N818 (not an error)
    """The promise says nothing about this subject; the message says why."""


@dataclass(frozen=True)
class Check:
    """One promise of the contract and the function that puts it to the test."""

    slug: str
    name: str
    """The promise in words."""
    run: Callable[[Ground], None]
    needs: frozenset[str] = frozenset()
    """The capabilities a subject must declare for the promise to apply."""
    limit: float = LIMIT


@dataclass
class Catalogue:
    """The checks of one kind of plugin, in the order they were written down."""

    checks: dict[str, Check] = field(default_factory=dict)

    def promise(
        self, *, needs: tuple[str, ...] = (), limit: float = LIMIT
    ) -> Callable[[Callable[[Ground], None]], Callable[[Ground], None]]:
        """Enter the decorated function as the check of the promise that its docstring states."""

        def enter(function: Callable[[Ground], None]) -> Callable[[Ground], None]:
            slug = function.__name__.replace("_", "-")
            name = (function.__doc__ or slug).strip().removesuffix(".")
            self.checks[slug] = Check(slug, name, function, frozenset(needs), limit)
            return function

        return enter


def expect(condition: object, detail: str) -> None:
    """Break the promise with `detail` unless the condition holds."""
    if not condition:
        raise BrokenPromiseError(detail)
