"""Searches side by side: what was learned after equally many steps, and how soon."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from wfbench.contract import NotComparableError

from .comparison import Cell, Comparison, Criteria, Learned, power_note, settle
from .comparison_pairs import Pairs, paired_runs, refuse_different_tasks
from .learning import (
    Reach,
    improvement_probability,
    iqm,
    iqm_estimate,
    non_inferiority,
    time_to_threshold,
)
from .learning_runs import LearningRun, Training, load_learning_runs
from .statistics import log_ratios, mean_estimate, permutation_test, ratio_estimate

_SHARE = 0.05
"""Of the old return: the margin where none is given."""


@dataclass(frozen=True)
class Margins:
    """How much worse something new may be and still be good enough."""

    returns: float | None = None
    """None: 5 % of the old return."""
    compliance: float = 0.05


def compare_searches(
    old: Sequence[Path],
    new: Sequence[Path],
    *,
    steps: int | None = None,
    margins: Margins | None = None,
    criteria: Criteria | None = None,
) -> Comparison:
    """Every group of searches that both sides have; NotComparableError if the tasks differ."""
    return compare_learning(
        load_learning_runs(old),
        load_learning_runs(new),
        steps=steps,
        margins=margins,
        criteria=criteria,
        names=(tuple(map(str, old)), tuple(map(str, new))),
    )


def compare_learning(
    old: Sequence[LearningRun],
    new: Sequence[LearningRun],
    *,
    names: tuple[tuple[str, ...], tuple[str, ...]],
    steps: int | None = None,
    margins: Margins | None = None,
    criteria: Criteria | None = None,
) -> Comparison:
    """The same for searches that are loaded; `names` say where each side is from."""
    criteria, margins = criteria or Criteria(), margins or Margins()
    sides = old, new
    refuse_different_tasks(sides[0][0], [*sides[0], *sides[1]])
    pairs, notes = paired_runs(*sides)
    limit = _equal_steps([*sides[0], *sides[1]], steps)
    cells, learned = [], []
    for one in pairs:
        margin = _margin(one, limit, margins)
        cells += [
            _difference(one, "return", limit, margin),
            _difference(one, "compliance", limit, margins.compliance),
            _steps_cell(one),
            *_best_cells(one, margin),
        ]
        learned += [_learned(one, metric, limit) for metric in ("return", "compliance")]
    settled = settle(cells, criteria)
    found = {(cell.name, cell.metric): cell for cell in settled}
    note = power_note(settled, criteria)
    return Comparison(
        kind="search",
        old=names[0],
        new=names[1],
        basis=f"after {limit:,} environment steps of each training, new - old, paired by seed",
        cells=settled,
        criteria=criteria,
        notes=(*notes, *_settings_notes(*sides), *([note] if note else [])),
        learned=tuple(_with_margin(one, found[one.name, one.metric]) for one in learned),
    )


def _equal_steps(runs: Sequence[LearningRun], wanted: int | None) -> int:
    """As many steps as every run gave its longest training, or as many as are wanted."""
    shortest = min(runs, key=_longest)
    if wanted is not None and wanted > _longest(shortest):
        raise NotComparableError(
            f"the longest training of {shortest.path} has {_longest(shortest):,} steps, which is "
            f"less than {wanted:,}"
        )
    return wanted or _longest(shortest)


def _longest(run: LearningRun) -> int:
    return max((t.points[-1].steps for t in run.trainings if t.points), default=0)


def _scores(run: LearningRun, metric: str, steps: int) -> list[float]:
    """Of every training of a run that had ended an episode by then."""
    points = [point for training in run.trainings if (point := training.at(steps)) is not None]
    if not points:
        raise NotComparableError(f"no training of {run.path} had ended an episode by {steps} steps")
    return [point.score if metric == "return" else point.compliance for point in points]


def _means(runs: Sequence[LearningRun], metric: str, steps: int) -> list[float]:
    return [math.fsum(found) / len(found) for found in (_scores(r, metric, steps) for r in runs)]


def _margin(pairs: Pairs, steps: int, margins: Margins) -> float:
    if margins.returns is not None:
        return margins.returns
    return _SHARE * abs(iqm(_means(pairs.old, "return", steps)))


def _difference(pairs: Pairs, metric: str, steps: int, margin: float) -> Cell:
    old, new = (_means(side, metric, steps) for side in pairs.sides)
    return _difference_cell(pairs.name, metric, old, new, margin)


def _difference_cell(
    name: str, metric: str, old: Sequence[float], new: Sequence[float], margin: float
) -> Cell:
    apart = [b - a for a, b in zip(old, new, strict=True)]
    return Cell(
        name=name,
        metric=metric,
        scale="difference",
        samples=(len(old), len(new)),
        old=mean_estimate(old),
        new=mean_estimate(new),
        effect=mean_estimate(apart),
        margin=margin,
        test=permutation_test(apart),
    )


def _steps_cell(pairs: Pairs) -> Cell:
    """Steps until the order is followed, none counted beyond what every training could show."""
    cell = Cell(
        name=pairs.name,
        metric="steps to compliance",
        scale="ratio",
        samples=(len(pairs.old), len(pairs.new)),
        higher_is_better=False,
    )
    trainings = [t for side in pairs.sides for run in side for t in run.trainings]
    if not any(training.steps.reached for training in trainings):
        return replace(cell, reason="no training reached the threshold on either side")
    censored = [training.horizon for training in trainings if not training.steps.reached]
    limit = min(censored, default=math.inf)
    old, new = ([_restricted(run, limit) for run in side] for side in pairs.sides)
    return replace(
        cell,
        old=mean_estimate(old),
        new=mean_estimate(new),
        effect=ratio_estimate(new, old),
        test=permutation_test(log_ratios(new, old)),
        reason=f"counted up to {limit:,.0f}, where some had not reached it" if censored else "",
    )


def _restricted(run: LearningRun, limit: float) -> float:
    """The geometric mean of the steps of a run's trainings, each at most the limit."""
    logs = [math.log(min(training.steps.at, limit)) for training in run.trainings]
    return math.exp(math.fsum(logs) / len(logs))


