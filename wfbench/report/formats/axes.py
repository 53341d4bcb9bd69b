"""From numbers to places: scales with ticks at round numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)


@dataclass(frozen=True)
class Scale:
    """Maps a range of numbers to a range of places."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False
    whole: bool = False
    """Whether only whole numbers mean something along it."""

    def __call__(self, value: float) -> float:
        """Return the place of a number; what lies outside ends at the edge."""
        low, high, given = self.low, self.high, min(max(value, self.low), self.high)
        if self.log:
            low, high, given = math.log(low), math.log(high), math.log(given)
        return self.start + (given - low) / (high - low) * (self.end - self.start)

    def holds(self, value: float) -> bool:
        """Tell whether a number lies inside."""
        return self.low <= value <= self.high

    def ticks(self, wanted: int) -> list[float]:
        """Return round numbers along it."""
        if self.log:
            return _log_ticks(self.low, self.high, wanted)
        step = _step((self.high - self.low) / wanted)
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        found = [number * step for number in range(first, last + 1)]
        return [tick for tick in found if not self.whole or tick.is_integer()]


def linear(
    values: Iterable[float], start: float, end: float, *, zero: bool = False, wanted: int = 5
) -> Scale:
    """Return a scale that holds all values, from 0 if asked, and ends at round numbers."""
    low, high = _range(values)
    if zero:
        low, high = min(low, 0.0), max(high, 0.0)
    if low == high:
        low, high = (0.0, 1.0) if low == 0 else (low - abs(low) / 2, high + abs(high) / 2)
    step = _step((high - low) / wanted)
    return Scale(
        math.floor(low / step + 1e-9) * step, math.ceil(high / step - 1e-9) * step, start, end
    )


def logarithmic(values: Iterable[float], start: float, end: float) -> Scale:
    """Return a scale on which equal distances are equal ratios; values must be above 0."""
    low, high = _range(value for value in values if value > 0)
    if low == high:
        low, high = low / 2, high * 2
    return Scale(low / 1.1, high * 1.1, start, end, log=True)


def tick_label(value: float) -> str:
    """Return a round number as short text."""
    size = abs(value)
    if size >= 1e6:
        return f"{value / 1e6:g} M"
    if size >= 1e4:
        return f"{value / 1e3:g} k"
    return f"{value:,.10g}" if size >= 1e-3 or value == 0 else f"{value:.1e}"


def _range(values: Iterable[float]) -> tuple[float, float]:
    found = list(values)
    return (min(found), max(found)) if found else (0.0, 1.0)


def _step(rough: float) -> float:
    power = 10.0 ** math.floor(math.log10(rough))
    return next(power * step for step in _STEPS if power * step >= rough * (1 - 1e-9))


def _log_ticks(low: float, high: float, wanted: int) -> list[float]:
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for parts in ((1, 2, 5), (1,)):
        ticks = [part * 10.0**power for power in powers for part in parts]
        inside = [tick for tick in ticks if low <= tick <= high]
        if len(inside) <= wanted + 2:
            break
    return inside
