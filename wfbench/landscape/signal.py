"""Signal and noise of a landscape: how much of what differs is the order, and how much is luck."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from wfbench.contract import UsageError
from wfbench.landscape.records import Landscape

_RESAMPLES = 1000
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
    """95 % interval of `icc`, from orders drawn again with replacement."""
    orders: int
    runs: int

    @property
    def reliability(self) -> float:
        """The share of the variance of an order's mean over its runs that is due to the order."""
        between = self.order_sd**2
        noise = self.seed_sd**2 * self.orders / self.runs
        return between / (between + noise) if between > 0 else 0.0


def measure_signal(landscape: Landscape) -> Signal:
    """The signal of a landscape's scores, failed runs left out."""
    groups = [
        scores for index in range(len(landscape.replicates)) if (scores := landscape.scores(index))
    ]
    if len(groups) < 2 or all(len(group) < 2 for group in groups):
        raise UsageError(
            "signal and noise need at least two orders and a second run of one of them; "
            "record the landscape with more seeds"
        )
    between, within = _variances(groups)
    rng = np.random.default_rng(_SEED)
    draws = []
    for _ in range(_RESAMPLES):
        picked = [groups[at] for at in rng.integers(len(groups), size=len(groups))]
        if any(len(group) > 1 for group in picked):
            draws.append(_icc(*_variances(picked)))
    low, high = np.quantile(draws, [0.025, 0.975])
    return Signal(
        order_sd=float(np.sqrt(between)),
        seed_sd=float(np.sqrt(within)),
        icc=_icc(between, within),
        icc_low=float(low),
        icc_high=float(high),
        orders=len(groups),
        runs=sum(len(group) for group in groups),
    )


def _variances(groups: Sequence[Sequence[float]]) -> tuple[float, float]:
    """Variance between orders and within them, by the analysis of variance."""
    sizes = np.array([len(group) for group in groups], dtype=np.float64)
    means = np.array([np.mean(group) for group in groups])
    total, count = sizes.sum(), len(groups)
    grand = (sizes * means).sum() / total
    within = sum(((np.asarray(g) - m) ** 2).sum() for g, m in zip(groups, means, strict=True))
    mean_within = float(within) / max(1.0, total - count)
    mean_between = float((sizes * (means - grand) ** 2).sum()) / (count - 1)
    typical = (total - (sizes**2).sum() / total) / (count - 1)
    return max(0.0, (mean_between - mean_within) / typical), mean_within


def _icc(between: float, within: float) -> float:
    return between / (between + within) if between + within > 0 else 0.0
