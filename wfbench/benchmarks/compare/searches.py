"""Compare searches: what they learned after equally many steps, and how soon."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from wfbench.benchmarks.compare.learning_runs import Group, LearningRun
from wfbench.benchmarks.compare.model import (
    Cell,
    Comparison,
    Criteria,
    Learned,
    difference_cell,
    power_note,
    require_same_task,
    settle,
)
from wfbench.benchmarks.statistics.intervals import (
    log_ratios,
    mean_estimate,
    permutation_test,
    ratio_estimate,
    unpaired_permutation_test,
    unpaired_ratio_estimate,
)
from wfbench.benchmarks.statistics.learning import (
    improvement_probability,
    iqm,
    iqm_estimate,
    non_inferiority,
    time_to_threshold,
)
from wfbench.contract import NotComparableError, UsageError

MARGIN_SHARE = 0.05
"""Default margin, as a share of the old return."""


@dataclass(frozen=True)
class Margins:
    """How much worse a new search may be and still be good enough."""

    returns: float | None = None
    """None: 5 % of the old return."""
    compliance: float = 0.05

    def of_return(self, old: float) -> float:
        """Return the margin of a return that was `old`."""
        return MARGIN_SHARE * abs(old) if self.returns is None else self.returns


class _Pairs(NamedTuple):
    """The runs of one group on both sides, in the sequence of their common seeds if paired."""

    name: str
    sides: list[list[LearningRun]]
    """Old and new."""
    paired: bool

    @property
    def runs(self) -> list[LearningRun]:
        """Of both sides."""
        return [run for side in self.sides for run in side]


def compare_learning(
    old: Sequence[LearningRun],
    new: Sequence[LearningRun],
    *,
    names: Sequence[tuple[str, ...]],
    steps: int | None = None,
    margins: Margins | None = None,
    criteria: Criteria | None = None,
) -> Comparison:
    """Compare searches; `names` says where each side comes from.

    Raises NotComparableError if the tasks differ.
    """
    criteria, margins = criteria or Criteria(), margins or Margins()
    require_same_task((run.path, run.workload) for run in (*old, *new))
    pairs, notes = _paired_runs(old, new)
    limit = equal_steps([*old, *new], steps)
    cells, learned = [], []
    for one in pairs:
        margin = margins.of_return(iqm(_means(one.sides[0], "return", limit)))
        for metric, least in (("return", margin), ("compliance", margins.compliance)):
            then, now = (_means(side, metric, limit) for side in one.sides)
            cells.append(difference_cell(one.name, metric, then, now, least, paired=one.paired))
            learned.append(_learned(one, cells[-1], limit))
        cells += [_steps_cell(one), *_best_cells(one, margin)]
    settled = settle(cells, criteria)
    return Comparison(
        kind="search",
        old=names[0],
        new=names[1],
        basis=f"after {limit:,} environment steps of each training, new - old, {_pairing(pairs)}",
        cells=settled,
        criteria=criteria,
        notes=(*notes, *_settings_notes(old, new), *power_note(settled, criteria)),
        learned=tuple(learned),
    )


def equal_steps(runs: Sequence[LearningRun], wanted: int | None) -> int:
    """Return the steps that every run gave its longest training, or those that are wanted.

    A run whose trainings all ended before their budget may have fewer: each keeps its last.
    """
    shortest = min(runs, key=_longest)
    going_on = [run for run in runs if not all(t.settled for t in run.trainings)]
    if wanted is not None and any(wanted > _longest(run) for run in going_on):
        shortest = min(going_on, key=_longest)
        raise NotComparableError(
            f"the longest training of {shortest.path} has {_longest(shortest):,} steps, which is "
            f"less than {wanted:,}"
        )
    return wanted or _longest(shortest)


def _paired_runs(
    old: Sequence[LearningRun], new: Sequence[LearningRun]
) -> tuple[list[_Pairs], list[str]]:
    """Return the pairs of each group, and notes on what has no partner."""
    groups = _grouped(old), _grouped(new)
    names, notes = matched_groups(*groups)
    pairs = []
    for first, second in names:
        sides = groups[0][first], groups[1][second]
        seeds = sorted(sides[0].keys() & sides[1].keys())
        name = group_name(first, second)
        apart = sorted(sides[0].keys() ^ sides[1].keys())
        if seeds and apart:
            notes.append(f"{name}: seeds {', '.join(map(str, apart))} have no partner")
        chosen = [[side[seed] for seed in seeds or side] for side in sides]
        pairs.append(_Pairs(name, chosen, paired=bool(seeds)))
    return pairs, notes


def _pairing(pairs: Sequence[_Pairs]) -> str:
    alone = [one.name for one in pairs if not one.paired]
    if not alone:
        return "paired by seed"
    of = "" if len(alone) == len(pairs) else f" of {'; '.join(alone)}"
    return f"not paired, since the seeds{of} differ"


def matched_groups(
    old: Collection[Group], new: Collection[Group]
) -> tuple[list[tuple[Group, Group]], list[str]]:
    """Return which group of the old side belongs to which of the new, and notes on the others.

    A single group on each side belong together, whatever they are.
    """
    names = [(group, group) for group in old if group in new]
    if len(old) == len(new) == 1:
        names = [(next(iter(old)), next(iter(new)))]
    notes = [f"only old has {group_name(g, g)}" for g in old if g not in {a for a, _ in names}]
    notes += [f"only new has {group_name(g, g)}" for g in new if g not in {b for _, b in names}]
    if not names:
        raise NotComparableError(f"no search was run on both sides: {'; '.join(notes)}")
    return names, notes


def group_name(old: Group, new: Group) -> str:
    """Return the name of a group; of two different ones, what differs."""
    if old == new:
        return ", ".join(old)
    return ", ".join(f"{a} -> {b}" for a, b in zip(old, new, strict=True) if a != b)


def _grouped(runs: Sequence[LearningRun]) -> dict[Group, dict[int, LearningRun]]:
    found: dict[Group, dict[int, LearningRun]] = {}
    for run in runs:
        mine = found.setdefault(run.group, {})
        if run.seed in mine:
            raise UsageError(
                f"{mine[run.seed].path} and {run.path} have the same seed on one side; "
                "a pair needs one of them"
            )
        first = next(iter(mine.values()), run)
        for name, value in first.settings.items():
            if run.settings.get(name) != value:
                raise NotComparableError(
                    f"{first.path} has {name} {value}, {run.path} has {run.settings.get(name)}; "
                    "runs of one side may differ in their seeds only"
                )
        mine[run.seed] = run
    return found


def _longest(run: LearningRun) -> int:
    return max((t.points[-1].steps for t in run.trainings if t.points), default=0)


def _scores(run: LearningRun, metric: str, steps: int) -> list[float]:
    """Return the score of every training of a run that had finished an episode by then."""
    points = [point for training in run.trainings if (point := training.at(steps)) is not None]
    if not points:
        raise NotComparableError(f"no training of {run.path} had ended an episode by {steps} steps")
    return [point.score if metric == "return" else point.compliance for point in points]


def _means(runs: Sequence[LearningRun], metric: str, steps: int) -> list[float]:
    return [math.fsum(found) / len(found) for found in (_scores(r, metric, steps) for r in runs)]


def _steps_cell(pairs: _Pairs) -> Cell:
    """Compare the steps until an order is followed, cut off where a training was censored."""
    cell = Cell(
        name=pairs.name,
        metric="steps to compliance",
        scale="ratio",
        samples=(len(pairs.sides[0]), len(pairs.sides[1])),
        higher_is_better=False,
    )
    trainings = [training for run in pairs.runs for training in run.trainings]
    if not any(training.steps.reached for training in trainings):
        return replace(cell, reason="no training reached the threshold on either side")
    censored = [training.horizon for training in trainings if not training.steps.reached]
    limit = min(censored, default=math.inf)
    old, new = ([_restricted(run, limit) for run in side] for side in pairs.sides)
    logs = [[math.log(steps) for steps in side] for side in (new, old)]
    return replace(
        cell,
        old=mean_estimate(old),
        new=mean_estimate(new),
        effect=ratio_estimate(new, old) if pairs.paired else unpaired_ratio_estimate(*logs),
        test=permutation_test(log_ratios(new, old))
        if pairs.paired
        else unpaired_permutation_test(*logs),
        equal=pairs.paired and old == new,
        reason=f"counted up to {limit:,.0f}, where some had not reached it" if censored else "",
    )


def _restricted(run: LearningRun, limit: float) -> float:
    """Return the geometric mean of the steps of a run's trainings, each at most the limit."""
    logs = [math.log(min(training.steps.at, limit)) for training in run.trainings]
    return math.exp(math.fsum(logs) / len(logs))


