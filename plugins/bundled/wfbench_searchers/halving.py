"""Successive halving on the budget of environment steps."""

from __future__ import annotations

import numpy as np

from wfbench.contract import Order, SearcherSetup

from .base import ScoringSearcher


class Halving(ScoringSearcher):
    """Tries `orders` orders on a small share of the budget and continues with the better ones.

    In each rung the best of every `eta` orders advance to the next, with `eta` times the budget, up
    to the full one. A finished bracket is followed by another with orders not tried yet. Scores of
    different rungs are never compared: more training gives better scores.
    """

    def __init__(self, setup: SearcherSetup, *, orders: int = 9, eta: int = 3) -> None:
        super().__init__(setup)
        self._eta = eta
        self._sizes = [min(orders, len(self._orders))]
        while self._sizes[-1] >= eta:
            self._sizes.append(self._sizes[-1] // eta)

    def ask_batch(self, n: int) -> list[Order]:
        """Return the next orders of the present rung; the next rung waits for all its scores."""
        bracket, rung, place = self._place()
        return [self._orders[one] for one in self._entrants(bracket, rung)[place : place + n]]

    def budget(self, order: Order) -> float:  # noqa: ARG002 (an order just asked)
        """Return the share of the full budget for the order just asked."""
        _, rung, _ = self._place()
        return float(self._eta) ** -(len(self._sizes) - 1 - rung)

    def recommend(self) -> Order | None:
        """Return the best order of the highest rung that any bracket has reached."""
        if not self._indices:
            return None
        bracket, rung, place = self._place()
        top = len(self._sizes) - 1
        if bracket == 0:
            top = rung if place else rung - 1
        scores = self.effective_scores()
        reached: list[int] = []
        for done in range(bracket + 1):
            start = self._start(done, top)
            reached += range(start, min(start + self._sizes[top], len(scores)))
        return self._orders[self._indices[max(reached, key=lambda at: scores[at])]]

    def _place(self) -> tuple[int, int, int]:
        """Return bracket, rung and place in the rung of the next order."""
        bracket, place = divmod(len(self._indices), sum(self._sizes))
        rung = 0
        while place >= self._sizes[rung]:
            place -= self._sizes[rung]
            rung += 1
        return bracket, rung, place

    def _start(self, bracket: int, rung: int) -> int:
        """Return how many scores come before a rung of a bracket."""
        return bracket * sum(self._sizes) + sum(self._sizes[:rung])

    def _entrants(self, bracket: int, rung: int) -> list[int]:
        """Return the order indices of a rung.

        First rungs go through all orders in turn, those expected to be best first.
        """
        size = self._sizes[rung]
        if rung == 0:
            places = range(bracket * size, (bracket + 1) * size)
            if not self._prior.any():
                return [self._shuffled(place) for place in places]
            ranked = np.argsort(-self._prior, kind="stable")
            return [int(ranked[place % len(ranked)]) for place in places]
        first = self._start(bracket, rung - 1)
        span = slice(first, first + self._sizes[rung - 1])
        ranked = np.argsort(-self.effective_scores()[span], kind="stable")
        tried = self._indices[span]
        return [tried[at] for at in ranked[:size]]
