"""Where the time goes. Every moment belongs to exactly one phase."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from time import perf_counter

from wfbench.contract import Counters
from wfbench.store.events import COLLECTING, PHASES


class PhaseClock:
    """Adds up seconds by phase. Time in no phase is not counted."""

    def __init__(self) -> None:
        self._seconds = dict.fromkeys(PHASES, 0.0)
        self._phase: str | None = None
        self._since = 0.0
        self._before = 0.0

    @contextmanager
    def phase(self, name: str | None) -> Iterator[None]:
        """Count the time inside as `name`; do not count it if that is None."""
        self._settle()
        before, self._phase = self._phase, name
        try:
            yield
        finally:
            self._settle()
            self._phase = before

    def divide(self, counters: Counters) -> None:
        """Move time that was counted as `idle` to the phases that a collect reports."""
        for part in COLLECTING:
            seconds = getattr(counters, part)
            self._seconds[part] += seconds
            self._seconds["idle"] -= seconds

    def lap(self) -> dict[str, float]:
        """Return the seconds by phase since the last lap."""
        self._settle()
        lap = {name: round(seconds, 7) for name, seconds in self._seconds.items()}
        self._before += sum(self._seconds.values())
        self._seconds = dict.fromkeys(PHASES, 0.0)
        return lap

    def elapsed(self) -> float:
        """Return all seconds that were counted."""
        self._settle()
        return self._before + sum(self._seconds.values())

    def _settle(self) -> None:
        before, self._since = self._since, perf_counter()
        if self._phase is not None:
            self._seconds[self._phase] += self._since - before


def added(*laps: Mapping[str, float]) -> dict[str, float]:
    """Return the sum of laps."""
    return {name: round(sum(lap[name] for lap in laps), 7) for name in laps[0]}


class Stopwatch:
    """Measures the time during which anything is going on, however many things at once."""

    def __init__(self, clock: Callable[[], float] | None = None) -> None:
        self._clock = clock or perf_counter
        self._going = 0
        self._since = 0.0
        self._before = 0.0

    def start(self) -> None:
        """Note that one more thing has begun."""
        if not self._going:
            self._since = self._clock()
        self._going += 1

    def stop(self) -> None:
        """Note that one of them has ended."""
        self._before = self.elapsed()
        self._since = self._clock()
        self._going -= 1

    def elapsed(self) -> float:
        """Return the seconds until now."""
        return self._before + (self._clock() - self._since if self._going else 0.0)
