"""Verdicts on pairs, and how small an effect they can show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, exp, log, log1p, sqrt
from statistics import fmean

from wfbench.benchmarks.revisions.model import METRIC_NAMES, METRICS, Pair, Request
from wfbench.benchmarks.statistics.intervals import (
    Estimate,
    exp_estimate,
    mean_estimate,
    permutation_test,
)
from wfbench.benchmarks.statistics.verdicts import ALPHA, Verdict, judge

LEAST_ROUNDS = 8
"""With fewer, no permutation of signs is rare enough to fail a check twice."""
_LOOKS = frozenset(int(LEAST_ROUNDS * 1.5**power) for power in range(16))
"""Numbers of rounds after which a series may end: 8, 12, 18, 27, ..."""
_COARSER = {"start-up": 2.5}
"""Metrics that are asked for this many times the effect: one start is one value, not many turns."""


@dataclass(frozen=True)
class Look:
    """One metric of one case in one series of pairs."""

    verdict: Verdict
    change: Estimate
    """New over old."""
    p: float
    rounds: int
    detectable: float
    """The smallest slow-down that so wide an interval shows reliably."""
    needed: int
    """Rounds after which it would show what was asked for, if the noise stays as it is."""


@dataclass(frozen=True)
class RevisionCell:
    """The verdict on one metric of one case."""

    request: Request
    metric: str
    verdict: Verdict
    why: str
    old: float
    new: float
    """Geometric means: transitions/s, CPU µs per transition, bytes, seconds."""
    first: Look
    again: Look | None = None
    """The second series, of a cell that looked worse in the first."""

    @property
    def name(self) -> str:
        """What a reader calls it."""
        return f"{METRIC_NAMES.get(self.metric, self.metric)} of {self.request.label}"

    @property
    def latest(self) -> Look:
        """The series that the verdict rests on."""
        return self.again or self.first


def asked_effect(metric: str, detect: float) -> float:
    """Return the effect that must be found in a metric if `detect` must be in the rate."""
    return detect * _COARSER.get(metric, 1.0)


def look(pairs: Sequence[Pair], metric: str, detect: float, cells: int) -> Look:
    """Judge one series of pairs.

    What is asked for must be found, so what counts as large begins at half of it (in logs), and
    there is no change if the interval leaves all of it out. A failure needs two series, each on its
    own; `alpha` is such that among so many cells a false alarm stays below 5 %.
    """
    asked = log1p(asked_effect(metric, detect))
    logs = [pair.log_ratio(metric) for pair in pairs]
    estimate, test = mean_estimate(logs), permutation_test(logs)
    half = half_width(estimate)
    verdict = judge(
        exp_estimate(estimate),
        test,
        minimum_effect=exp(asked / 2.0) - 1.0,
        alpha=min(ALPHA, 2.0 * sqrt(ALPHA / cells)),
        higher_is_better=metric == "rate",
    )
    if verdict is Verdict.INCONCLUSIVE and abs(estimate.value) + half < asked:
        verdict = Verdict.NO_CHANGE  # of the size that is asked for
    return Look(
        verdict=verdict,
        change=exp_estimate(estimate),
        p=test.p,
        rounds=len(logs),
        detectable=exp(2.0 * half) - 1.0 if half < log(10.0) else float("inf"),
        needed=max(LEAST_ROUNDS, ceil(len(logs) * min((2.0 * half / asked) ** 2, 1e6))),
    )


def half_width(logs: Estimate) -> float:
    """Return half of an interval's width; infinite while there is none."""
    if logs.low is None or logs.high is None:
        return float("inf")
    return (logs.high - logs.low) / 2.0


def narrow_enough(pairs: Sequence[Pair], metrics: Sequence[str], detect: float) -> bool:
    """Return whether a series may end: the intervals of these metrics are as narrow as asked for.

    Only the width counts, never where the interval lies, so that a false alarm does not become more
    likely. It is looked at rarely: a width that is small by chance would end a series too early.
    """
    if len(pairs) not in _LOOKS:
        return False
    return all(
        half_width(mean_estimate([pair.log_ratio(metric) for pair in pairs]))
        <= log1p(asked_effect(metric, detect)) / 2.0
        for metric in metrics
    )


def judge_case(
    request: Request, first: Sequence[Pair], again: Sequence[Pair], detect: float, cells: int
) -> list[RevisionCell]:
    """Return the cells of a case; `again` is its second series, empty if there was none.

    Only what looked worse in the first is judged by the second.
    """
    return [_cell(request, metric, first, again, detect, cells) for metric in METRICS]


def _cell(
    request: Request,
    metric: str,
    first: Sequence[Pair],
    again: Sequence[Pair],
    detect: float,
    cells: int,
) -> RevisionCell:
    one = look(first, metric, detect, cells)
    # The second series need not be long enough for a metric that it was not made for.
    confirms = bool(again) and one.verdict is Verdict.REGRESSED
    two = look(again, metric, detect, cells) if confirms else None
    verdict, why = _conclusion(one, two)
    figures = zip(*(pair.figures(metric) for pair in (again if confirms else first)), strict=True)
    old, new = (exp(fmean(map(log, values))) for values in figures)
    return RevisionCell(request, metric, verdict, why, old, new, one, two)


def _conclusion(first: Look, again: Look | None) -> tuple[Verdict, str]:
    moved = f"{first.change.value:.3g} times what it was"
    if first.verdict is Verdict.INCONCLUSIVE:
        return first.verdict, f"{moved}; {limits(first)}"
    if again is None:
        return first.verdict, moved
    second = f"{again.change.value:.3g} times when measured again"
    if again.verdict is Verdict.REGRESSED:
        return Verdict.REGRESSED, f"{moved}, {second}"
    return Verdict.INCONCLUSIVE, f"{moved} at first, but {second}: not confirmed"


def limits(found: Look) -> str:
    """Say what a series cannot show, and how many rounds would."""
    if found.detectable == float("inf"):
        return "too few rounds to say anything"
    return f"cannot detect less than {found.detectable:.0%}; needs about {found.needed} rounds"
