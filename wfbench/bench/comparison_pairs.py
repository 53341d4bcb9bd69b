"""Which searches of two sides belong together: the same task, alike in kind, of the same seed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from wfbench.contract import NotComparableError, UsageError

from .learning_runs import Group, LearningRun


@dataclass(frozen=True)
class Pairs:
    """The runs of one group on both sides, seed by seed."""

    name: str
    old: tuple[LearningRun, ...]
    new: tuple[LearningRun, ...]

    @property
    def sides(self) -> tuple[tuple[LearningRun, ...], tuple[LearningRun, ...]]:
        """Old and new."""
        return self.old, self.new


def refuse_different_tasks(first: LearningRun, runs: Sequence[LearningRun]) -> None:
    """NotComparableError that names what differs, unless all learned the same thing."""
    for run in runs:
        names = dict.fromkeys((*first.workload, *run.workload))
        differing = [
            f"{name} {first.workload.get(name, 'absent')} / {run.workload.get(name, 'absent')}"
            for name in names
            if first.workload.get(name) != run.workload.get(name)
        ]
        if differing:
            raise NotComparableError(
                f"{first.path} and {run.path} learned different things: {'; '.join(differing)}"
            )


def paired_runs(
    old: Sequence[LearningRun], new: Sequence[LearningRun]
) -> tuple[list[Pairs], list[str]]:
    """The groups of both sides and their common seeds; and what has no partner."""
    groups = _grouped(old), _grouped(new)
    names = [(group, group) for group in groups[0] if group in groups[1]]
    if len(groups[0]) == len(groups[1]) == 1:
        names = [(next(iter(groups[0])), next(iter(groups[1])))]
    notes = [f"only old has {_named(g, g)}" for g in groups[0] if g not in {a for a, _ in names}]
    notes += [f"only new has {_named(g, g)}" for g in groups[1] if g not in {b for _, b in names}]
    pairs = []
    for first, second in names:
        sides = groups[0][first], groups[1][second]
        seeds = sorted(sides[0].keys() & sides[1].keys())
        name = _named(first, second)
        if not seeds:
            raise NotComparableError(
                f"{name}: no seed was run on both sides; pairs need equal seeds"
            )
        apart = sorted(sides[0].keys() ^ sides[1].keys())
        if apart:
            notes.append(f"{name}: seeds {', '.join(map(str, apart))} have no partner")
        pairs.append(Pairs(name, *(tuple(side[seed] for seed in seeds) for side in sides)))
    if not pairs:
        raise NotComparableError(f"no search was run on both sides: {'; '.join(notes)}")
    return pairs, notes


def _named(old: Group, new: Group) -> str:
    """What both are, or only what differs."""
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
        _refuse_mixture(next(iter(mine.values()), run), run)
        mine[run.seed] = run
    return found


def _refuse_mixture(first: LearningRun, run: LearningRun) -> None:
    for name, value in first.settings.items():
        if run.settings.get(name) != value:
            raise NotComparableError(
                f"{first.path} has {name} {value}, {run.path} has {run.settings.get(name)}; runs "
                "of one side may differ in their seeds only"
            )
