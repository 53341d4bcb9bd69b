"""Reference searchers, which learn nothing from scores."""

from __future__ import annotations

from wfbench.contract import Order, SearcherSetup
from wfbench.orders import NAMED_UNITS, parse_order

from .base import ScoringSearcher


class Exhaustive(ScoringSearcher):
    """Asks for every order once, by index, and then starts over."""

    def ask_batch(self, n: int) -> list[Order]:
        """Return the next orders in turn."""
        told = len(self._indices)
        return [self._order(number) for number in range(told, told + n)]

    def _order(self, number: int) -> Order:
        return self._orders[number % len(self._orders)]


class Given(Exhaustive):
    """Asks for the given orders in turn, and then starts over.

    Orders of five units may be written in any form that wfbench reads, others as an index.
    """

    def __init__(self, setup: SearcherSetup, *, orders: str = "0") -> None:
        super().__init__(setup)
        count = setup.num_units
        names = tuple(f"unit {u}" for u in range(count))
        units = NAMED_UNITS if count == len(NAMED_UNITS) else names
        self._given = [parse_order(text, units) for text in orders.split("+")]

    def _order(self, number: int) -> Order:
        return self._given[number % len(self._given)]


class RandomSweep(Exhaustive):
    """Asks for every order once, in a sequence drawn from the seed, and then in another."""

    def _order(self, number: int) -> Order:
        return self._orders[self._shuffled(number)]
