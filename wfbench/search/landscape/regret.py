"""Compare searchers by their regret: how far from the best order they are after some runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wfbench.collecting.seeding import Purpose, purpose_seed
from wfbench.contract import Order, Outcome, Searcher, SearcherSetup
from wfbench.orders import order_index
from wfbench.search.landscape.world import World
from wfbench.search.task_making import budget_share

RESAMPLES = 2000
_SEED = 2
_TINY = 1e-9

Build = Callable[[SearcherSetup], Searcher]


@dataclass(frozen=True)
class RegretCurves:
    """Regret of one searcher, [seeds, asks]: after budgets of 1, 2, ... full training runs."""

    recommended: NDArray[np.float64]
    """The value of the best order less that of the one the searcher would recommend."""
    best_asked: NDArray[np.float64]
    """The value of the best order less that of the best one asked so far."""
    ask_seconds: float
    """Mean time of one ask, the tell that follows and the recommendation after it."""
    repeats: float
    """Mean share of asks that repeat an order."""


@dataclass(frozen=True)
class MedianInterval:
    """A median over seeds, with its 95 % bootstrap interval."""

    median: float
    low: float
    high: float


@dataclass(frozen=True)
class RegretComparison:
    """One searcher's regret less another's, paired by seed; below 0 the first is better."""

    difference: MedianInterval
    better: float
    """Share of seeds in which the first is better; `worse`: in which it is worse."""
    worse: float


@dataclass(frozen=True)
class SearcherResult:
    """One searcher's regret after 1, 2, ... training runs, and what it did."""

    searcher: str
    recommended: tuple[MedianInterval, ...]
    """Of the order it would recommend."""
    best_asked: tuple[MedianInterval, ...]
    """Of the best order it had asked by then."""
    mean_recommended: tuple[float, ...]
    repeats: float
    """Share of asks that repeat an order."""
    ask_ms: float


@dataclass(frozen=True)
class Rival:
    """Two searchers after the whole budget, in the same worlds."""

    searcher: str
    against: str
    comparison: RegretComparison


@dataclass(frozen=True)
class SearchBench:
    """The results of all searchers."""

    asks: int
    seeds: int
    seed: int
    batch: int
    """Orders asked at a time."""
    searchers: tuple[SearcherResult, ...]
    rivals: tuple[Rival, ...]
    """The first searcher against each other one."""


def run_bench(
    searchers: Mapping[str, Build],
    world: World,
    *,
    asks: int,
    seeds: int,
    seed: int = 0,
    batch: int = 1,
    done: Callable[[], None] = lambda: None,
) -> SearchBench:
    """Run every searcher in the same worlds."""
    curves = {
        name: regret_curves(build, world, asks=asks, seeds=seeds, seed=seed, batch=batch, done=done)
        for name, build in searchers.items()
    }
    results = tuple(
        SearcherResult(
            searcher=name,
            recommended=tuple(median_interval(column) for column in one.recommended.T),
            best_asked=tuple(median_interval(column) for column in one.best_asked.T),
            mean_recommended=tuple(one.recommended.mean(axis=0).tolist()),
            repeats=one.repeats,
            ask_ms=1e3 * one.ask_seconds,
        )
        for name, one in curves.items()
    )
    first, *others = curves
    last = {name: one.recommended[:, -1] for name, one in curves.items()}
    rivals = tuple(Rival(first, other, compare(last[first], last[other])) for other in others)
    return SearchBench(asks, seeds, seed, batch, results, rivals)


def regret_curves(
    build: Build,
    world: World,
    *,
    asks: int,
    seeds: int,
    seed: int = 0,
    batch: int = 1,
    done: Callable[[], None] = lambda: None,
) -> RegretCurves:
    """Search `seeds` times with budgets of 1 to `asks` full runs.

    In each of these worlds every searcher meets the same luck: the n-th run of an order has the
    same score, whoever asks for it and when. A searcher that offers several orders at a time is
    told the scores of a batch when all of it was run.
    """
    rows = []
    for number in range(seeds):
        one = purpose_seed(seed, Purpose.BENCH, number)
        rows.append(_search(build, world, asks, one, batch))
        done()
    return RegretCurves(
        recommended=np.stack([row.recommended for row in rows]),
        best_asked=np.stack([row.best_asked for row in rows]),
        ask_seconds=float(np.mean([row.ask_seconds for row in rows])),
        repeats=float(np.mean([row.repeats for row in rows])),
    )


def median_interval(values: NDArray[np.float64]) -> MedianInterval:
    """Return the median of one value per seed, with its 95 % interval."""
    rng = np.random.default_rng(_SEED)
    picks = rng.integers(len(values), size=(RESAMPLES, len(values)))
    low, high = np.quantile(np.median(values[picks], axis=1), [0.025, 0.975])
    return MedianInterval(float(np.median(values)), float(low), float(high))


def compare(one: NDArray[np.float64], other: NDArray[np.float64]) -> RegretComparison:
    """Compare two searchers' regrets in the same worlds, one value per seed."""
    difference = one - other
    return RegretComparison(
        difference=median_interval(difference),
        better=float((difference < -_TINY).mean()),
        worse=float((difference > _TINY).mean()),
    )


def _search(build: Build, world: World, asks: int, seed: int, batch: int) -> RegretCurves:
    values = world.values(seed)
    searcher = build(SearcherSetup(world.num_units, purpose_seed(seed, Purpose.SEARCHER)))
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
        searcher.tell(order, Outcome(score, 1.0, compliant=True, env_steps=1, seed=questions))
        runs.append(score)
        chosen = _recommended(searcher, told)
        seconds += perf_counter() - start
        best = max(best, float(values[index]))
        now = values.max() - np.array([[values[chosen]], [best]])
        curves[:, max(0, math.ceil(spent - _TINY) - 1) :] = now
    return RegretCurves(
        curves[0], curves[1], seconds / max(1, questions), 1 - len(told) / max(1, questions)
    )


def _run(
    world: World, values: NDArray[np.float64], seed: int, index: int, number: int, share: float
) -> float:
    """Return a run's score; on a share of the budget the luck is larger by the root of it."""
    rng = np.random.default_rng([seed, 1, index, number])
    return float(values[index] + world.run(index, rng) / math.sqrt(share))


def _asked(searcher: Any, batch: int) -> list[tuple[Order, float]]:
    """Return the next orders, each with its share of the budget."""
    several = batch > 1 and hasattr(searcher, "ask_batch")
    orders = searcher.ask_batch(batch) if several else [searcher.ask()]
    return [(order, budget_share(searcher, order)) for order in orders]


def _recommended(searcher: Searcher, told: dict[int, list[float]]) -> int:
    """Return the index of the order that the searcher recommends."""
    order = getattr(searcher, "recommend", lambda: None)()
    if order is not None:
        return order_index(order)
    finite = {index: [s for s in runs if math.isfinite(s)] for index, runs in told.items()}
    known = {index: float(np.mean(runs)) for index, runs in finite.items() if runs}
    return max(known or told, key=lambda index: known.get(index, 0.0))
