"""Intervals and permutation tests.

Every random draw is made with a fixed seed: the same samples always give the same figures.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import NDArray

from wfbench.contract import Interval

CONFIDENCE = 0.95
RESAMPLES = 10_000
_SEED = 20_231_117

_ENUMERATED = 20_000
"""A permutation test tries all rearrangements up to this number, else this many random ones."""

_FAR = 3.5
"""Modified z-score from which a value is an outlier (Iglewicz and Hoaglin)."""

Vector = NDArray[np.float64]
Estimate = Interval


@dataclass(frozen=True)
class Permutation:
    """The p value of a permutation test, and the smallest it could reach with so few samples."""

    p: float
    smallest: float


def mean_estimate(values: Sequence[float]) -> Estimate:
    """Return the mean with a bootstrap interval."""
    data = _vector(values)
    return around(float(data.mean()), _deviations(data))


def rate_estimate(values: Sequence[float]) -> Estimate:
    """Return the geometric mean of rates or times; its interval cannot reach below 0."""
    return ratio_estimate(values, [1.0] * len(values))


def ratio_estimate(values: Sequence[float], reference: Sequence[float]) -> Estimate:
    """Return the geometric mean of ratios to the reference, paired one by one."""
    return exp_estimate(mean_estimate(log_ratios(values, reference)))


def unpaired_ratio_estimate(
    log_values: Sequence[float], log_reference: Sequence[float]
) -> Estimate:
    """Return the ratio of the geometric means of two independent sets, given by their logs."""
    return exp_estimate(unpaired_difference_estimate(log_values, log_reference))


def unpaired_difference_estimate(values: Sequence[float], reference: Sequence[float]) -> Estimate:
    """Return the difference of the means of two independent sets."""
    above, below = _vector(values), _vector(reference)
    first, second = _deviations(above), _deviations(below, stream=1)
    spread = None if first is None or second is None else first - second
    return around(float(above.mean() - below.mean()), spread)


def log_ratios(values: Sequence[float], reference: Sequence[float]) -> list[float]:
    """Return the logs of paired ratios; raise ValueError unless all are positive and as many."""
    above, below = _vector(values), _vector(reference)
    if len(above) != len(below):
        raise ValueError(f"{len(above)} values cannot be paired with {len(below)}")
    if min(above.min(), below.min()) <= 0.0:
        raise ValueError("a ratio needs positive values")
    return [float(one) for one in np.log(above) - np.log(below)]


def permutation_test(log_ratios: Sequence[float]) -> Permutation:
    """Test whether paired log ratios lie around 0: how often flipped signs give as far a mean.

    Two-sided and exact: every pattern of signs is tried while there are few, else many random
    ones.
    """
    data = _vector(log_ratios)
    arrangements = 2 ** len(data)
    if arrangements <= _ENUMERATED:
        flipped = np.arange(arrangements)[:, None] >> np.arange(len(data)) & 1
    else:
        flipped = np.random.default_rng(_SEED).integers(0, 2, (_ENUMERATED, len(data)))
    found = np.abs((1.0 - 2.0 * flipped) @ data)
    return _tested(found, abs(float(data.sum())), arrangements, mirrored=True)


def unpaired_permutation_test(
    log_values: Sequence[float], log_reference: Sequence[float]
) -> Permutation:
    """Test whether two independent sets of logs have the same mean, by shuffling them.

    Distance is counted in standard errors, so that sets of unequal spread are judged fairly.
    """
    first, second = _vector(log_values), _vector(log_reference)
    pool, size = np.concatenate([first, second]), len(first)
    arrangements, chosen = comb(len(pool), size), _subsets(len(pool), size)
    apart = float(_distances(pool, np.arange(len(pool))[None, :] < size)[0])
    mirrored = len(first) == len(second)
    return _tested(_distances(pool, chosen), apart, arrangements, mirrored=mirrored)


@lru_cache(maxsize=16)
def _subsets(total: int, size: int) -> NDArray[np.bool_]:
    """Return all ways to choose `size` of `total`, one per row, or many random ones."""
    arrangements = comb(total, size)
    if arrangements > _ENUMERATED:
        drawn = np.random.default_rng(_SEED).random((_ENUMERATED, total))
        return np.asarray(drawn.argsort(axis=1).argsort(axis=1) < size)
    chosen = np.zeros((arrangements, total), dtype=bool)
    members = np.array(list(combinations(range(total), size)))
    np.put_along_axis(chosen, members, values=True, axis=1)
    return chosen


def holm(ps: Sequence[float]) -> list[float]:
    """Return p values adjusted for their number (Holm): one below 0.05 stays rare."""
    adjusted = [0.0] * len(ps)
    highest = 0.0
    for rank, index in enumerate(sorted(range(len(ps)), key=lambda i: ps[i])):
        highest = max(highest, min(1.0, (len(ps) - rank) * ps[index]))
        adjusted[index] = highest
    return adjusted


def adjusted(tests: Sequence[Permutation]) -> list[Permutation]:
    """Return tests adjusted for their number: both the p values and the smallest reachable ones."""
    ps, smallest = holm([test.p for test in tests]), holm([test.smallest for test in tests])
    return [Permutation(p, least) for p, least in zip(ps, smallest, strict=True)]


def outliers(values: Sequence[float]) -> tuple[int, ...]:
    """Return the indices of values far from the median, by the median absolute deviation.

    They are reported but stay part of every figure.
    """
    data = _vector(values)
    away = np.abs(data - np.median(data))
    scale = 1.4826 * float(np.median(away)) or 1.2533 * float(away.mean())
    if scale == 0.0:
        return ()
    return tuple(int(index) for index in np.flatnonzero(away > _FAR * scale))


def _vector(values: Sequence[float]) -> Vector:
    data = np.asarray(values, dtype=np.float64)
    if data.ndim != 1 or not len(data):
        raise ValueError("there are no values")
    if not np.isfinite(data).all():
        raise ValueError("a value is not a finite number")
    return data


def _deviations(data: Vector, stream: int = 0) -> Vector | None:
    """Return bootstrap deviations of the mean: means of resamples, minus the mean.

    The plain percentile bootstrap of five values covers the truth only four times in five: their
    spread is too small on average, and nobody knows it well. So each deviation is widened for the
    first and divided by a spread drawn from its own distribution for the second. On normal values
    the interval is Student's; from two values on it covers what it says.
    """
    size = len(data)
    if size < 2:
        return None
    places, spread = _draws(size, stream)
    return np.asarray((data[places].mean(axis=1) - data.mean()) / spread, dtype=np.float64)


@lru_cache(maxsize=16)
def _draws(size: int, stream: int) -> tuple[NDArray[np.int64], Vector]:
    """Return which values each resample has, and the spread its deviation is divided by."""
    rng = np.random.default_rng([_SEED, stream])
    places = rng.integers(0, size, (RESAMPLES, size))
    return places, np.sqrt(rng.chisquare(size - 1, RESAMPLES) / size)


def around(value: float, deviations: Vector | None) -> Estimate:
    """Return a value with the interval that its bootstrap deviations give."""
    if deviations is None:
        return Estimate(value)
    tail = (1.0 - CONFIDENCE) / 2.0
    low, high = np.quantile(deviations, [tail, 1.0 - tail])
    return Estimate(value, value + float(low), value + float(high))


def exp_estimate(logs: Estimate) -> Estimate:
    """Return the exponential of an estimate of logs."""
    low, high = (None if end is None else float(np.exp(end)) for end in (logs.low, logs.high))
    return Estimate(float(np.exp(logs.value)), low, high)


def _tested(found: Vector, observed: float, arrangements: int, *, mirrored: bool) -> Permutation:
    """Return the share of rearrangements at least as extreme as what was observed.

    `mirrored`: every rearrangement has a mirror image that is as extreme.
    """
    hits = int((found >= observed * (1.0 - 1e-9)).sum())
    if arrangements <= _ENUMERATED:
        return Permutation(hits / len(found), (2.0 if mirrored else 1.0) / arrangements)
    return Permutation((hits + 1) / (len(found) + 1), 1.0 / (_ENUMERATED + 1))


def _distances(pool: Vector, chosen: NDArray[np.bool_]) -> Vector:
    """Return the distance between the chosen and the others of each row, in standard errors."""
    count = int(chosen[0].sum())
    rows = np.broadcast_to(pool, chosen.shape)
    first = rows[chosen].reshape(-1, count)
    second = rows[~chosen].reshape(-1, len(pool) - count)
    apart = np.abs(first.mean(axis=1) - second.mean(axis=1))
    error = np.sqrt(_mean_variance(first) + _mean_variance(second))
    nothing = 1e-12 * (1.0 + float(np.abs(pool).max()))
    return np.asarray(np.where(apart > nothing, apart, 0.0) / (error + nothing))


def _mean_variance(rows: Vector) -> Vector:
    if rows.shape[1] < 2:
        return np.zeros(len(rows))
    return np.asarray(rows.var(axis=1, ddof=1) / rows.shape[1])
