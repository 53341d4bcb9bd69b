"""Successive halving on the budget of environment steps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from wfbench.contract import Order, Outcome, SearcherSetup

from .history import History


class Halving:
    """Tries `orders` orders on a small share of the budget and goes on with the better ones.

    Of every `eta` orders of a rung the best goes on to the next, with `eta` times the budget, up to
    the full one. A bracket that is done is followed by another, of orders that were not tried yet.
    Scores of different rungs are never compared: more training gives better scores.
    """

    def __init__(self, setup: SearcherSetup, *, orders: int = 9, eta: int = 3) -> None:
        self._history = History(setup.num_units)
        self._seed = setup.seed
        self._eta = eta
        self._sizes = [min(orders, len(self._history.orders))]
        while self._sizes[-1] >= eta:
            self._sizes.append(self._sizes[-1] // eta)

    def ask(self) -> Order:
        """The next order of the present rung."""
        _, rung, place = self._place()
        return self._history.orders[self._entrants(rung)[place]]

    def ask_batch(self, n: int) -> list[Order]:
        """The next orders of the present rung; the following one waits for all of its scores."""
        _, rung, place = self._place()
        return [self._history.orders[one] for one in self._entrants(rung)[place : place + n]]

    def budget(self, order: Order) -> float:  # noqa: ARG002 (an order just asked)
        """The share of the full budget that an order just asked is worth."""
        _, rung, _ = self._place()
        return float(self._eta) ** -(len(self._sizes) - 1 - rung)

    def tell(self, order: Order, outcome: Outcome) -> None:
        """Note how an order did."""
        self._history.tell(order, outcome)

    def recommend(self) -> Order | None:
        """The best order of the highest rung that any bracket has reached."""
        bracket, rung, place = self._place()
        told = len(self._history)
        if not told:
            return None
        per_bracket = sum(self._sizes)
        top = len(self._sizes) - 1
        if bracket == 0:
            top = rung if place else rung - 1
        starts = [done * per_bracket + sum(self._sizes[:top]) for done in range(bracket + 1)]
        scores = self._history.filled()
        reached = [
            (scores[at], self._history.indices[at])
            for start in starts
            for at in range(start, min(start + self._sizes[top], told))
        ]
        return self._history.orders[max(reached, key=lambda one: one[0])[1]]

    def state(self) -> Mapping[str, Any]:
        """Everything needed to go on."""
        return self._history.state()

    def load(self, state: Mapping[str, Any]) -> None:
        """Take over a `state()`."""
        self._history.load(state)

    def _place(self) -> tuple[int, int, int]:
        """Bracket, rung and place in the rung of the next question."""
        bracket, place = divmod(len(self._history), sum(self._sizes))
        rung = 0
        while place >= self._sizes[rung]:
            place -= self._sizes[rung]
            rung += 1
        return bracket, rung, place

    def _entrants(self, rung: int) -> list[int]:
        """The order indices of a rung of the present bracket."""
        bracket = len(self._history) // sum(self._sizes)
        start = bracket * sum(self._sizes)
        if rung == 0:
            return self._fresh(bracket)
        first = start + sum(self._sizes[: rung - 1])
        span = slice(first, first + self._sizes[rung - 1])
        ranked = np.argsort(-self._history.filled()[span], kind="stable")
        tried = self._history.indices[span]
        return [tried[at] for at in ranked[: self._sizes[rung]]]

    def _fresh(self, bracket: int) -> list[int]:
        """The orders a bracket begins with: all orders come before any comes again."""
        size, count = self._sizes[0], len(self._history.orders)
        chosen: list[int] = []
        for number in range(bracket * size, (bracket + 1) * size):
            sweep, place = divmod(number, count)
            sequence = np.random.default_rng([self._seed, sweep]).permutation(count)
            chosen.append(int(sequence[place]))
        return chosen
