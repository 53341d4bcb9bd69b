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
    """A message about a call."""

    key: int
    """The key it was submitted with."""
    kind: Literal["value", "ended", "lost"]
    """It yielded a value, it ended, or it was lost with its process; the last two end it."""
    value: Any = None
    """What it yielded, or one line about how it was lost."""


class Executor(Protocol):
    """Runs calls, several at a time, and passes on what they yield.

    It does not retry: the caller submits a lost call again. Calls do not depend on each other, and
    what they yield does not depend on where they run.
    """

    width: int
    """How many calls it runs at a time; it never gets more."""
    in_process: bool
    """Whether calls run in the caller's process, within `wait`; then none is ever lost."""
    patience: float
    """Seconds without news after which a call counts as lost."""

    def submit(self, key: int, call: Call) -> None:
        """Start a call. Keys are never reused."""

    def wait(self, seconds: float) -> Sequence[News]:
        """Return the news since the last call; those of one call are in order.

        Return as soon as there are any, and after `seconds` at the latest.
        """

    def cancel(self, key: int) -> None:
        """End a call, by force if need be; there is no more news of it."""

    def close(self) -> None:
        """End every call and release everything; safe to call twice."""


class PreparedExecutor(Executor, Protocol):
    """An executor that can start its workers before there is anything for them to do."""

    def prepare(self, call: Call) -> None:
        """Start every worker without waiting for it, and have each run this call first.

        There is no news of it.
        """
