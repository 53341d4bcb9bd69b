"""What a measured difference amounts to."""

from __future__ import annotations

from enum import StrEnum

from .statistics import Estimate

ALPHA = 0.05
MINIMUM_EFFECT = 0.05
"""The smallest difference worth a verdict where nobody says otherwise: 5 %."""


class Verdict(StrEnum):
    """What a comparison of one cell came to; `judge` says when it is which."""

    IMPROVED = "improved"
    REGRESSED = "regressed"
    WITHIN_NOISE = "within noise"
    NO_CHANGE = "no change"
    INCONCLUSIVE = "inconclusive"
    NOT_COMPARABLE = "not comparable"


def judge(
    ratio: Estimate,
    p: float,
    smallest: float,
    *,
    minimum_effect: float = MINIMUM_EFFECT,
    alpha: float = ALPHA,
    higher_is_better: bool = True,
) -> Verdict:
    """The verdict on a ratio of new to old.

    The ratio *differs clearly* if its p value is at most `alpha` and its interval leaves out 1. It
    is *large* if it is at least 1 + `minimum_effect` or at most 1 / (1 + `minimum_effect`). With
    many cells, `p` and `smallest` are the Holm-adjusted ones.

    - improved: it differs clearly, is large, and goes the better way;
    - regressed: it differs clearly, is large, and goes the worse way;
    - within noise: it differs clearly, but is not large;
    - no change: it does not differ clearly, and the whole interval is inside the minimum effect;
    - inconclusive: everything else. There is no interval, or it reaches beyond the minimum effect
      while the test cannot tell the ratio from 1; also because `smallest`, the smallest p value so
      few samples can reach, is above `alpha`.

    Not comparable is never judged from figures: it is said where the workloads differ.
    """
    return _judged(
        ratio,
        max(p, smallest) <= alpha,
        (1.0 / (1.0 + minimum_effect), 1.0, 1.0 + minimum_effect),
        higher_is_better=higher_is_better,
    )


def judge_difference(
    difference: Estimate,
    p: float,
    smallest: float,
    *,
    margin: float,
    alpha: float = ALPHA,
    higher_is_better: bool = True,
) -> Verdict:
    """The verdict on a difference of new less old, defined as in `judge`.

    It *differs clearly* if the interval leaves out 0, and is *large* from `margin` on.
    """
    return _judged(
        difference,
        max(p, smallest) <= alpha,
        (-margin, 0.0, margin),
        higher_is_better=higher_is_better,
    )


def _judged(
    effect: Estimate,
    significant: bool,  # noqa: FBT001 - private
    marks: tuple[float, float, float],
    *,
    higher_is_better: bool,
) -> Verdict:
    """The verdict where effects from the first to the last mark are too small to matter."""
    if effect.low is None or effect.high is None:
        return Verdict.INCONCLUSIVE
    bottom, nothing, top = marks
    clear = significant and not effect.low <= nothing <= effect.high
    if clear and (effect.value >= top or effect.value <= bottom):
        better = (effect.value > nothing) == higher_is_better
        return Verdict.IMPROVED if better else Verdict.REGRESSED
    if clear:
        return Verdict.WITHIN_NOISE
    inside = bottom < effect.low and effect.high < top
    return Verdict.NO_CHANGE if inside else Verdict.INCONCLUSIVE