def _best_cells(pairs: Pairs, margin: float) -> Iterator[Cell]:
    """The best order after equally many steps of the whole search, where it had a choice."""
    runs = (*pairs.old, *pairs.new)
    if any(len(run.trainings) < 2 for run in runs):
        return
    cell = Cell(pairs.name, "best score", "difference", (len(pairs.old), len(pairs.new)))
    steps = min(run.steps for run in runs)
    if not all(run.best and run.best[0][0] <= steps for run in runs):
        yield replace(cell, reason=f"a search had no order with a score after {steps:,} steps")
        return
    old, new = (
        [[score for at, score in run.best if at <= steps][-1] for run in side]
        for side in pairs.sides
    )
    found = _difference_cell(pairs.name, "best score", old, new, margin)
    yield replace(found, reason=f"after {steps:,} steps of the whole search")


def _learned(pairs: Pairs, metric: str, steps: int) -> Learned:
    old, new = (_strata(pairs, side, metric, steps) for side in pairs.sides)
    times = [[t for run in side for t in run.trainings] for side in pairs.sides]
    machines = {str(run.machine.get("cpu")) for side in pairs.sides for run in side}
    return Learned(
        name=pairs.name,
        metric=metric,
        steps=steps,
        tasks=len(old),
        old=iqm_estimate(old),
        new=iqm_estimate(new),
        improvement=improvement_probability(new, old),
        old_steps=time_to_threshold(_reaches(times[0], "steps")),
        new_steps=time_to_threshold(_reaches(times[1], "steps")),
        old_seconds=time_to_threshold(_reaches(times[0], "seconds")),
        new_seconds=time_to_threshold(_reaches(times[1], "seconds")),
        same_machine=len(machines) == 1,
    )


def _reaches(trainings: Sequence[Training], unit: str) -> list[Reach]:
    return [t.steps if unit == "steps" else t.seconds for t in trainings]


def _strata(
    pairs: Pairs, side: Sequence[LearningRun], metric: str, steps: int
) -> list[list[float]]:
    """Scores by order where all runs trained the same orders once, else one mean per run."""
    orders = [[t.order for t in run.trainings] for run in (*pairs.old, *pairs.new)]
    same = all(sorted(one) == sorted(set(orders[0])) for one in orders)
    if not same or any(t.at(steps) is None for run in side for t in run.trainings):
        return [_means(side, metric, steps)]
    tables = [_by_order(run, metric, steps) for run in side]
    return [[table[order] for table in tables] for order in sorted(set(orders[0]))]


def _by_order(run: LearningRun, metric: str, steps: int) -> Mapping[tuple[int, ...], float]:
    scores = _scores(run, metric, steps)
    return {t.order: score for t, score in zip(run.trainings, scores, strict=True)}


def _with_margin(learned: Learned, cell: Cell) -> Learned:
    if cell.effect is None or cell.margin is None:
        return learned
    return replace(
        learned, margin=cell.margin, non_inferiority=non_inferiority(cell.effect, cell.margin)
    )


def _settings_notes(old: Sequence[LearningRun], new: Sequence[LearningRun]) -> Iterator[str]:
    for word, side in (("old", old), ("new", new)):
        unfinished = [str(run.path) for run in side if not run.finished]
        if unfinished:
            yield f"not finished in {word}: {', '.join(unfinished)}; its whole trainings are used"
    for name in old[0].settings:
        first = sorted({str(run.settings.get(name)) for run in old})
        second = sorted({str(run.settings.get(name)) for run in new})
        if first != second:
            yield f"{name}: {', '.join(first)} / {', '.join(second)}"