def _best_cells(pairs: _Pairs, margin: float) -> Iterator[Cell]:
    """Compare the best order after equally many steps of the whole search, if it tried several."""
    if any(len(run.trainings) < 2 for run in pairs.runs):
        return
    steps = min(run.steps for run in pairs.runs)
    if not all(run.best and run.best[0][0] <= steps for run in pairs.runs):
        reason = f"a search had no order with a score after {steps:,} steps"
        counts = len(pairs.sides[0]), len(pairs.sides[1])
        yield Cell(pairs.name, "best score", "difference", counts, reason=reason)
        return
    old, new = (
        [[score for at, score in run.best if at <= steps][-1] for run in side]
        for side in pairs.sides
    )
    found = difference_cell(pairs.name, "best score", old, new, margin, paired=pairs.paired)
    yield replace(found, reason=f"after {steps:,} steps of the whole search")


def _learned(pairs: _Pairs, cell: Cell, steps: int) -> Learned:
    old, new = (_strata(pairs, side, cell.metric, steps) for side in pairs.sides)
    times = [[t for run in side for t in run.trainings] for side in pairs.sides]
    assert cell.effect is not None and cell.margin is not None  # noqa: S101, PT018
    machines = {str(run.machine.get("cpu")) for run in pairs.runs}
    return Learned(
        name=pairs.name,
        metric=cell.metric,
        steps=steps,
        tasks=len(old),
        old=iqm_estimate(old),
        new=iqm_estimate(new),
        improvement=improvement_probability(new, old),
        old_steps=time_to_threshold([t.steps for t in times[0]]),
        new_steps=time_to_threshold([t.steps for t in times[1]]),
        old_seconds=time_to_threshold([t.seconds for t in times[0]]),
        new_seconds=time_to_threshold([t.seconds for t in times[1]]),
        same_machine=len(machines) == 1,
        margin=cell.margin,
        non_inferiority=non_inferiority(cell.effect, cell.margin),
    )


def _strata(
    pairs: _Pairs, side: Sequence[LearningRun], metric: str, steps: int
) -> list[list[float]]:
    """Return scores by order if all runs trained the same orders once, else one mean per run."""
    orders, *others = {tuple(sorted(t.order for t in run.trainings)) for run in pairs.runs}
    same = not others and len(set(orders)) == len(orders)
    if not same or any(t.at(steps) is None for run in side for t in run.trainings):
        return [_means(side, metric, steps)]
    tables = [
        dict(zip([t.order for t in run.trainings], _scores(run, metric, steps), strict=True))
        for run in side
    ]
    return [[table[order] for table in tables] for order in orders]


def _settings_notes(old: Sequence[LearningRun], new: Sequence[LearningRun]) -> Iterator[str]:
    for word, side in (("old", old), ("new", new)):
        unfinished = [str(run.path) for run in side if not run.finished]
        if unfinished:
            names = ", ".join(unfinished)
            yield f"not finished in {word}: {names}; only complete trainings are used"
    for name in old[0].settings:
        first, second = (
            ", ".join(sorted({str(run.settings.get(name)) for run in side})) for side in (old, new)
        )
        if first != second:
            yield f"{name}: {first} / {second}"
