"""Verdicts on measured differences."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Literal

from wfbench.benchmarks.statistics.intervals import Estimate, Permutation
from wfbench.contract import ExitCode

ALPHA = 0.05
MINIMUM_EFFECT = 0.05
"""The smallest change that counts by default: 5 %."""
Scale = Literal["ratio", "difference"]


class Verdict(StrEnum):
    """What a comparison of one cell came to; see `judge`."""

    IMPROVED = "improved"
    REGRESSED = "regressed"
    WITHIN_NOISE = "within noise"
    NO_CHANGE = "no change"
    IDENTICAL = "identical"
    INCONCLUSIVE = "inconclusive"
    NOT_COMPARABLE = "not comparable"


def exit_code_of(verdicts: Iterable[Verdict], *, inconclusive_fails: bool) -> ExitCode:
    """Return the exit code of a command that found these verdicts; a regression counts first."""
    found = set(verdicts)
    if Verdict.REGRESSED in found:
        return ExitCode.REGRESSION
    if Verdict.NOT_COMPARABLE in found:
        return ExitCode.NOT_COMPARABLE
    if inconclusive_fails and Verdict.INCONCLUSIVE in found:
        return ExitCode.INCONCLUSIVE
    return ExitCode.OK


def judge(
    effect: Estimate,
    test: Permutation,
    *,
    minimum_effect: float = MINIMUM_EFFECT,
    scale: Scale = "ratio",
    alpha: float = ALPHA,
    higher_is_better: bool = True,
) -> Verdict:
    """Return the verdict on an effect: the ratio of new to old, or the difference new minus old.

    The effect *differs clearly* if its p value is at most `alpha` and its interval leaves out 1
    (differences: 0). It is *large* if it is at least 1 + `minimum_effect` or at most
    1 / (1 + `minimum_effect`) (differences: if it is at least `minimum_effect` from 0).

    - improved, regressed: it differs clearly and is large;
    - within noise: it differs clearly, but is not large;
    - no change: it does not differ clearly, and the whole interval is inside the minimum effect;
    - inconclusive: everything else, also because so few samples cannot reach a p of `alpha`.

    Two are never judged from figures: not comparable means that the work differs, identical that
    both sides have the same values.
    """
    if effect.low is None or effect.high is None:
        return Verdict.INCONCLUSIVE
    bottom, nothing, top = -minimum_effect, 0.0, minimum_effect
    if scale == "ratio":
        bottom, nothing, top = 1.0 / (1.0 + minimum_effect), 1.0, 1.0 + minimum_effect
    clear = max(test.p, test.smallest) <= alpha and not effect.low <= nothing <= effect.high
    if clear and (effect.value >= top or effect.value <= bottom):
        better = (effect.value > nothing) == higher_is_better
        return Verdict.IMPROVED if better else Verdict.REGRESSED
    if clear:
        return Verdict.WITHIN_NOISE
    inside = bottom < effect.low and effect.high < top
    return Verdict.NO_CHANGE if inside else Verdict.INCONCLUSIVE
