"""When a documented figure counts as reproduced, and how figures are written."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from statistics import median_low

from wfbench.contract import VERDICTS, Condition, Finding, Interval, Lab, Verdict

from .conditions import CORE_EACH, HERE, LEFT_OUT, NO_CONSTRUCTION

CLOSE = 0.75
"""A measured figure of at least this share of the documented one reproduces it."""
PARTLY = 0.25
"""A factor of at least this share of the documented effect, on the log scale, does in part."""

REPRODUCED, IN_PART, NOT, UNTESTABLE = VERDICTS


def judge_factor(measured: Interval, documented: float) -> Verdict:
    """Judge whether something is as many times better as documented.

    It must be better at all, beyond the interval; then its size decides. If the interval holds
    both "no better" and "as documented", nothing can be said.
    """
    low, high = bounds(measured)
    if low > 1.0 and measured.value >= CLOSE * documented:
        return REPRODUCED
    if low <= 1.0 and high >= CLOSE * documented:
        return UNTESTABLE
    if low > 1.0 and measured.value >= documented**PARTLY:
        return IN_PART
    return NOT


def within(measured: Interval, documented: float, most: float) -> Verdict:
    """Judge as `judge_factor` does where no more than a factor of `most` can be gained."""
    verdict = judge_factor(measured, documented)
    if verdict != REPRODUCED and most < CLOSE * documented:
        return UNTESTABLE
    return verdict


def best(under: Iterable[Condition]) -> Verdict:
    """Return the best verdict of several conditions: it holds where it can be judged."""
    return min((one.verdict for one in under), key=VERDICTS.index)


def under_both(
    factors: Mapping[str, Interval],
    documented: float,
    *,
    most: float,
    shown: Mapping[str, str],
    why: str,
    values: Mapping[str, float],
    scaled: tuple[str, ...],
    also: tuple[Verdict, ...] = (),
) -> Finding:
    """Judge a factor by condition; the claim holds if it does where it can be judged.

    most: what can be gained on this machine at most. also: verdicts on what else is claimed.
    """
    verdicts = {
        HERE: within(factors[HERE], documented, most),
        CORE_EACH: judge_factor(factors[CORE_EACH], documented),
    }
    under = tuple(
        Condition(name, shown[name], factors[name], combined([*also, verdict]))
        for name, verdict in verdicts.items()
    )
    return Finding(
        measured="; ".join(f"{one.name}: {one.measured}" for one in reversed(under)),
        interval=factors[CORE_EACH],
        verdict=best(under),
        why=why,
        values=values,
        scaled=(*scaled, NO_CONSTRUCTION, LEFT_OUT),
        under=under,
    )


def combined(parts: Iterable[Verdict]) -> Verdict:
    """Return the verdict on a claim that says several things."""
    found = set(parts)
    if len(found) == 1:
        return found.pop()
    if found & {REPRODUCED, IN_PART}:
        return IN_PART
    return NOT


def judge_difference(measured: Interval, margin: float) -> Verdict:
    """Judge whether there is no difference beyond a margin.

    An interval inside the margin shows that; one beyond it shows a difference. If it reaches
    across, nothing can be said.
    """
    low, high = bounds(measured)
    if max(-low, high) <= margin:
        return REPRODUCED
    return NOT if low > margin or high < -margin else UNTESTABLE


def bounds(measured: Interval) -> tuple[float, float]:
    """Return the ends of the interval; without one, the value twice."""
    low, high = measured.low, measured.high
    return (measured.value if low is None else low, measured.value if high is None else high)


def typical(lab: Lab, values: Sequence[float]) -> Interval:
    """Return the geometric mean of times or rates; its interval cannot reach below 0."""
    return lab.ratio(values, [1.0] * len(values))


def times(factor: Interval) -> str:
    """Write a factor with its interval: `1.18x (1.10 to 1.25)`."""
    return f"{number(factor.value)}x{_range(factor)}"


def amount(measured: Interval, unit: str = "") -> str:
    """Write a figure with unit and interval."""
    shown = f"{number(measured.value)} {unit}" if unit else number(measured.value)
    return f"{shown}{_range(measured)}"


def number(value: float) -> str:
    """Write a number with three significant digits and separated thousands."""
    size = abs(value)
    if size >= 100:
        return f"{value:,.0f}"
    if size >= 10:
        return f"{value:.1f}"
    return f"{value:.2f}" if size >= 0.1 or value == 0 else f"{value:.2g}"


def median(values: Sequence[float | None]) -> float | None:
    """Return the median, where None is larger than everything; None if the median is."""
    middle = median_low(math.inf if value is None else value for value in values)
    return None if middle == math.inf else middle


def _range(measured: Interval) -> str:
    if measured.low is None or measured.high is None:
        return ", one sample"
    return f" ({number(measured.low)} to {number(measured.high)})"
