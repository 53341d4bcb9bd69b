"""Where the training of orders runs: in this process, in others, on other machines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol


@dataclass(frozen=True)
class Call:
    """Work that any process can do."""

    function: str
    """Import path of a callable that takes the argument and returns an iterator."""
    argument: Any
    """Data that can be pickled, as can be whatever the iterator yields."""


@dataclass(frozen=True)
class News:
    """What was heard of a call."""

    key: int
    """The key it was submitted with."""
    kind: Literal["value", "ended", "lost"]
    """It yielded a value; it has ended well, and this is the last of it; or whoever ran it is gone,
    and this is the last of it, too."""
    value: Any = None
    """What it yielded, or in one line how it was lost."""


class Executor(Protocol):
    """Runs calls, several at a time, and passes on what they yield.

    It retries nothing: a call that was lost is submitted again by whoever needs it. Calls do not
    depend on each other, and what they yield does not depend on where they run.
    """

    width: int
    """How many calls it runs at a time; it is never given more."""
    in_process: bool
    """Whether calls run in the caller's process, within `wait`, so that none is ever lost."""
    patience: float
    """Seconds for which a call may say nothing before it is taken for lost."""

    def submit(self, key: int, call: Call) -> None:
        """Begin a call. Keys are never used twice."""

    def wait(self, seconds: float) -> Sequence[News]:
        """What was heard since, of one call in the order in which it happened.

        Returns as soon as there is something, and after `seconds` at the latest.
        """

    def cancel(self, key: int) -> None:
        """End a call, by force if need be; nothing more is heard of it."""

    def close(self) -> None:
        """End every call and release everything; safe to call twice."""
