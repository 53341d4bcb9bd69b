"""When a bench has measured enough: its time is spent, or its figures are precise."""

from __future__ import annotations

import time
from dataclasses import dataclass

from wfbench.benchmarks.measure.model import Session
from wfbench.benchmarks.statistics.intervals import rate_estimate
from wfbench.contract import UsageError

MOST_ROUNDS = 1000
"""Rounds that only a budget or a precision limits."""
_LEAST = 4
"""Rounds before an interval is believed."""


@dataclass
class Limits:
    """Ends a bench after the round that is precise enough, or before one that takes too long."""

    budget: float | None = None
    """Seconds."""
    precision: float | None = None
    """Half of an interval's width over the rate; reached when that of every case is below it."""

    def __post_init__(self) -> None:
        if self.budget is not None and not 0 < self.budget < 1e6:
            raise UsageError(f"--budget {self.budget:g}: it must be above 0 seconds")
        if self.precision is not None and not 0 < self.precision < 1:
            raise UsageError(
                f"--until-precision {self.precision:g}: it must be between 0 and 100 %"
            )
        self._began = time.monotonic()

    def enough(self, session: Session) -> bool:
        """Return whether to stop after the rounds of this session."""
        if self.precision is not None and self._precise(session, self.precision):
            return True
        elapsed = time.monotonic() - self._began
        rounds = len(session.samples) // len(session.cases)
        return self.budget is not None and elapsed + elapsed / rounds > self.budget

    def _precise(self, session: Session, wanted: float) -> bool:
        for index in range(len(session.cases)):
            rates = [measured.rate for measured in session.clean(index).values()]
            found = rate_estimate(rates) if len(rates) >= _LEAST else None
            if found is None or found.low is None or found.high is None:
                return False
            if (found.high - found.low) / 2 > wanted * found.value:
                return False
        return True

    def seconds_left(self, session: Session) -> float:
        """Return about how many seconds the session will take from here on."""
        elapsed, done = time.monotonic() - self._began, len(session.samples)
        total = len(session.cases) * session.settings.rounds
        left = elapsed / done * (total - done)
        return left if self.budget is None else max(0.0, min(left, self.budget - elapsed))
