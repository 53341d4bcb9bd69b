"""Searchers side by side on one landscape."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from wfbench.landscape.regret import (
    Build,
    Comparison,
    Done,
    Interval,
    compare,
    median_interval,
    regret_curves,
)
from wfbench.landscape.world import World


@dataclass(frozen=True)
class SearcherResult:
    """One searcher's regret after 1, 2, ... training runs, and what it did."""

    searcher: str
    recommended: tuple[Interval, ...]
    """Of the order it would recommend."""
    best_asked: tuple[Interval, ...]
    """Of the best order it had asked by then."""
    mean_recommended: tuple[float, ...]
    repeats: float
    """Share of questions that repeat an order."""
    ask_ms: float


@dataclass(frozen=True)
class Rival:
    """Two searchers after the whole budget, in the same worlds."""

    searcher: str
    against: str
    comparison: Comparison


@dataclass(frozen=True)
class SearchBench:
    """What came of it."""

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
    done: Done | None = None,
) -> SearchBench:
    """Let every searcher search the same worlds."""
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
    rivals = tuple(
        Rival(
            first,
            other,
            compare(curves[first].recommended[:, -1], curves[other].recommended[:, -1]),
        )
        for other in others
    )
    return SearchBench(asks, seeds, seed, batch, results, rivals)
