"""The promises of a searcher."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from wfbench.contract import Order, Outcome, Searcher, SearcherSetup, SearcherSpec, load_object
from wfbench.options import resolve_options

from .checklist import go_through
from .promise import Progress, Promise
from .verdict import DoesNotApply, expect

_UNITS = 5
_QUESTIONS = 8
_BATCH = 3


def check_searcher(
    spec: SearcherSpec,
    options: Mapping[str, Any] | None = None,
    *,
    progress: Progress | None = None,
) -> list[Promise]:
    """Put a searcher to every promise; `options` are those it is built with."""
    subject = _Subject(spec, resolve_options(spec, options or {}))
    return go_through(
        [
            ("every order is a permutation of the units", subject.permutations),
            ("the same seed and outcomes give the same orders", subject.determinism),
            ("state() is JSON, and load() goes on as if never interrupted", subject.resuming),
            ("an order whose training failed is data, not an end", subject.failures),
            ("orders asked together are orders, and the same again", subject.batches),
        ],
        progress,
    )


@dataclass(frozen=True)
class _Subject:
    spec: SearcherSpec
    options: Mapping[str, Any]

    def build(self, num_units: int = _UNITS, seed: int = 3) -> Any:
        setup = SearcherSetup(num_units, seed)
        searcher: Searcher = load_object(self.spec.factory)(setup, **self.options)
        return searcher

    def permutations(self) -> None:
        for units in (2, _UNITS):
            searcher = self.build(units)
            for order in _search(searcher, 2 if units == 2 else _QUESTIONS):
                expect(isinstance(order, tuple), f"ask() returned {order!r}, not a tuple")
                expect(sorted(order) == list(range(units)), f"{order} is no order of {units} units")
                expect(all(type(unit) is int for unit in order), f"{order} holds other than int")

    def determinism(self) -> None:
        first, second = (_search(self.build(), _QUESTIONS) for _ in range(2))
        expect(first == second, f"orders {second} instead of {first}")

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

    def batches(self) -> None:
        if "batches" not in self.spec.capabilities:
            raise DoesNotApply('it does not declare "batches"')
        expect(self.build().ask_batch(1) == [self.build().ask()], "ask_batch(1) is not [ask()]")
        first, second = (_search_in_batches(self.build()) for _ in range(2))
        expect(first == second, f"orders {second} instead of {first}")
        for orders in first:
            expect(1 <= len(orders) <= _BATCH, f"ask_batch({_BATCH}) gave {len(orders)} orders")
            for order in orders:
                expect(sorted(order) == list(range(_UNITS)), f"{order} is no order")

    def failures(self) -> None:
        searcher = self.build()
        for _ in range(3):
            order = searcher.ask()
            searcher.tell(order, Outcome(float("nan"), 0.0, compliant=False, env_steps=100))
        order = searcher.ask()
        expect(sorted(order) == list(range(_UNITS)), f"after failures it asked {order}")
        json.dumps(dict(searcher.state()), allow_nan=False)


def _search_in_batches(searcher: Any) -> list[list[Order]]:
    batches = []
    for _ in range(_QUESTIONS // 2):
        orders = list(searcher.ask_batch(_BATCH))
        for order in orders:
            score = -10.0 * sum(place * unit for place, unit in enumerate(order))
            searcher.tell(order, Outcome(score, 0.9, compliant=True, env_steps=1000))
        batches.append(orders)
    return batches


def _search(searcher: Searcher, questions: int, first: int = 0) -> list[Order]:
    """Ask and tell; an order's score follows from the order and the number of the question."""
    orders = []
    for number in range(first, first + questions):
        order = searcher.ask()
        noise = float(np.random.default_rng(number).normal())
        score = -50.0 - 10.0 * sum(place * unit for place, unit in enumerate(order)) + noise
        searcher.tell(order, Outcome(score, 0.9, compliant=True, env_steps=1000, seed=number))
        orders.append(order)
    return orders
