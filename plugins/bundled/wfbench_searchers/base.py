"""What all searchers share: the scores so far, in a form that survives JSON exactly."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wfbench.contract import Order, Outcome, SearcherSetup, UsageError
from wfbench.orders import all_orders, check_order, order_index


class ScoringSearcher(ABC):
    """A searcher that keeps every score; a failure has none.

    The search is for an order that can be followed. So an order that was not followed, however well
    its policy did, counts no more than the worst that was.
    """

    def __init__(self, setup: SearcherSetup) -> None:
        self._orders = all_orders(setup.num_units)
        self._num_units = setup.num_units
        self._seed = setup.seed
        self._indices: list[int] = []
        self._scores: list[float] = []
        self._compliant: list[bool] = []
        self._prior: NDArray[np.float64] = np.zeros(len(self._orders))

    def prior(self, scores: Mapping[Order, float]) -> None:
        """Take what orders are expected to score; one that is not named cannot be asked for."""
        self._prior = np.array([scores.get(order, -math.inf) for order in self._orders])

    def ask(self) -> Order:
        """Return the next order to train."""
        [order] = self.ask_batch(1)
        return order

    @abstractmethod
    def ask_batch(self, n: int) -> list[Order]:
        """Return the next orders to train at the same time."""

    def tell(self, order: Order, outcome: Outcome) -> None:
        """Record how an order did."""
        self._indices.append(order_index(check_order(order, self._num_units)))
        finite = math.isfinite(outcome.score)
        self._scores.append(float(outcome.score) if finite else math.nan)
        self._compliant.append(bool(outcome.compliant))

    def recommend(self) -> Order | None:
        """Return the order with the best mean score, the first one of equals."""
        if not self._indices:
            return None
        scores, indices = self.effective_scores(), np.array(self._indices)
        tried = dict.fromkeys(self._indices)
        return self._orders[max(tried, key=lambda one: scores[indices == one].mean())]

    def state(self) -> Mapping[str, Any]:
        """Return everything needed to resume, as JSON values."""
        scores = [None if math.isnan(score) else score for score in self._scores]
        told = list(zip(self._indices, scores, self._compliant, strict=True))
        return {"num_units": self._num_units, "told": told}

    def load(self, state: Mapping[str, Any]) -> None:
        """Resume from a `state()`."""
        if state.get("num_units") != self._num_units:
            raise UsageError(
                f"the searcher's state is of {state.get('num_units')} units, "
                f"not of {self._num_units}"
            )
        self._indices, self._scores, self._compliant = [], [], []
        for index, score, *compliant in state["told"]:
            self._indices.append(int(index))
            self._scores.append(math.nan if score is None else float(score))
            # The first releases did not record compliance; there every score counts in full.
            self._compliant.append(all(compliant))

    def effective_scores(self) -> NDArray[np.float64]:
        """Return what each counts; a failure one standard deviation (or 1) below the worst."""
        scores, compliant = np.array(self._scores), np.array(self._compliant, dtype=np.bool_)
        finite = np.isfinite(scores)
        followed = scores[finite & compliant]
        if len(followed):
            scores = np.where(compliant, scores, np.minimum(scores, followed.min()))
        known = scores[finite]
        if not len(known):
            return np.zeros(len(scores))
        return np.where(finite, scores, known.min() - (known.std() or 1.0))

    def _shuffled(self, number: int) -> int:
        """Return the order index at a place of endless sweeps, each in a drawn sequence."""
        sweep, place = divmod(number, len(self._orders))
        sequence = np.random.default_rng([self._seed, sweep]).permutation(len(self._orders))
        return int(sequence[place])
