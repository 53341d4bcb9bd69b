"""The searcher that models all orders at once and asks where the best may be."""

from __future__ import annotations

from collections.abc import Mapping
from math import log, pi, sqrt
from typing import Any

import numpy as np

from wfbench.contract import Order, Outcome, SearcherSetup
from wfbench.orders import precedences

from . import gaussian_process as gp
from .history import History

_DOUBT = 0.1
"""The probability with which the theory's bound may fail."""
_TIE = 1e-9


class GpUcb:
    """Asks the order whose mean plus `beta` standard deviations is highest, of all orders.

    What it asks next follows from its seed and from what it was told, and from nothing else.
    """

    def __init__(
        self,
        setup: SearcherSetup,
        *,
        beta: float = 2.0,
        schedule: str = "constant",
        kernel: str = "both",
        replicate: float = 0.2,
    ) -> None:
        self._history = History(setup.num_units)
        self._seed = setup.seed
        self._beta = beta
        self._schedule = schedule
        self._kernel = kernel
        self._replicate = replicate
        self._signs = np.array([precedences(one) for one in self._history.orders], dtype=np.float64)
        self._known: tuple[int, gp.Belief, gp.Model] | None = None

    def ask(self) -> Order:
        """The next order to train."""
        data, _, _ = self._data()
        belief, _ = self._believe()
        leader = self._leader(belief)
        if leader is not None and self._should_repeat(data, belief, leader):
            return self._history.orders[leader]
        return self._history.orders[self._best(belief.mean + self._optimism() * belief.sd)]

    def tell(self, order: Order, outcome: Outcome) -> None:
        """Learn how an order did."""
        self._history.tell(order, outcome)

    def recommend(self) -> Order | None:
        """The order that was tried and is believed to be best."""
        leader = self._leader(self._believe()[0])
        return None if leader is None else self._history.orders[leader]

    def belief(self) -> Mapping[Order, tuple[float, float]]:
        """Mean and standard deviation of every order's score, as it is believed to be."""
        _, centre, scale = self._data()
        believed, _ = self._believe()
        return {
            order: (centre + scale * float(mean), scale * float(sd))
            for order, mean, sd in zip(
                self._history.orders, believed.mean, believed.sd, strict=True
            )
        }

    def state(self) -> Mapping[str, Any]:
        """Everything needed to go on."""
        return self._history.state()

    def load(self, state: Mapping[str, Any]) -> None:
        """Take over a `state()`."""
        self._history.load(state)
        self._known = None

    def _data(self) -> tuple[gp.Data, float, float]:
        """What was told, with mean 0 and variance 1, and the mean and deviation it had."""
        scores = self._history.filled()
        centre = float(scores.mean()) if len(scores) else 0.0
        scale = float(scores.std()) if len(scores) > 1 else 0.0
        scale = scale if scale > 0 else 1.0
        scores = (scores - centre) / scale
        distinct, which = np.unique(self._history.indices, return_inverse=True)
        counts = np.bincount(which, minlength=len(distinct)).astype(np.float64)
        means = np.bincount(which, scores, minlength=len(distinct)) / np.maximum(counts, 1)
        within = float(((scores - means[which]) ** 2).sum()) if len(scores) else 0.0
        signs = self._signs[distinct.astype(np.int64)]
        return gp.Data(signs, means, counts, within), centre, scale

    def _believe(self) -> tuple[gp.Belief, gp.Model]:
        if self._known is None or self._known[0] != len(self._history):
            data, _, _ = self._data()
            model = gp.fit(data, smooth=self._kernel != "pairs", pairs=self._kernel != "mallows")
            self._known = len(self._history), gp.believe(model, data, self._signs), model
        return self._known[1], self._known[2]

    def _leader(self, belief: gp.Belief) -> int | None:
        """The order of the highest mean among those that were tried."""
        tried = sorted(set(self._history.indices))
        return max(tried, key=lambda one: belief.mean[one]) if tried else None

    def _should_repeat(self, data: gp.Data, belief: gp.Belief, leader: int) -> bool:
        """Whether the noise is unknown or so large that the leader may lead by luck."""
        told = len(self._history)
        if data.repeats >= self._replicate * told - 1:
            return False
        return bool(belief.sd[leader] > belief.mean.std())

    def _optimism(self) -> float:
        turn = len(self._history) + 1
        if self._schedule == "constant":
            return self._beta
        if self._schedule == "decay":
            return self._beta / sqrt(turn)

        def bound(t: int) -> float:
            return sqrt(2 * log(len(self._history.orders) * t**2 * pi**2 / (6 * _DOUBT)))

        return self._beta * bound(turn) / bound(1)

    def _best(self, values: gp.Floats) -> int:
        """The place of the highest value; among equals the seed decides."""
        highest = np.flatnonzero(values >= values.max() - _TIE)
        rng = np.random.default_rng([self._seed, len(self._history)])
        return int(rng.choice(highest))
