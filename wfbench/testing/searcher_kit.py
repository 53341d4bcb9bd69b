"""The promises of a searcher."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from wfbench.contract import Order, Outcome, Searcher, SearcherSetup, SearcherSpec, load_object

from .promise import Progress, PromiseResult, Promises, expect

_UNITS = 5
_QUESTIONS = 8
_BATCH = 3


_PROMISES: Promises[_Subject] = Promises()


def check_searcher(
    spec: SearcherSpec,
    options: Mapping[str, Any] | None = None,
    *,
    progress: Progress | None = None,
) -> list[PromiseResult]:
    """Test whether a searcher keeps every promise, built with these options."""
    return _PROMISES.test(_Subject, spec, options, progress)


@dataclass(frozen=True)
class _Subject:
    spec: SearcherSpec
    options: Mapping[str, Any]

    def build(self, num_units: int = _UNITS, seed: int = 3) -> Any:
        setup = SearcherSetup(num_units, seed)
        searcher: Searcher = load_object(self.spec.factory)(setup, **self.options)
        return searcher

    @_PROMISES.add("every order is a permutation of the units")
    def permutations(self) -> None:
        for units in (2, _UNITS):
            searcher = self.build(units)
            for order in _search(searcher, 2 if units == 2 else _QUESTIONS):
                expect(isinstance(order, tuple), f"ask() returned {order!r}, not a tuple")
                expect(sorted(order) == list(range(units)), f"{order} is no order of {units} units")
                expect(all(type(unit) is int for unit in order), f"{order} holds other than int")

    @_PROMISES.add("the same seed and outcomes give the same orders")
    def determinism(self) -> None:
        first, second = (_search(self.build(), _QUESTIONS) for _ in range(2))
        expect(first == second, f"orders {second} instead of {first}")

    @_PROMISES.add("state() is JSON, and load() goes on as if never interrupted")
    def resuming(self) -> None:
        whole = self.build()
        orders = _search(whole, _QUESTIONS)
        broken = self.build()
        _search(broken, _QUESTIONS // 2)
        state = json.loads(json.dumps(dict(broken.state()), allow_nan=False))
        resumed = self.build()
        resumed.load(state)
        rest = _search(resumed, _QUESTIONS - _QUESTIONS // 2, first=_QUESTIONS // 2)
        expected = orders[_QUESTIONS // 2 :]
        expect(rest == expected, f"after load() it asked {rest} instead of {expected}")

    @_PROMISES.add("an order whose training failed is data, not an end")
    def failures(self) -> None:
        searcher = self.build()
        for _ in range(3):
            order = searcher.ask()
            searcher.tell(order, Outcome(float("nan"), 0.0, compliant=False, env_steps=100))
        order = searcher.ask()
        expect(sorted(order) == list(range(_UNITS)), f"after failures it asked {order}")
        json.dumps(dict(searcher.state()), allow_nan=False)

    @_PROMISES.add("orders asked together are orders, and the same again", needs=("batches",))
    def batches(self) -> None:
        expect(self.build().ask_batch(1) == [self.build().ask()], "ask_batch(1) is not [ask()]")
        first, second = (_search_in_batches(self.build()) for _ in range(2))
        expect(first == second, f"orders {second} instead of {first}")
        for orders in first:
            expect(1 <= len(orders) <= _BATCH, f"ask_batch({_BATCH}) gave {len(orders)} orders")
            for order in orders:
                expect(sorted(order) == list(range(_UNITS)), f"{order} is no order")


def _search_in_batches(searcher: Any) -> list[list[Order]]:
    return [_told(searcher, searcher.ask_batch(_BATCH), n) for n in range(_QUESTIONS // 2)]


def _search(searcher: Searcher, questions: int, first: int = 0) -> list[Order]:
    numbers = range(first, first + questions)
    return [order for n in numbers for order in _told(searcher, [searcher.ask()], n)]


def _told(searcher: Searcher, orders: Iterable[Order], number: int) -> list[Order]:
    """Tell how orders did; a score follows from the order and the number of the question."""
    told = list(orders)
    for order in told:
        noise = float(np.random.default_rng(number).normal())
        score = -50.0 - 10.0 * sum(place * unit for place, unit in enumerate(order)) + noise
        searcher.tell(order, Outcome(score, 0.9, compliant=True, env_steps=1000, seed=number))
    return told
