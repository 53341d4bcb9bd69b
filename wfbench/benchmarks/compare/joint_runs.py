"""Compare joint runs: mean return over all orders, and right choices. Trainings are the samples."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wfbench.benchmarks.compare.learning_runs import KINDS, Group, settings_of
from wfbench.benchmarks.compare.model import (
    Cell,
    Comparison,
    Criteria,
    difference_cell,
    differences,
    power_note,
    require_same_task,
    settle,
)
from wfbench.benchmarks.compare.searches import Margins, group_name, matched_groups
from wfbench.benchmarks.statistics.intervals import mean_estimate
from wfbench.contract import NotComparableError, Order, UsageError
from wfbench.search.answer import share_interval
from wfbench.search.history import RecordedSearch
from wfbench.search.same_work import task_of
from wfbench.store.events import JOINT
from wfbench.store.sweeps import NORMAL, Sweep

Key = tuple[int, int]
"""The seed of a run and the number of the joint training in it. They decide the env seeds that a
policy is evaluated on."""


@dataclass(frozen=True)
class JointTraining:
    """One joint policy, evaluated under every order."""

    orders: tuple[Order, ...]
    by_seed: NDArray[np.float64]
    """Return on every env seed, mean over orders."""
    right: float | None
    """Share of the choices that follow the order."""

    @classmethod
    def of(cls, sweep: Sweep) -> JointTraining:
        """Summarise the evaluation of a joint policy."""
        share, *_ = share_interval(sweep.right.reshape(-1), sweep.choices.reshape(-1))
        return cls(sweep.orders, np.asarray(sweep.env_return.mean(axis=0)), share)

    @property
    def mean_return(self) -> float:
        """Return the mean over orders and env seeds."""
        return float(self.by_seed.mean())


Side = dict[Group, dict[Key, JointTraining]]


def compare_joint(
    old: Sequence[RecordedSearch],
    new: Sequence[RecordedSearch],
    *,
    names: Sequence[tuple[str, ...]],
    margins: Margins,
    criteria: Criteria,
) -> Comparison:
    """Compare joint runs; trainings are paired where both sides have the same seeds.

    Raises NotComparableError if the tasks differ.
    """
    for search in (*old, *new):
        if search.config.smoke:
            raise NotComparableError(f"{search.path} is a smoke run, too short to learn anything")
    require_same_task((search.path, task_of(search.config)) for search in (*old, *new))
    sides = _trainings(old), _trainings(new)
    groups, notes = matched_groups(*sides)
    cells, bases = [], set()
    for first, second in groups:
        name, then, now = group_name(first, second), sides[0][first], sides[1][second]
        paired = then.keys() == now.keys() and all(
            len(then[key].by_seed) == len(now[key].by_seed) for key in then
        )
        bases.add("paired by seed" if paired else "not paired, since seeds or episodes differ")
        cells += list(_cells(name, then, now, margins, paired=paired))
        notes += list(_about_policies(name, then, now)) if paired else []
    settled = settle(cells, criteria)
    return Comparison(
        kind="search",
        old=names[0],
        new=names[1],
        basis=f"joint trainings, mean over all orders, new - old, {'; '.join(sorted(bases))}",
        cells=settled,
        criteria=criteria,
        notes=(*notes, *_settings_notes(old[0], new[0]), *power_note(settled, criteria), _SAMPLES),
    )


_SAMPLES = "every joint training is one sample; runs made with --seeds N have N of them"


def _trainings(searches: Sequence[RecordedSearch]) -> Side:
    """Return the joint trainings of one side by group and seed."""
    found: Side = {}
    for search in searches:
        group = tuple(search.config.label(kind) for kind in KINDS)
        mine, seed = found.setdefault(group, {}), int(search.config.settings["seed"])
        findings = search.findings
        pairs = () if findings is None else findings.trainings
        swept = {result.workflow: sweeps for result, sweeps in pairs if result.stage == JOINT}
        if not any(NORMAL in sweeps for sweeps in swept.values()):
            raise NotComparableError(f"no joint training of {search.path} has come to its end")
        for number, sweeps in swept.items():
            if (seed, number) in mine:
                raise UsageError(
                    f"{search.path} and another run of its side have seed {seed}; a side may have "
                    "each seed once"
                )
            if NORMAL in sweeps:
                mine[seed, number] = JointTraining.of(sweeps[NORMAL])
    return found


def _cells(
    name: str,
    then: Mapping[Key, JointTraining],
    now: Mapping[Key, JointTraining],
    margins: Margins,
    *,
    paired: bool,
) -> Iterator[Cell]:
    old, new = list(then.values()), [now[key] for key in (then if paired else now)]
    if len({one.orders for one in (*old, *new)}) > 1:
        raise NotComparableError(f"{name}: the joint policies were evaluated under other orders")
    before, after = ([one.mean_return for one in side] for side in (old, new))
    margin = margins.of_return(math.fsum(before) / len(before))
    yield difference_cell(name, "mean return over orders", before, after, margin, paired=paired)
    before, after = ([o.right for o in side if o.right is not None] for side in (old, new))
    if len(before) == len(old) and len(after) == len(new):
        yield difference_cell(
            name, "right choices", before, after, margins.compliance, paired=paired
        )


def _about_policies(
    name: str, then: Mapping[Key, JointTraining], now: Mapping[Key, JointTraining]
) -> Iterator[str]:
    """Say how far these very policies lie apart, which the same env seeds tell exactly."""
    apart = np.mean([now[key].by_seed - then[key].by_seed for key in then], axis=0)
    if len(apart) > 1 and apart.any():
        found = mean_estimate(apart.tolist())
        yield (
            f"{name}: on the same env seeds these very policies differ by {found.value:+.2f} "
            f"points ({found.low:+.2f} to {found.high:+.2f}); other trainings may differ otherwise"
        )


def _settings_notes(old: RecordedSearch, new: RecordedSearch) -> Iterator[str]:
    for search in (old, new):
        if not search.complete:
            yield f"{search.path} is not finished; only complete trainings are used"
    yield from differences("", settings_of(old.config), settings_of(new.config))
