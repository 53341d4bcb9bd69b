"""Whether what is measured now is slower than a baseline says it was."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from .baseline import Baseline, Cell
from .statistics import (
    Estimate,
    Permutation,
    holm,
    unpaired_permutation_test,
    unpaired_ratio_estimate,
)
from .verdicts import ALPHA, Verdict, judge

DEFAULT_EFFECT = 0.10
"""The least change that counts on a machine whose noise nobody has measured."""
FOREIGN_EFFECT = 0.20
"""The least that counts where the baseline was made on another machine: ratios carry, not quite."""
QUIET = 0.5
"""Cores that other programs may use before a slow-down may be theirs."""
_JURY = 3
"""So many others must be there for their median to say that the reference itself has changed."""


@dataclass(frozen=True)
class Threshold:
    """What counts as a change."""

    minimum_effect: float = DEFAULT_EFFECT
    alpha: float = ALPHA
    quiet: float | None = None
    """A slow-down that was confirmed while others used more cores is inconclusive; None: is one."""

    def verdict(self, change: Estimate, p: float, smallest: float) -> Verdict:
        """The verdict on a change."""
        return judge(change, p, smallest, minimum_effect=self.minimum_effect, alpha=self.alpha)


@dataclass(frozen=True)
class Judgement:
    """One cell, measured once more and compared."""

    verdict: Verdict
    change: Estimate | None
    """How many times the ratio it had; None if there is nothing to compare."""
    p: float | None
    """Adjusted for the number of cells."""
    smallest: float | None
    """The smallest p value that so many rounds and cells can reach."""
    rounds: int
    suspicious: bool = False
    """Looks slower before the adjustment: worth measuring again, and no verdict yet."""


def judge_cells(
    baseline: Baseline,
    now: Sequence[Cell],
    threshold: Threshold,
    only: Sequence[int] | None = None,
) -> dict[int, Judgement]:
    """The judgement on each cell, by its index in the baseline.

    `now` holds the same cells in the same order. With `only`, the others are not judged and do not
    count for the adjustment. The reference is judged by the median of at least three others.
    """
    pairs = {}
    for index in range(len(now)) if only is None else only:
        then_logs, now_logs = _compared(baseline, now, index)
        if then_logs and now_logs:
            pairs[index] = (then_logs, now_logs)
    tests = {i: _test(then_logs, now_logs) for i, (then_logs, now_logs) in pairs.items()}
    adjusted = dict(zip(tests, holm([test.p for test in tests.values()]), strict=True))
    reachable = dict(zip(tests, holm([test.smallest for test in tests.values()]), strict=True))
    found = {}
    for index, (then_logs, now_logs) in pairs.items():
        change = unpaired_ratio_estimate(
            [math.exp(x) for x in now_logs], [math.exp(x) for x in then_logs]
        )
        test, p, smallest = tests[index], adjusted[index], reachable[index]
        found[index] = Judgement(
            threshold.verdict(change, p, smallest),
            change,
            p,
            smallest,
            len(now_logs),
            threshold.verdict(change, test.p, test.smallest) is Verdict.REGRESSED,
        )
    return found


def _compared(
    baseline: Baseline, now: Sequence[Cell], index: int
) -> tuple[list[float], list[float]]:
    """The log ratios of a cell then and now; none where the reference has no jury."""
    cell = baseline.cells[index]
    if not baseline.is_reference(cell):
        return list(cell.log_ratios), list(now[index].log_ratios)
    jury = [
        i
        for i, other in enumerate(baseline.cells)
        if other.case.n_envs == cell.case.n_envs and not baseline.is_reference(other)
    ]
    if len(jury) < _JURY:
        return [], []
    centres = {i: _mean(baseline.cells[i].log_ratios) for i in jury}
    return (
        _against_jury([baseline.cells[i] for i in jury], list(centres.values())),
        _against_jury([now[i] for i in jury], list(centres.values())),
    )


def _against_jury(jury: Sequence[Cell], centres: Sequence[float]) -> list[float]:
    """How the reference fared against the median of the others, by round they all have."""
    by_round = [dict(zip(cell.rounds, cell.log_ratios, strict=True)) for cell in jury]
    common = set.intersection(*(set(ratios) for ratios in by_round))
    return [
        -median(ratios[number] - centre for ratios, centre in zip(by_round, centres, strict=True))
        for number in sorted(common)
    ]


def _test(then_logs: Sequence[float], now_logs: Sequence[float]) -> Permutation:
    if min(len(then_logs), len(now_logs)) < 2:
        return Permutation(1.0, 1.0)
    return unpaired_permutation_test(now_logs, then_logs)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
