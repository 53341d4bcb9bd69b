"""Recorded searches as learning curves: what each training had reached after how many steps."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wfbench.benchmarks.statistics.learning import Reach
from wfbench.contract import NotComparableError
from wfbench.search.history import RecordedSearch, read_searches
from wfbench.search.same_work import task_of
from wfbench.store.config import StoredConfig
from wfbench.store.events import (
    HOPELESS,
    THRESHOLD,
    UpdateFinished,
    WorkflowFinished,
    WorkflowStarted,
)

KINDS = ("collector", "trainer", "searcher")

Group = tuple[str, ...]
"""The labels of collector, trainer and searcher."""


@dataclass(frozen=True)
class TrainingPoint:
    """One rollout of a training."""

    steps: int
    """Environment steps of this training so far."""
    score: float
    """Mean return of the episodes it ended; NaN if it ended none."""
    compliance: float
    seconds: float
    """Seconds of work of this training so far."""

    @property
    def known(self) -> bool:
        """Tell whether an episode ended, so that there is something to compare."""
        return math.isfinite(self.score) and math.isfinite(self.compliance)


@dataclass(frozen=True)
class LearningCurve:
    """The training of one order in one search."""

    order: tuple[int, ...]
    points: tuple[TrainingPoint, ...]
    steps: Reach
    """Steps until it followed the order well enough; a training that was given up never does."""
    seconds: Reach
    horizon: int
    """Up to how many steps it is known whether it did: its whole budget if it was given up."""
    settled: bool = False
    """Whether it ended before its budget: it followed the order, or was given up."""

    def at(self, steps: int) -> TrainingPoint | None:
        """Return what it had reached by then; a training that ended before keeps its last."""
        known = [p for p in self.points if p.steps <= steps and p.known]
        return known[-1] if known else None


@dataclass(frozen=True)
class LearningRun:
    """One search."""

    path: Path
    seed: int
    group: Group
    """What learned. Runs of one side that differ in their seeds only have the same group."""
    workload: Mapping[str, Any]
    """What is to be learned; equal on both sides of a comparison."""
    settings: Mapping[str, Any]
    """How it was learned; may differ."""
    machine: Mapping[str, Any]
    trainings: tuple[LearningCurve, ...]
    best: tuple[tuple[int, float], ...]
    """Steps of the whole search, and the score of the best order by then."""
    steps: int
    """Of the whole search."""
    finished: bool


def load_learning_runs(paths: Iterable[Path]) -> list[LearningRun]:
    """Read every search in these directories; of a matrix all its searches."""
    return [learning_run(search) for path in paths for search in read_searches(path)]


def settings_of(config: StoredConfig) -> dict[str, Any]:
    """Return how a search learned, which may differ between runs that are compared."""
    fixed = {*task_of(config), *KINDS, "seed", "seeds"}
    return {name: value for name, value in config.settings.items() if name not in fixed}


def learning_run(search: RecordedSearch) -> LearningRun:
    """Return what the trainings of a search learned.

    Raises NotComparableError if none of them has ended, or if it trains all orders at once.
    """
    config = search.config
    if search.joint:
        raise NotComparableError(
            f"{search.path} trained one policy for all orders, so it has no training of each order "
            "to compare; use --training per-order here, or compare joint runs with `wfbench "
            "compare`"
        )
    if config.smoke:
        raise NotComparableError(f"{search.path} is a smoke run, too short to learn anything")
    trainings = tuple(_curves(search))
    if not trainings:
        raise NotComparableError(f"no training of {search.path} has come to its end")
    return LearningRun(
        path=search.path,
        seed=int(config.settings["seed"]),
        group=tuple(config.label(kind) for kind in KINDS),
        workload=task_of(config),
        settings=settings_of(config),
        machine=search.machine,
        trainings=trainings,
        best=tuple(
            (entry.env_steps_spent, best.score)
            for entry, best in search.best_so_far()
            if best is not None and entry.event is best
        ),
        steps=search.env_steps,
        finished=search.complete,
    )


def _curves(search: RecordedSearch) -> Iterable[LearningCurve]:
    points: list[TrainingPoint] = []
    budget, seconds = 0, 0.0
    for entry in search.entries:
        event = entry.event
        if isinstance(event, WorkflowStarted):
            points, budget, seconds = [], event.budget_steps, 0.0
        elif isinstance(event, UpdateFinished):
            seconds += sum(entry.time.work.values())
            points.append(
                TrainingPoint(event.env_steps, event.env_return, event.compliance, seconds)
            )
        elif isinstance(event, WorkflowFinished):
            yield _curve(event, points, budget)


def _curve(event: WorkflowFinished, points: list[TrainingPoint], budget: int) -> LearningCurve:
    when, given_up = event.steps_to_compliance, event.status == HOPELESS
    total = points[-1].seconds if points else 0.0
    if when is not None:
        steps = Reach(float(when), reached=True)
        seconds = Reach(next((p.seconds for p in points if p.steps >= when), total), reached=True)
    else:
        steps = Reach(math.inf if given_up else float(event.env_steps), reached=False)
        seconds = Reach(math.inf if given_up else total, reached=False)
    return LearningCurve(
        order=event.order,
        points=tuple(points),
        steps=steps,
        seconds=seconds,
        horizon=budget if given_up else event.env_steps,
        settled=given_up or event.reason == THRESHOLD,
    )
