"""Regret of searchers: how far from the best order they are after so many training runs."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wfbench.contract import Order, Outcome, Searcher, SearcherSetup
from wfbench.landscape.world import World
from wfbench.orders import order_index
from wfbench.seeding import Purpose, purpose_seed

RESAMPLES = 2000
_SEED = 2
_TINY = 1e-9

Build = Callable[[SearcherSetup], Searcher]
Done = Callable[[], None]


@dataclass(frozen=True)
class Curves:
    """Regret of one searcher, [seeds, asks]: after budgets of 1, 2, ... full training runs."""

    recommended: NDArray[np.float64]
    """The value of the best order less that of the one the searcher would recommend."""
    best_asked: NDArray[np.float64]
    """The value of the best order less that of the best one asked so far."""
    ask_seconds: float
    """Mean time of one question, its answer and the recommendation that follows."""
    repeats: float
    """Mean share of questions that repeat an order."""


@dataclass(frozen=True)
class Interval:
    """A median over seeds, with its 95 % bootstrap interval."""

    median: float
    low: float
    high: float


@dataclass(frozen=True)
class Comparison:
    """One searcher's regret less another's, paired by seed; below 0 the first is better."""

    difference: Interval
    better: float
    """Share of seeds in which the first is better; then in which it is worse."""
    worse: float


def regret_curves(
    build: Build,
    world: World,
    *,
    asks: int,
    seeds: int,
    seed: int = 0,
    batch: int = 1,
    done: Done | None = None,
) -> Curves:
    """Search `seeds` times with budgets of 1 to `asks` full runs.

    In each of these worlds every searcher meets the same luck: the n-th run of an order turns out
    the same, whoever asks for it and when. A searcher that can be asked for several orders at a
    time is told of none of `batch` orders before all of them were run.
    """
    rows = []
    for number in range(seeds):
        one = purpose_seed(seed, Purpose.BENCH, number)
        rows.append(_search(build, world, asks, one, batch))
        if done is not None:
            done()
    return Curves(
        recommended=np.stack([row.recommended for row in rows]),
        best_asked=np.stack([row.best_asked for row in rows]),
        ask_seconds=float(np.mean([row.ask_seconds for row in rows])),
        repeats=float(np.mean([row.repeats for row in rows])),
    )


def median_interval(values: NDArray[np.float64]) -> Interval:
    """The median of one value per seed, and where it lies with 95 % confidence."""
    rng = np.random.default_rng(_SEED)
    picks = rng.integers(len(values), size=(RESAMPLES, len(values)))
    low, high = np.quantile(np.median(values[picks], axis=1), [0.025, 0.975])
    return Interval(float(np.median(values)), float(low), float(high))


def compare(one: NDArray[np.float64], other: NDArray[np.float64]) -> Comparison:
    """Two searchers' regrets in the same worlds, one value per seed."""
    difference = one - other
    return Comparison(
        difference=median_interval(difference),
        better=float((difference < -_TINY).mean()),
        worse=float((difference > _TINY).mean()),
    )


def _search(build: Build, world: World, asks: int, seed: int, batch: int) -> Curves:
    values = world.values(seed)
    setup = SearcherSetup(world.num_units, purpose_seed(seed, Purpose.SEARCHER))
    searcher = build(setup)
    curves = np.full((2, asks), values.max() - values.mean())
    told: dict[int, list[float]] = {}
    spent, seconds, questions = 0.0, 0.0, 0
    best = -math.inf
    waiting: list[tuple[Order, float]] = []
    while spent < asks - _TINY:
        start = perf_counter()
        waiting = waiting or _asked(searcher, batch)
        order, share = waiting.pop(0)
        index = order_index(order)
        seconds += perf_counter() - start
        if spent + share > asks + _TINY:
            break
        spent += share
        questions += 1
        runs = told.setdefault(index, [])
        score = _run(world, values, seed, index, len(runs), share)
        start = perf_counter()
        outcome = Outcome(score, 1.0, compliant=True, env_steps=1, seed=questions)
        searcher.tell(order, outcome)
        runs.append(score)
        chosen = _recommended(searcher, told)
        seconds += perf_counter() - start
        best = max(best, float(values[index]))
        now = values.max() - np.array([[values[chosen]], [best]])
        curves[:, max(0, math.ceil(spent - _TINY) - 1) :] = now
    return Curves(
        curves[0], curves[1], seconds / max(1, questions), 1 - len(told) / max(1, questions)
    )


def _run(
    world: World, values: NDArray[np.float64], seed: int, index: int, number: int, share: float
) -> float:
    """A training run's score; on a share of the budget, luck weighs more by the root of it."""
    rng = np.random.default_rng([seed, 1, index, number])
    return float(values[index] + world.run(index, rng) / math.sqrt(share))


def _asked(searcher: Any, batch: int) -> list[tuple[Order, float]]:
    """The next orders, with the share of the budget that each is worth."""
    several = batch > 1 and hasattr(searcher, "ask_batch")
    orders = searcher.ask_batch(batch) if several else [searcher.ask()]
    return [(order, _share(searcher, order)) for order in orders]


def _share(searcher: Searcher, order: Order) -> float:
    give = getattr(searcher, "budget", None)
    share = None if give is None else give(order)
    return 1.0 if share is None else float(share)


def _recommended(searcher: Searcher, told: dict[int, list[float]]) -> int:
    """The index of the order the searcher would have us use."""
    recommend = getattr(searcher, "recommend", None)
    order = None if recommend is None else recommend()
    if order is not None:
        return order_index(order)
    finite = {index: [s for s in runs if math.isfinite(s)] for index, runs in told.items()}
    known = {index: float(np.mean(runs)) for index, runs in finite.items() if runs}
    return max(known or told, key=lambda index: known.get(index, 0.0))
