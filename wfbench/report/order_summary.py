"""The trainings of a search by order, best first."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from wfbench.contract import Order
from wfbench.search.answer.quantiles import t_quantile
from wfbench.store.events import WorkflowResult


@dataclass(frozen=True)
class OrderSummary:
    """All workflows of a run that trained one order."""

    order: Order
    trainings: tuple[WorkflowResult, ...]

    @property
    def best(self) -> WorkflowResult:
        """Return the training to show: compliant before not, then by score."""
        return max(self.trainings, key=lambda r: (r.compliant, _or_lowest(r.score)))

    @property
    def mean(self) -> float:
        """Return the mean score over trainings that have one."""
        scores = self._scores()
        return fmean(scores) if scores else math.nan

    @property
    def between(self) -> float:
        """Return half of the 95 % interval over trainings; NaN with fewer than two."""
        scores = self._scores()
        if len(scores) < 2:
            return math.nan
        times = t_quantile(0.95, len(scores) - 1)
        return times * stdev(scores) / math.sqrt(len(scores))

    @property
    def within(self) -> float:
        """Return half of the 95 % interval over the episodes of the training that is shown."""
        return 1.96 * self.best.score_error

    def _scores(self) -> list[float]:
        return [r.score for r in self.trainings if not math.isnan(r.score)]


def by_order(finished: Sequence[WorkflowResult]) -> list[OrderSummary]:
    """Return the orders of a run, best first."""
    found: dict[Order, list[WorkflowResult]] = {}
    for result in finished:
        found.setdefault(result.order, []).append(result)
    orders = [OrderSummary(order, tuple(results)) for order, results in found.items()]
    return sorted(orders, key=lambda o: (o.best.compliant, _or_lowest(o.mean)), reverse=True)


def _or_lowest(score: float) -> float:
    return -math.inf if math.isnan(score) else score
