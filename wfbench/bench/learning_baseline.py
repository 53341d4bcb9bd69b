"""What searches are remembered by: return and compliance after a fixed number of steps.

Seeds are the samples here: a search with a seed is compared with a search with the same seed. One
that runs the same code is the same search, so nothing but a change of the code moves it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from wfbench import __version__
from wfbench.contract import NotComparableError

from .comparison import Comparison, Learned
from .comparison_search import Margins, compare_learning
from .learning import NonInferiority
from .learning_runs import LearningRun, Training
from .verdicts import Verdict

SCHEMA = "learning-baseline/1"

VERDICTS = {
    NonInferiority.INFERIOR: Verdict.REGRESSED,
    NonInferiority.NON_INFERIOR: Verdict.NO_CHANGE,
    NonInferiority.UNDECIDED: Verdict.INCONCLUSIVE,
}


@dataclass(frozen=True)
class LearningBaseline:
    """Searches to compare later ones with."""

    name: str
    created: str
    steps: int
    """Environment steps of each training after which it is compared."""
    margins: Margins
    """How much worse a new one may be and still be good enough."""
    runs: tuple[LearningRun, ...]
    wfbench: str = __version__


def make_learning_baseline(
    runs: Sequence[LearningRun],
    name: str,
    *,
    created: str,
    margins: Margins,
    steps: int | None = None,
) -> LearningBaseline:
    """The baseline of finished searches that learned the same thing."""
    for run in runs:
        if not run.finished:
            raise NotComparableError(f"{run.path} is not finished; go on with --resume first")
    shortest = min(runs, key=_longest)
    limit = steps or _longest(shortest)
    if limit > _longest(shortest):
        raise NotComparableError(
            f"the longest training of {shortest.path} has {_longest(shortest):,} steps, "
            f"not {limit:,}"
        )
    kept = tuple(_thinned(run, limit) for run in runs)
    found = LearningBaseline(name, created, limit, margins, kept)
    # Whatever keeps runs from being compared with themselves would keep all others, too.
    compare_with(found, kept, "itself")
    return found


def compare_with(baseline: LearningBaseline, runs: Sequence[LearningRun], where: str) -> Comparison:
    """New searches beside those of the baseline, paired by seed."""
    return compare_learning(
        baseline.runs,
        runs,
        steps=baseline.steps,
        margins=baseline.margins,
        names=((f"baseline {baseline.name}",), (where,)),
    )


def learning_verdict(learned: Learned) -> Verdict:
    """What gates: whether something is surely worse than the margin allows."""
    return VERDICTS[learned.non_inferiority]


def as_json(baseline: LearningBaseline) -> dict[str, Any]:
    """The baseline as JSON values; what is not finite becomes null."""
    values = asdict(baseline)
    for run in values["runs"]:
        run["path"] = str(run["path"])
    return values


def from_json(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values that `as_json` gave, with the numbers that JSON has no word for."""
    found = dict(values)
    for run in _mappings(found.get("runs")):
        for training in _mappings(run.get("trainings")):
            for reach in _mappings([training.get("steps"), training.get("seconds")]):
                _fill(reach, ("at",), math.inf)
            for point in _mappings(training.get("points")):
                _fill(point, ("score", "compliance"), math.nan)
    return found


def _mappings(values: Any) -> list[dict[str, Any]]:
    listed = values if isinstance(values, list) else []
    return [value for value in listed if isinstance(value, dict)]


def _fill(values: dict[str, Any], names: Sequence[str], number: float) -> None:
    for name in names:
        if name in values and values[name] is None:
            values[name] = number


def _thinned(run: LearningRun, steps: int) -> LearningRun:
    return replace(run, trainings=tuple(_around(training, steps) for training in run.trainings))


def _around(training: Training, steps: int) -> Training:
    """Only what says how far it was after so many steps, and that it went so far."""
    before = [p for p in training.points if p.steps <= steps and p.known][-1:]
    after = [p for p in training.points if p.steps >= steps][:1]
    points = sorted({p.steps: p for p in (*before, *after)}.items())
    return replace(training, points=tuple(point for _, point in points))


def _longest(run: LearningRun) -> int:
    return max((t.points[-1].steps for t in run.trainings if t.points), default=0)
