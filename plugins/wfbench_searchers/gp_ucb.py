"""The searcher that models all orders at once and asks where the best may be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
_FITTED = 60
"""The variances are fitted to so many of the latest scores, which bounds what a question costs."""


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
        self._known: tuple[int, gp.Model, gp.Belief] | None = None

    def ask(self) -> Order:
        """The next order to train."""
        return self.ask_batch(1)[0]

    def ask_batch(self, n: int) -> list[Order]:
        """The next orders to train at the same time.

        Each is chosen as if those before it had turned out as they are believed to: that moves no
        mean, but narrows what is not known about them and those like them, so that the next one
        lies elsewhere.
        """
        asked: list[int] = []
        for _ in range(n):
            belief = self._believe(asked)
            chosen = self._to_repeat(belief, asked)
            if chosen is None:
                chosen = self._best(belief.mean + self._optimism(asked) * belief.sd, asked)
            asked.append(chosen)
        return [self._history.orders[one] for one in asked]

    def tell(self, order: Order, outcome: Outcome) -> None:
        """Learn how an order did."""
        self._history.tell(order, outcome)

    def recommend(self) -> Order | None:
        """The order that was tried and is believed to be best."""
        leader = self._leader(self._believe())
        return None if leader is None else self._history.orders[leader]

    def belief(self) -> Mapping[Order, tuple[float, float]]:
        """Mean and standard deviation of every order's score, as it is believed to be."""
        _, centre, scale = self._scores()
        believed = self._believe()
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

    def _scores(self) -> tuple[gp.Floats, float, float]:
        """The scores told, with mean 0 and variance 1, and the mean and deviation they had."""
        scores = self._history.filled()
        if not len(scores):
            return scores, 0.0, 1.0
        centre, scale = float(scores.mean()), float(scores.std()) or 1.0
        return (scores - centre) / scale, centre, scale

    def _believe(self, asked: Sequence[int] = ()) -> gp.Belief:
        """What follows from all that was told, and if what was asked turns out as believed."""
        signs = self._signs[np.array([*self._history.indices, *asked], dtype=np.int64)]
        scores, told = self._scores()[0], len(self._history)
        if self._known is None or self._known[0] != told:
            recent = gp.data_of(signs[:told][-_FITTED:], scores[-_FITTED:])
            model = gp.fit(recent, smooth=self._kernel != "pairs", pairs=self._kernel != "mallows")
            belief = gp.believe(model, gp.data_of(signs[:told], scores), self._signs)
            self._known = told, model, belief
        _, model, belief = self._known
        if not asked:
            return belief
        expected = np.concatenate([scores, belief.mean[list(asked)]])
        return gp.believe(model, gp.data_of(signs, expected), self._signs)

    def _leader(self, belief: gp.Belief) -> int | None:
        """The order of the highest mean among those that were tried."""
        ranked = self._ranked(belief)
        return ranked[0] if ranked else None

    def _ranked(self, belief: gp.Belief, asked: Sequence[int] = ()) -> list[int]:
        """The orders that were tried or asked, the highest mean first."""
        tried = {*self._history.indices, *asked}
        return sorted(tried, key=lambda one: (-belief.mean[one], one))

    def _to_repeat(self, belief: gp.Belief, asked: Sequence[int]) -> int | None:
        """The leader, if it may lead by luck: by less than the deviation of what it is worth.

        At most the share `replicate` of all questions is spent on that.
        """
        told, ranked = len(self._history) + len(asked), self._ranked(belief, asked)
        if told - len(ranked) + 1 > self._replicate * (told + 1):
            return None
        leader, *others = ranked
        lead = belief.mean[leader] - belief.mean[others[0]] if others else 0.0
        return leader if belief.sd[leader] > lead else None

    def _optimism(self, asked: Sequence[int] = ()) -> float:
        turn = len(self._history) + len(asked) + 1
        if self._schedule == "constant":
            return self._beta
        if self._schedule == "decay":
            return self._beta / sqrt(turn)

        def bound(t: int) -> float:
            return sqrt(2 * log(len(self._history.orders) * t**2 * pi**2 / (6 * _DOUBT)))

        return self._beta * bound(turn) / bound(1)

    def _best(self, values: gp.Floats, asked: Sequence[int]) -> int:
        """The place of the highest value; among equals the seed decides."""
        highest = np.flatnonzero(values >= values.max() - _TIE)
        rng = np.random.default_rng([self._seed, len(self._history) + len(asked)])
        return int(rng.choice(highest))
