"""Judge whether cases are slower now than in a baseline, and how large a change must be."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import Any

from wfbench.benchmarks.gate.baseline import Baseline, BaselineCell
from wfbench.benchmarks.gate.calibration import Calibration
from wfbench.benchmarks.measure.model import Session
from wfbench.benchmarks.measure.summary import BUSY, max_foreign_cores
from wfbench.benchmarks.statistics.intervals import (
    Estimate,
    Permutation,
    adjusted,
    unpaired_permutation_test,
    unpaired_ratio_estimate,
)
from wfbench.benchmarks.statistics.verdicts import ALPHA, Verdict, judge
from wfbench.contract import UsageError
from wfbench.store.machine import same_machine

DEFAULT_EFFECT = 0.10
"""Minimum effect on a machine that is not calibrated."""
FOREIGN_EFFECT = 0.20
"""Minimum effect against a baseline of another machine, to which ratios carry over roughly."""
QUIET = 0.5
"""If other programs use more cores than this, a slow-down may be their fault."""
HERE = "calibrate this machine with `wfbench calibrate`"
_LEAST_OTHERS = 3
"""Minimum number of other cases whose median shows that the reference itself has changed."""


@dataclass(frozen=True)
class Threshold:
    """What counts as a change."""

    minimum_effect: float = DEFAULT_EFFECT
    alpha: float = ALPHA
    quiet: float | None = None
    """A slow-down is inconclusive if others used more cores than this; None: it always counts."""

    def verdict(self, change: Estimate, test: Permutation) -> Verdict:
        """Return the verdict on a change."""
        return judge(change, test, minimum_effect=self.minimum_effect, alpha=self.alpha)


@dataclass(frozen=True)
class Judgement:
    """One cell, measured again and compared with the baseline."""

    verdict: Verdict
    change: Estimate | None
    """The ratio now over the ratio then; None if there is nothing to compare."""
    p: float | None
    """Adjusted for the number of cells."""
    smallest: float | None
    """The smallest p value that this number of rounds and cells can reach."""
    rounds: int
    suspicious: bool = False
    """Slower before the adjustment: worth measuring again, but not a verdict yet."""


def judge_cells(
    baseline: Baseline,
    now: Sequence[BaselineCell],
    threshold: Threshold,
    only: Sequence[int] | None = None,
) -> dict[int, Judgement]:
    """Return the judgement on each cell, by its index in the baseline.

    `now` holds the same cells in the same sequence. With `only`, the others are not judged and do
    not count for the adjustment. The reference is judged by the median of at least three others.
    """
    pairs = {}
    for index in range(len(now)) if only is None else only:
        then_logs, now_logs = _compared(baseline, now, index)
        if then_logs and now_logs:
            pairs[index] = (then_logs, now_logs)
    tests = [_test(then_logs, now_logs) for then_logs, now_logs in pairs.values()]
    found = {}
    for index, test, final in zip(pairs, tests, adjusted(tests), strict=True):
        then_logs, now_logs = pairs[index]
        change = unpaired_ratio_estimate(
            [math.exp(x) for x in now_logs], [math.exp(x) for x in then_logs]
        )
        found[index] = Judgement(
            threshold.verdict(change, final),
            change,
            final.p,
            final.smallest,
            len(now_logs),
            threshold.verdict(change, test) is Verdict.REGRESSED,
        )
    return found


def choose_threshold(
    baseline: Baseline,
    machine: Mapping[str, Any],
    calibration: Calibration | None,
    given: float | None,
) -> tuple[Threshold, tuple[str, ...]]:
    """Return the threshold, and notes that say where it comes from."""
    if given is not None:
        if not 0 < given < 10:
            raise UsageError(f"--minimum-effect {given:g}: it must be between 0 and 10")
        return Threshold(given), (f"minimum effect {given:.0%}, as asked for",)
    effect, note = _of_this_machine(machine, calibration)
    if same_machine(baseline.machine, machine):
        return Threshold(effect), (note,)
    then, now = _described(baseline.machine), _described(machine)
    foreign = (
        f"the baseline was made on another machine ({then}; here: {now}): the minimum effect is at "
        f"least {FOREIGN_EFFECT:.0%}, and what parallel collectors gain depends on the cores"
    )
    return Threshold(max(effect, FOREIGN_EFFECT)), (note, foreign)


def busy_notes(baseline: Baseline, sessions: Sequence[Session]) -> tuple[str, ...]:
    """Return a note for each measurement that other programs disturbed."""
    notes = []
    if baseline.disturbed:
        notes.append(
            f"the baseline was measured while other programs used {baseline.foreign_cores:.1f} "
            "cores; make it again on a quiet machine"
        )
    now = max((max_foreign_cores(session) or 0.0 for session in sessions), default=0.0)
    if now > BUSY:
        notes.append(
            f"other programs used up to {now:.1f} cores meanwhile; stop them and check again "
            "before you believe a change of a parallel collector"
        )
    return tuple(notes)


def _compared(
    baseline: Baseline, now: Sequence[BaselineCell], index: int
) -> tuple[list[float], list[float]]:
    """Return the log ratios of a cell then and now; none if the reference cannot be judged."""
    cell = baseline.cells[index]
    if not baseline.is_reference(cell):
        return list(cell.log_ratios), list(now[index].log_ratios)
    others = [
        pair
        for pair in zip(baseline.cells, now, strict=True)
        if pair[0].case.n_envs == cell.case.n_envs and not baseline.is_reference(pair[0])
    ]
    if len(others) < _LEAST_OTHERS:
        return [], []
    centres = [fmean(other.log_ratios) for other, _ in others]
    then, current = (_against_others(side, centres) for side in zip(*others, strict=True))
    return then, current


def _against_others(others: Sequence[BaselineCell], centres: Sequence[float]) -> list[float]:
    """Return the reference against the median of the others, for each round they all have."""
    by_round = [dict(zip(cell.rounds, cell.log_ratios, strict=True)) for cell in others]
    common = set.intersection(*(set(ratios) for ratios in by_round))
    return [
        -median(ratios[number] - centre for ratios, centre in zip(by_round, centres, strict=True))
        for number in sorted(common)
    ]


def _test(then_logs: Sequence[float], now_logs: Sequence[float]) -> Permutation:
    if min(len(then_logs), len(now_logs)) < 2:
        return Permutation(1.0, 1.0)
    return unpaired_permutation_test(now_logs, then_logs)


def _of_this_machine(
    machine: Mapping[str, Any], calibration: Calibration | None
) -> tuple[float, str]:
    if calibration is None:
        problem = "this machine is not calibrated"
    elif not same_machine(calibration.machine, machine):
        there = _described(calibration.machine)
        problem = f"the calibration is of another machine ({there})"
    else:
        effect, least = calibration.minimum_effect, calibration.detectable
        seen = "none below fourfold" if least is None else f"from {least:.0%} on"
        when = f"{calibration.created}; slow-downs are found here: {seen}"
        return effect, f"minimum effect {effect:.0%} by calibration ({when})"
    note = f"{problem}: minimum effect {DEFAULT_EFFECT:.0%} by default; {HERE}"
    return DEFAULT_EFFECT, note


def _described(machine: Mapping[str, Any]) -> str:
    return f"{machine.get('cpu', 'unknown processor')}, {machine.get('usable_cores', '?')} cores"
