"""Searchers that learn nothing from what they are told: the references."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from wfbench.contract import Order, Outcome, SearcherSetup
from wfbench.orders import NAMED_UNITS, parse_order

from .history import History


class Exhaustive:
    """Asks every order once, in index order, and then begins again."""

    def __init__(self, setup: SearcherSetup) -> None:
        self._history = History(setup.num_units)

    def ask(self) -> Order:
        """The next order in turn."""
        return self._order(len(self._history))

    def ask_batch(self, n: int) -> list[Order]:
        """The next orders in turn."""
        told = len(self._history)
        return [self._order(number) for number in range(told, told + n)]

    def tell(self, order: Order, outcome: Outcome) -> None:
        """Note how an order did."""
        self._history.tell(order, outcome)

    def recommend(self) -> Order | None:
        """The order with the best mean score."""
        best = self._history.recommend()
        return None if best is None else self._history.orders[best]

    def state(self) -> Mapping[str, Any]:
        """Everything needed to go on."""
        return self._history.state()

    def load(self, state: Mapping[str, Any]) -> None:
        """Take over a `state()`."""
        self._history.load(state)

    def _order(self, number: int) -> Order:
        orders = self._history.orders
        return orders[number % len(orders)]


class Given(Exhaustive):
    """Asks the orders it was given, in turn, and then begins again.

    Orders of five units may be written in any way that wfbench reads, others as an index.
    """

    def __init__(self, setup: SearcherSetup, *, orders: str = "0") -> None:
        super().__init__(setup)
        count = setup.num_units
        units = (
            NAMED_UNITS if count == len(NAMED_UNITS) else tuple(f"unit {u}" for u in range(count))
        )
        self._given = [parse_order(text, units) for text in orders.split("+")]

    def _order(self, number: int) -> Order:
        return self._given[number % len(self._given)]


class RandomSweep(Exhaustive):
    """Asks every order once, in a sequence drawn from the seed, and then in another."""

    def __init__(self, setup: SearcherSetup) -> None:
        super().__init__(setup)
        self._seed = setup.seed

    def _order(self, number: int) -> Order:
        orders = self._history.orders
        sweep, place = divmod(number, len(orders))
        sequence = np.random.default_rng([self._seed, sweep]).permutation(len(orders))
        return orders[sequence[place]]
