"""Statistics of learning over several training seeds."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from wfbench.benchmarks.statistics.intervals import RESAMPLES, Estimate, around

_SEED = 20_240_229
_Z = 1.959963984540054
"""Standard normal quantile of a 95 % interval."""

Strata = Sequence[Sequence[float]]
"""The scores of several seeds, task by task."""


class NonInferiority(StrEnum):
    """Whether the new may replace the old."""

    NON_INFERIOR = "non-inferior"
    INFERIOR = "inferior"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class Reach:
    """When a training reached the threshold, or until when it was watched without reaching it."""

    at: float
    """Infinity if it was given up."""
    reached: bool

    def __post_init__(self) -> None:
        if math.isnan(self.at):  # JSON has no infinity: it is stored as null and read as NaN
            object.__setattr__(self, "at", math.inf)


@dataclass(frozen=True)
class TimeToThreshold:
    """The Kaplan-Meier median over trainings, of which some never reached the threshold."""

    median: float | None
    """None if half of them never did."""
    low: float | None
    high: float | None
    """None if there is no bound: too few reached it."""
    reached: int
    censored: int


def iqm(values: Sequence[float]) -> float:
    """Return the interquartile mean: without the lowest and the highest quarter of the values."""
    ordered = np.sort(np.asarray(values, dtype=np.float64))
    cut = len(ordered) // 4
    return float(ordered[cut : len(ordered) - cut].mean())


def iqm_estimate(strata: Strata) -> Estimate:
    """Return the interquartile mean of all scores with a bootstrap interval.

    Seeds are drawn again within each task. The deviations are widened for small numbers of seeds
    as in `mean_estimate`.
    """
    pools = [np.asarray(one, dtype=np.float64) for one in strata]
    value = iqm(np.concatenate(pools).tolist())
    freedom = sum(len(pool) - 1 for pool in pools)
    if freedom < 1:
        return Estimate(value)
    rng = np.random.default_rng(_SEED)
    drawn = [pool[rng.integers(0, len(pool), (RESAMPLES, len(pool)))] for pool in pools]
    ordered = np.sort(np.concatenate(drawn, axis=1), axis=1)
    cut = ordered.shape[1] // 4
    means = ordered[:, cut : ordered.shape[1] - cut].mean(axis=1)
    shrunk = freedom / sum(len(pool) for pool in pools)
    spread = np.sqrt(shrunk * rng.chisquare(freedom, RESAMPLES) / freedom)
    return around(value, (means - value) / spread)


def improvement_probability(new: Strata, old: Strata) -> Estimate:
    """Return the probability that a new training beats an old one of the same task.

    A tie counts half. The interval is Newcombe's for the area under a curve: unlike a bootstrap
    it does not claim certainty where a handful of seeds all did better.
    """
    wins, sizes = [], []
    for above, below in zip(new, old, strict=True):
        first, second = np.asarray(above)[:, None], np.asarray(below)[None, :]
        wins.append(float((first > second).mean() + 0.5 * (first == second).mean()))
        sizes.append((len(above), len(below)))
    value = sum(wins) / len(wins)

    def error(truth: float) -> float:
        return _Z * math.sqrt(sum(_win_variance(truth, *size) for size in sizes)) / len(wins)

    low = _crossing(lambda truth: truth + error(truth) - value, 0.0, value)
    high = _crossing(lambda truth: truth - error(truth) - value, value, 1.0)
    return Estimate(value, low, high)


def time_to_threshold(times: Sequence[Reach]) -> TimeToThreshold:
    """Return the Kaplan-Meier median with a 95 % interval (log-log)."""
    reached = sum(one.reached for one in times)
    shares = [(at, alive, *_log_log_bounds(alive, error)) for at, alive, error in _survival(times)]
    median, high, low = (
        next((share[0] for share in shares if share[place] <= 0.5), None) for place in (1, 2, 3)
    )
    return TimeToThreshold(median, low, high, reached, len(times) - reached)


def non_inferiority(difference: Estimate, margin: float) -> NonInferiority:
    """Return whether new minus old is surely within the margin, surely worse, or neither."""
    if difference.low is None or difference.high is None:
        return NonInferiority.UNDECIDED
    if difference.low > -margin:
        return NonInferiority.NON_INFERIOR
    return NonInferiority.INFERIOR if difference.high < -margin else NonInferiority.UNDECIDED


def _win_variance(truth: float, first: int, second: int) -> float:
    shares = (1.0 - truth) / (2.0 - truth) + truth / (1.0 + truth)
    more = ((first + second) / 2.0 - 1.0) * shares
    return truth * (1.0 - truth) * (1.0 + more) / (first * second)


def _crossing(rising: Callable[[float], float], low: float, high: float) -> float:
    """Return where a function that is negative just above `low` and not at `high` changes sign."""
    for _ in range(60):
        middle = (low + high) / 2.0
        if rising(middle) < 0.0:
            low = middle
        else:
            high = middle
    return high


def _survival(times: Sequence[Reach]) -> list[tuple[float, float, float]]:
    """Return for each time the share that has not reached it yet, and Greenwood's sum."""
    alive, greenwood, found = 1.0, 0.0, []
    for at in sorted({one.at for one in times if one.reached}):
        there = sum(one.at >= at for one in times)
        events = sum(one.reached and one.at == at for one in times)
        alive *= 1.0 - events / there
        greenwood += events / (there * (there - events)) if events < there else math.inf
        found.append((at, alive, greenwood))
    return found


def _log_log_bounds(alive: float, greenwood: float) -> tuple[float, float]:
    """Return the upper and lower bound of a survival share."""
    if alive <= 0.0:
        return 0.0, 0.0
    factor = math.exp(_Z * math.sqrt(greenwood) / math.log(alive))
    return float(alive**factor), float(alive ** (1.0 / factor))
