"""Where the time goes. Every moment belongs to exactly one phase, so phases sum to wall time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from time import perf_counter

from wfbench.contract import Counters
from wfbench.store.columns import PHASES

_COLLECT = ("env", "transport", "inference", "idle")


class PhaseClock:
    """Adds up seconds by phase while it runs; what is in no named phase is `loop`."""

    def __init__(self) -> None:
        self._seconds = dict.fromkeys(PHASES, 0.0)
        self._phase = "loop"
        self._since: float | None = None
        self._before = 0.0

    @contextmanager
    def running(self) -> Iterator[None]:
        """Count the time inside; outside of it other things may have their turn."""
        self._since = perf_counter()
        try:
            yield
        finally:
            self._settle()
            self._since = None

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Leave out the time inside, while others have their turn."""
        self._settle()
        self._since = None
        try:
            yield
        finally:
            self._since = perf_counter()

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Count the time inside as `name`."""
        self._settle()
        before, self._phase = self._phase, name
        try:
            yield
        finally:
            self._settle()
            self._phase = before

    def divide(self, counters: Counters) -> None:
        """Hand time that was counted as `idle` to what a collect says it was."""
        for part in _COLLECT:
            seconds = getattr(counters, part)
            self._seconds[part] += seconds
            self._seconds["idle"] -= seconds

    def lap(self) -> dict[str, float]:
        """Seconds by phase since the last lap, and `wall`, which is their sum."""
        self._settle()
        lap = {name: round(seconds, 7) for name, seconds in self._seconds.items()}
        wall = sum(self._seconds.values())
        self._before += wall
        self._seconds = dict.fromkeys(PHASES, 0.0)
        return {"wall": round(wall, 7), **lap}

    def elapsed(self) -> float:
        """Seconds counted in all."""
        self._settle()
        return self._before + sum(self._seconds.values())

    def _settle(self) -> None:
        now = perf_counter()
        if self._since is not None:
            self._seconds[self._phase] += now - self._since
            self._since = now


def added(*laps: Mapping[str, float]) -> dict[str, float]:
    """The sum of laps."""
    return {name: round(sum(lap[name] for lap in laps), 7) for name in laps[0]}


class Stopwatch:
    """Seconds during which something was going on, however many things at once."""

    def __init__(self) -> None:
        self._going = 0
        self._since = 0.0
        self._before = 0.0

    def start(self) -> None:
        """One more thing has begun."""
        if not self._going:
            self._since = perf_counter()
        self._going += 1

    def stop(self) -> None:
        """One of them has ended."""
        self._before = self.elapsed()
        self._since = perf_counter()
        self._going -= 1

    def elapsed(self) -> float:
        """Seconds until now."""
        return self._before + (perf_counter() - self._since if self._going else 0.0)
