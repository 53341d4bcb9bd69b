"""Searches as they were recorded: what each training had reached after how many steps."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wfbench.contract import NotComparableError, UsageError
from wfbench.store.event_log import Values, read_events
from wfbench.store.files import read_json
from wfbench.store.places import MATRIX_FILE
from wfbench.store.run import read_config

from .learning import Reach

_SETTINGS = ("red", "definition", "no_fix", "threshold", "score", "stop")
"""Settings that decide what is to be learned and what counts, not how."""

_KINDS = ("collector", "trainer", "searcher")

Group = tuple[str, ...]
"""The labels of collector, trainer and searcher."""


@dataclass(frozen=True)
class Point:
    """One rollout of a training."""

    steps: int
    """Environment steps of this training so far."""
    score: float
    """Mean environment return of the episodes it ended; NaN if it ended none."""
    compliance: float
    seconds: float
    """Seconds of work of this training so far."""

    @property
    def known(self) -> bool:
        """Whether an episode ended, so that there is something to compare."""
        return math.isfinite(self.score) and math.isfinite(self.compliance)


@dataclass(frozen=True)
class Training:
    """One order of one search."""

    order: tuple[int, ...]
    points: tuple[Point, ...]
    steps: Reach
    """When it followed the order as well as it should, in steps; given up counts as never."""
    seconds: Reach
    horizon: int
    """Up to how many steps it is known whether it did: its whole budget if it was given up."""

    def at(self, steps: int) -> Point | None:
        """What it had reached by then; a training that ended before keeps its last."""
        known = [p for p in self.points if p.steps <= steps and p.known]
        return known[-1] if known else None


@dataclass(frozen=True)
class LearningRun:
    """One search."""

    path: Path
    seed: int
    group: Group
    """What learned: runs of one side that differ only in their seeds are alike in it."""
    workload: Mapping[str, Any]
    """What is to be learned; equal on both sides of a comparison."""
    settings: Mapping[str, Any]
    """How it was learned; what may differ."""
    machine: Mapping[str, Any]
    trainings: tuple[Training, ...]
    best: tuple[tuple[int, float], ...]
    """Steps of the whole search, and the score of the best order by then."""
    steps: int
    """Of the whole search."""
    finished: bool


def load_learning_runs(paths: Iterable[Path]) -> list[LearningRun]:
    """Every search in these directories; of a matrix all its searches."""
    runs = []
    for path in paths:
        if (path / MATRIX_FILE).exists():
            cells = read_json(path / MATRIX_FILE, "matrix/1")["cells"]
            runs += [load_learning_run(path / str(cell)) for cell in cells]
        else:
            runs.append(load_learning_run(path))
    return runs


def load_learning_run(path: Path) -> LearningRun:
    """One search; NotComparableError if it has trained nothing to the end."""
    config = read_config(path)
    if config["smoke"]:
        raise NotComparableError(f"{path} is a smoke run, too short to learn anything")
    events = read_events(path / "events.jsonl")
    try:
        trainings, best = _trainings(events), _best(events)
        workload = _workload(config)
        group = _group(config)
        seed = int(config["settings"]["seed"])
    except (KeyError, TypeError) as error:
        raise UsageError(f"{path} is not a whole search: {error!r} is missing") from error
    if not trainings:
        raise NotComparableError(f"no training of {path} has come to its end")
    return LearningRun(
        path=path,
        seed=seed,
        group=group,
        workload=workload,
        settings=_free_settings(config["settings"]),
        machine=read_json(path / "machine.json", "machine/1"),
        trainings=trainings,
        best=best,
        steps=int(events[-1]["ledger"]),
        finished=events[-1]["event"] == "run-finished",
    )


def _group(config: Mapping[str, Any]) -> Group:
    plugins = config["plugins"]
    return tuple(str(plugins[kind]["label"]) for kind in _KINDS)


def _workload(config: Mapping[str, Any]) -> dict[str, Any]:
    env = config["plugins"]["env"]
    settings = {name: config["settings"][name] for name in _SETTINGS}
    options = {f"env option {name}": value for name, value in env["options"].items()}
    return {
        "env": env["name"],
        **options,
        **settings,
        "definition": config["definition"],
        "units": ", ".join(config["units"]),
        "episode steps": config["episode_steps"],
    }


def _free_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    told = {*_SETTINGS, *_KINDS, "env", "seed", "seeds"}
    return {name: value for name, value in settings.items() if name not in told}


def _trainings(events: Iterable[Values]) -> tuple[Training, ...]:
    points: dict[int, list[Point]] = {}
    budgets: dict[int, int] = {}
    found = []
    for event in events:
        if event["event"] == "workflow-started":
            points[event["workflow"]] = []
            budgets[event["workflow"]] = int(event["budget_steps"])
        elif event["event"] == "update":
            mine = points[event["workflow"]]
            before = mine[-1].seconds if mine else 0.0
            seconds = before + float(event["time"]["wall"])
            mine.append(
                Point(
                    steps=int(event["env_steps"]),
                    score=_number(event["return"]),
                    compliance=_number(event["compliance"]),
                    seconds=seconds,
                )
            )
        elif event["event"] == "workflow-finished":
            number = event["workflow"]
            found.append(_training(event, points[number], budgets[number]))
    return tuple(found)


def _training(event: Values, points: list[Point], budget: int) -> Training:
    when, spent = event["steps_to_compliance"], int(event["env_steps"])
    given_up = event["status"] == "hopeless"
    total = points[-1].seconds if points else 0.0
    if when is not None:
        steps = Reach(float(when), reached=True)
        seconds = Reach(next((p.seconds for p in points if p.steps >= when), total), reached=True)
    else:
        steps = Reach(math.inf if given_up else float(spent), reached=False)
        seconds = Reach(math.inf if given_up else total, reached=False)
    return Training(
        order=tuple(event["permutation"]),
        points=tuple(points),
        steps=steps,
        seconds=seconds,
        horizon=budget if given_up else spent,
    )


def _best(events: Iterable[Values]) -> tuple[tuple[int, float], ...]:
    """Compliant before not, then by score, as the search itself judges."""
    found: list[tuple[int, float]] = []
    leader = (False, -math.inf)
    for event in events:
        if event["event"] != "workflow-finished" or event["score"] is None:
            continue
        mine = (bool(event["compliant"]), float(event["score"]))
        if event["reason"] != "not-finite" and mine > leader:
            leader = mine
            found.append((int(event["ledger"]), mine[1]))
    return tuple(found)


def _number(value: Any) -> float:
    return math.nan if value is None else float(value)
