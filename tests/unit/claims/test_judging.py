"""When a figure counts as reproduced."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wfbench.contract import VERDICTS, Condition, Interval
from wfbench_claims.judging import (
    IN_PART,
    NOT,
    REPRODUCED,
    UNTESTABLE,
    amount,
    best,
    combined,
    judge_difference,
    judge_factor,
    median,
    number,
    times,
    within,
)


@pytest.mark.parametrize(
    ("value", "low", "high", "verdict"),
    [
        (17.0, 16.0, 18.0, REPRODUCED),
        (40.0, 30.0, 50.0, REPRODUCED),
        (13.0, 12.0, 14.0, REPRODUCED),
        (12.0, 11.0, 13.0, IN_PART),
        (2.1, 2.0, 2.2, IN_PART),
        (1.5, 1.4, 1.6, NOT),
        (1.0, 0.9, 1.1, NOT),
        (0.5, 0.4, 0.6, NOT),
        (10.0, 0.5, 200.0, UNTESTABLE),
        (17.0, None, None, REPRODUCED),
        (1.0, None, None, NOT),
    ],
)
def test_a_factor_of_17_is_reproduced_by(value, low, high, verdict):
    assert judge_factor(Interval(value, low, high), 17.0) == verdict


@pytest.mark.parametrize(
    ("value", "low", "high", "verdict"),
    [
        (12.0, 11.0, 13.0, REPRODUCED),  # exactly as large as it must be
        (12.0, 1.0, 13.0, UNTESTABLE),  # perhaps no better at all
        (6.0, 1.0, 12.0, UNTESTABLE),
        (2.0, 1.5, 2.5, IN_PART),  # the fourth root of 16
        (2.0, 1.0, 2.5, NOT),
    ],
)
def test_what_lies_on_a_limit(value, low, high, verdict):
    assert judge_factor(Interval(value, low, high), 16.0) == verdict


@given(
    value=st.floats(0.01, 100),
    spread=st.floats(1.0, 10),
    more=st.floats(1.0, 10),
    documented=st.floats(1.5, 100),
)
def test_a_better_measurement_never_gets_a_worse_verdict(value, spread, more, documented):
    rank = {NOT: 0, UNTESTABLE: 1, IN_PART: 1, REPRODUCED: 2}
    worse, better = (
        judge_factor(Interval(v, v / spread, v * spread), documented) for v in (value, value * more)
    )
    assert rank[better] >= rank[worse]


def test_no_more_can_be_asked_for_than_is_possible():
    twice = Interval(1.9, 1.8, 2.0)
    assert within(twice, 10.0, 2) == UNTESTABLE
    assert within(twice, 10.0, 16) == IN_PART
    assert within(twice, 10.0, 7.5) == IN_PART
    assert within(Interval(9.0, 8.0, 10.0), 10.0, 2) == REPRODUCED


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (-9.0, 8.0, REPRODUCED),
        (-22.0, 33.0, UNTESTABLE),
        (-12.0, 3.0, UNTESTABLE),
        (10.5, 20.0, NOT),
        (-20.0, -10.5, NOT),
        (-10.0, 10.0, REPRODUCED),
        (10.0, 20.0, UNTESTABLE),
        (-20.0, -10.0, UNTESTABLE),
    ],
)
def test_no_difference_needs_an_interval_inside_the_margin(low, high, verdict):
    assert judge_difference(Interval((low + high) / 2, low, high), 10.0) == verdict


def test_the_best_condition_decides():
    def under(*verdicts):
        return [Condition(str(i), "m", None, verdict) for i, verdict in enumerate(verdicts)]

    assert best(under(UNTESTABLE, REPRODUCED)) == REPRODUCED
    assert best(under(NOT, IN_PART)) == IN_PART
    assert best(under(UNTESTABLE, NOT)) == NOT
    assert best(under(UNTESTABLE, UNTESTABLE)) == UNTESTABLE


@given(st.lists(st.sampled_from(VERDICTS), min_size=1))
def test_a_claim_of_several_parts(parts):
    verdict = combined(parts)
    if set(parts) == {REPRODUCED}:
        assert verdict == REPRODUCED
    elif REPRODUCED in parts or IN_PART in parts:
        assert verdict == IN_PART
    else:
        assert verdict == (UNTESTABLE if set(parts) == {UNTESTABLE} else NOT)


def test_the_median_of_what_was_partly_never_reached():
    assert median([3.0, 1.0, None]) == 3.0
    assert median([3.0, None, None]) is None
    assert median([1.0, 2.0, 3.0, None]) == 2.0
    assert median([None]) is None


def test_figures_have_three_digits_and_their_interval():
    assert number(20_000) == "20,000"
    assert number(123.4) == "123"
    assert number(16.66) == "16.7"
    assert number(1.234) == "1.23"
    assert number(0.0123) == "0.012"
    assert number(0) == "0.00"
    assert times(Interval(1.5, 1.25, 1.75)) == "1.50x (1.25 to 1.75)"
    assert times(Interval(1.5)) == "1.50x, one sample"
    assert amount(Interval(0.5, 0.4, 0.6)) == "0.50 (0.40 to 0.60)"
    assert amount(Interval(550, 540, 560), "ms") == "550 ms (540 to 560)"
