"""Signal and noise of a landscape: how much scores differ by order, and how much by luck."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wfbench.contract import UsageError
from wfbench.search.landscape.records import Landscape

Floats = NDArray[np.float64]

_RESAMPLES = 1000
_TAILS = (0.025, 0.975)
_SEED = 1


@dataclass(frozen=True)
class Signal:
    """A one-way analysis of variance of scores by order.

    `icc`, the intra-class correlation, is the share of the variance of a single run's score that
    is due to its order; 0 means that orders cannot be told apart.
    """

    order_sd: float
    seed_sd: float
    icc: float
    icc_low: float
    icc_high: float
    """95 % interval of `icc`, from orders resampled with replacement."""
    orders: int
    runs: int

    @property
    def reliability(self) -> float:
        """Return the share of the variance of an order's mean that is due to the order."""
        between = self.order_sd**2
        noise = self.seed_sd**2 * self.orders / self.runs
        return between / (between + noise) if between > 0 else 0.0


def measure_signal(landscape: Landscape) -> Signal:
    """Return the signal of a landscape's scores, without failed runs."""
    scores = [landscape.scores(index) for index in range(len(landscape.replicates))]
    groups = [np.array(one) for one in scores if one]
    sizes = np.array([len(group) for group in groups], dtype=np.float64)
    if len(groups) < 2 or sizes.max() < 2:
        raise UsageError(
            "signal and noise need at least two orders and a second run of one of them; "
            "record the landscape with more seeds"
        )
    means = np.array([group.mean() for group in groups])
    squares = np.array([((group - group.mean()) ** 2).sum() for group in groups])
    picks = np.random.default_rng(_SEED).integers(len(groups), size=(_RESAMPLES, len(groups)))
    picks = picks[sizes[picks].max(axis=1) > 1]
    low, high = np.quantile(_icc(*_variances(sizes[picks], means[picks], squares[picks])), _TAILS)
    between, within = _variances(sizes, means, squares)
    return Signal(
        order_sd=float(np.sqrt(between)),
        seed_sd=float(np.sqrt(within)),
        icc=float(_icc(between, within)),
        icc_low=float(low),
        icc_high=float(high),
        orders=len(groups),
        runs=int(sizes.sum()),
    )


def _variances(sizes: Floats, means: Floats, squares: Floats) -> tuple[Floats, Floats]:
    """Return the variance between orders and within them, by the analysis of variance.

    The arguments are per order, along the last axis: the number of runs, their mean, and the sum
    of squares about it.
    """
    count, total = sizes.shape[-1], sizes.sum(axis=-1)
    grand = (sizes * means).sum(axis=-1) / total
    within = squares.sum(axis=-1) / (total - count)
    scatter = (sizes * (means - grand[..., None]) ** 2).sum(axis=-1) / (count - 1)
    typical = (total - (sizes**2).sum(axis=-1) / total) / (count - 1)
    return np.maximum(0.0, (scatter - within) / typical), within


def _icc(between: Floats, within: Floats) -> Floats:
    total = between + within
    icc: Floats = between / np.where(total > 0, total, 1.0)
    return icc
