"""A searcher that models all orders at once and asks where the best may be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import log, pi, sqrt
from typing import Any

import numpy as np

from wfbench.contract import Order, SearcherSetup
from wfbench.orders import precedences

from . import gaussian_process as gp
from .base import ScoringSearcher
from .options import GpUcbOptions

_DOUBT = 0.1
"""The probability with which the theory's bound may fail."""
_TIE = 1e-9
_FITTED = 60
"""Variances are fitted to at most so many of the latest scores, to bound the cost of `ask`."""


class GpUcb(ScoringSearcher):
    """Asks for the order whose mean plus `beta` standard deviations is highest.

    The next order depends only on the seed and the scores so far.
    """

    def __init__(self, setup: SearcherSetup, **options: Any) -> None:
        super().__init__(setup)
        self._chosen = GpUcbOptions(**options)
        self._signs = np.array([precedences(one) for one in self._orders], dtype=np.float64)
        self._known: tuple[int, gp.Model, gp.Posterior] | None = None

    def ask_batch(self, n: int) -> list[Order]:
        """Return the next orders to train at the same time.

        Each is chosen as if those before it had scored exactly as expected. That moves no mean but
        narrows the deviations around them, so that the next one lies elsewhere.
        """
        asked: list[int] = []
        for _ in range(n):
            posterior = self._expected(asked)
            chosen = self._to_repeat(posterior, asked)
            if chosen is None:
                chosen = self._best(posterior.mean + self._optimism(asked) * posterior.sd, asked)
            asked.append(chosen)
        return [self._orders[one] for one in asked]

    def recommend(self) -> Order | None:
        """Return the order with the highest mean among those tried."""
        ranked = self._ranked(self._expected())
        return self._orders[ranked[0]] if ranked else None

    def belief(self) -> Mapping[Order, tuple[float, float]]:
        """Return mean and standard deviation of what every order is expected to score."""
        _, centre, scale = self._standardised()
        found = self._expected()
        return {
            order: (centre + scale * float(mean), scale * float(sd))
            for order, mean, sd in zip(self._orders, found.mean, found.sd, strict=True)
        }

    def load(self, state: Mapping[str, Any]) -> None:
        """Resume from a `state()`."""
        super().load(state)
        self._known = None

    def _standardised(self) -> tuple[gp.Floats, float, float]:
        """Return scores less prior with mean 0 and variance 1, and the mean and sd they had."""
        scores = self.effective_scores() - self._prior[self._indices]
        if not len(scores):
            return scores, 0.0, self._spread() or 1.0
        centre = float(scores.mean())
        scale = float(scores.std()) or self._spread() or 1.0
        return (scores - centre) / scale, centre, scale

    def _spread(self) -> float:
        """Return the standard deviation of the prior."""
        return float(self._prior[np.isfinite(self._prior)].std())

    def _expected(self, asked: Sequence[int] = ()) -> gp.Posterior:
        """Return the posterior of the scores themselves, in units of their deviation."""
        found, scale = self._posterior(asked), self._standardised()[2]
        return replace(found, mean=found.mean + self._prior / scale)

    def _posterior(self, asked: Sequence[int] = ()) -> gp.Posterior:
        """Return the posterior of what scores exceed the prior by, those asked as expected."""
        signs = self._signs[np.array([*self._indices, *asked], dtype=np.int64)]
        scores, told = self._standardised()[0], len(self._indices)
        if self._known is None or self._known[0] != told:
            recent = gp.data_of(signs[:told][-_FITTED:], scores[-_FITTED:])
            kernel = self._chosen.kernel
            model = gp.fit(recent, smooth=kernel != "pairs", pairs=kernel != "mallows")
            found = gp.posterior(model, gp.data_of(signs[:told], scores), self._signs)
            self._known = told, model, found
        _, model, found = self._known
        if not asked:
            return found
        expected = np.concatenate([scores, found.mean[list(asked)]])
        return gp.posterior(model, gp.data_of(signs, expected), self._signs)

    def _ranked(self, posterior: gp.Posterior, asked: Sequence[int] = ()) -> list[int]:
        """Return the orders tried or asked, the highest mean first."""
        tried = {*self._indices, *asked}
        return sorted(tried, key=lambda one: (-posterior.mean[one], one))

    def _to_repeat(self, posterior: gp.Posterior, asked: Sequence[int]) -> int | None:
        """Return the leader if its lead is below its standard deviation, so may be luck.

        At most the share `replicate` of all orders asked for are such repeats.
        """
        told, ranked = len(self._indices) + len(asked), self._ranked(posterior, asked)
        if told - len(ranked) + 1 > self._chosen.replicate * (told + 1):
            return None
        leader, *others = ranked
        lead = posterior.mean[leader] - posterior.mean[others[0]] if others else 0.0
        return leader if posterior.sd[leader] > lead else None

    def _optimism(self, asked: Sequence[int] = ()) -> float:
        turn = len(self._indices) + len(asked) + 1
        beta, schedule = self._chosen.beta, self._chosen.schedule
        if schedule == "constant":
            return beta
        if schedule == "decay":
            return beta / sqrt(turn)

        def bound(t: int) -> float:
            return sqrt(2 * log(len(self._orders) * t**2 * pi**2 / (6 * _DOUBT)))

        return beta * bound(turn) / bound(1)

    def _best(self, values: gp.Floats, asked: Sequence[int]) -> int:
        """Return the index of the highest value; among equals the seed decides."""
        highest = np.flatnonzero(values >= values.max() - _TIE)
        rng = np.random.default_rng([self._seed, len(self._indices) + len(asked)])
        return int(rng.choice(highest))
