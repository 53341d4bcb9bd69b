"""Intervals, from samples alone and reproducible."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

CONFIDENCE = 0.95
RESAMPLES = 10_000
_SEED = 20_231_117


@dataclass(frozen=True)
class Estimate:
    """A value and the interval it lies in with 95 % confidence; no interval from one sample."""

    value: float
    low: float | None = None
    high: float | None = None


def mean_estimate(values: Sequence[float]) -> Estimate:
    """The mean, with a bootstrap interval."""
    data = np.asarray(values, dtype=np.float64)
    if len(data) < 2:
        return Estimate(float(data.mean()))
    low, high = _interval(data)
    return Estimate(float(data.mean()), low, high)


def ratio_estimate(values: Sequence[float], reference: Sequence[float]) -> Estimate:
    """How many times the reference, paired one by one: the geometric mean of the ratios."""
    logs = np.log(np.asarray(values, dtype=np.float64)) - np.log(
        np.asarray(reference, dtype=np.float64)
    )
    middle = float(np.exp(logs.mean()))
    if len(logs) < 2:
        return Estimate(middle)
    low, high = _interval(logs)
    return Estimate(middle, float(np.exp(low)), float(np.exp(high)))


def _interval(data: np.ndarray[tuple[int], np.dtype[np.float64]]) -> tuple[float, float]:
    """Percentiles of the mean over samples drawn again with replacement, always the same draws."""
    rng = np.random.default_rng(_SEED)
    picks = rng.integers(0, len(data), (RESAMPLES, len(data)))
    means = data[picks].mean(axis=1)
    tail = (1.0 - CONFIDENCE) / 2.0
    low, high = np.quantile(means, [tail, 1.0 - tail])
    return float(low), float(high)
