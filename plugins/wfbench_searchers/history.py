"""What a searcher was told, in a form that survives JSON exactly."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wfbench.contract import Order, Outcome, UsageError
from wfbench.orders import all_orders, check_order, order_index


class History:
    """Scores by order, in the order they came; a failure has no score.

    What is searched for is an order that can be followed. So one that was not, however well its
    policy did, counts no more than the worst of those that were.
    """

    def __init__(self, num_units: int) -> None:
        self.orders = all_orders(num_units)
        self._num_units = num_units
        self.indices: list[int] = []
        self.scores: list[float] = []
        self.compliant: list[bool] = []

    def __len__(self) -> int:
        return len(self.indices)

    def tell(self, order: Order, outcome: Outcome) -> None:
        """Note how an order did."""
        self.indices.append(order_index(check_order(order, self._num_units)))
        finite = math.isfinite(outcome.score)
        self.scores.append(float(outcome.score) if finite else math.nan)
        self.compliant.append(bool(outcome.compliant))

    def filled(self) -> NDArray[np.float64]:
        """What each counts: a failure one standard deviation (or a point) below the worst seen."""
        scores, compliant = np.array(self.scores), np.array(self.compliant, dtype=np.bool_)
        finite = np.isfinite(scores)
        followed = scores[finite & compliant]
        if len(followed):
            scores = np.where(compliant, scores, np.minimum(scores, followed.min()))
        known = scores[finite]
        if not len(known):
            return np.zeros(len(scores))
        return np.where(finite, scores, known.min() - (known.std() or 1.0))

    def recommend(self) -> int | None:
        """The index of the order with the best mean score, the first one of equals."""
        if not self.indices:
            return None
        scores, indices = self.filled(), np.array(self.indices)
        return max(dict.fromkeys(self.indices), key=lambda one: scores[indices == one].mean())

    def state(self) -> dict[str, Any]:
        """This as JSON values."""
        scores = [None if math.isnan(score) else score for score in self.scores]
        told = list(zip(self.indices, scores, self.compliant, strict=True))
        return {"num_units": self._num_units, "told": told}

    def load(self, state: Mapping[str, Any]) -> None:
        """Take over a `state()`."""
        if state.get("num_units") != self._num_units:
            raise UsageError(
                f"the searcher's state is of {state.get('num_units')} units, "
                f"not of {self._num_units}"
            )
        told: Iterable[Sequence[Any]] = state["told"]
        self.indices, self.scores, self.compliant = [], [], []
        for index, score, *compliant in told:
            self.indices.append(int(index))
            self.scores.append(math.nan if score is None else float(score))
            # The first runs did not keep it; there every score counted as it was.
            self.compliant.append(all(compliant))
