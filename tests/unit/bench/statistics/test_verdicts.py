from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wfbench.benchmarks.statistics.intervals import Estimate, Permutation
from wfbench.benchmarks.statistics.verdicts import Verdict, exit_code_of, judge
from wfbench.contract import ExitCode


@pytest.mark.parametrize(
    ("ratio", "p", "verdict"),
    [
        (Estimate(1.30, 1.20, 1.40), 0.01, Verdict.IMPROVED),
        (Estimate(0.70, 0.60, 0.80), 0.01, Verdict.REGRESSED),
        (Estimate(1.02, 1.01, 1.03), 0.01, Verdict.WITHIN_NOISE),
        (Estimate(0.98, 0.97, 0.99), 0.01, Verdict.WITHIN_NOISE),
        (Estimate(1.01, 0.98, 1.03), 0.40, Verdict.NO_CHANGE),
        (Estimate(1.02, 1.01, 1.03), 0.06, Verdict.NO_CHANGE),
        (Estimate(1.00, 0.80, 1.25), 0.90, Verdict.INCONCLUSIVE),
        (Estimate(0.70, 0.60, 0.80), 0.06, Verdict.INCONCLUSIVE),
        (Estimate(0.70, 0.40, 1.10), 0.01, Verdict.INCONCLUSIVE),
        (Estimate(0.70), 0.01, Verdict.INCONCLUSIVE),
        (Estimate(0.70, 0.60), 0.01, Verdict.INCONCLUSIVE),
        (Estimate(0.70, None, 0.80), 0.01, Verdict.INCONCLUSIVE),
        (Estimate(1.05, 1.01, 1.40), 0.05, Verdict.IMPROVED),
        (Estimate(1.0 / 1.05, 0.60, 0.99), 0.05, Verdict.REGRESSED),
        (Estimate(1.30, 1.00, 1.40), 0.01, Verdict.INCONCLUSIVE),
        (Estimate(0.70, 0.60, 1.00), 0.01, Verdict.INCONCLUSIVE),
        (Estimate(1.01, 0.98, 1.05), 0.40, Verdict.INCONCLUSIVE),
        (Estimate(1.01, 1.0 / 1.05, 1.03), 0.40, Verdict.INCONCLUSIVE),
        (Estimate(1.01, 0.50, 1.03), 0.40, Verdict.INCONCLUSIVE),
    ],
)
def test_each_verdict(ratio, p, verdict):
    assert judge(ratio, Permutation(p, 0.001), minimum_effect=0.05) is verdict


@pytest.mark.parametrize(
    ("difference", "verdict"),
    [
        (Estimate(2.0, 1.0, 3.0), Verdict.IMPROVED),
        (Estimate(-2.0, -3.0, -1.0), Verdict.REGRESSED),
        (Estimate(1.9, 1.0, 3.0), Verdict.WITHIN_NOISE),
        (Estimate(-1.9, -3.0, -1.0), Verdict.WITHIN_NOISE),
        (Estimate(1.0, -1.9, 1.9), Verdict.NO_CHANGE),
        (Estimate(1.0, -2.0, 1.9), Verdict.INCONCLUSIVE),
        (Estimate(1.0, 0.0, 1.9), Verdict.NO_CHANGE),
    ],
)
def test_differences_are_judged_from_zero(difference, verdict):
    test = Permutation(0.01, 0.001)
    assert judge(difference, test, minimum_effect=2.0, scale="difference") is verdict


@pytest.mark.parametrize(
    ("found", "strict", "code"),
    [
        ([], True, ExitCode.OK),
        ([Verdict.IMPROVED, Verdict.INCONCLUSIVE], False, ExitCode.OK),
        ([Verdict.IMPROVED, Verdict.INCONCLUSIVE], True, ExitCode.INCONCLUSIVE),
        ([Verdict.INCONCLUSIVE, Verdict.NOT_COMPARABLE], True, ExitCode.NOT_COMPARABLE),
        ([Verdict.NOT_COMPARABLE, Verdict.REGRESSED], False, ExitCode.REGRESSION),
        ([Verdict.NO_CHANGE, Verdict.WITHIN_NOISE], True, ExitCode.OK),
    ],
)
def test_the_worst_verdict_decides_the_exit_code(found, strict, code):
    assert exit_code_of(found, inconclusive_fails=strict) is code


def test_less_can_be_better():
    slower = Estimate(1.30, 1.20, 1.40)
    assert judge(slower, Permutation(0.01, 0.001), higher_is_better=False) is Verdict.REGRESSED
    faster = Estimate(0.70, 0.60, 0.80)
    assert judge(faster, Permutation(0.01, 0.001), higher_is_better=False) is Verdict.IMPROVED


def test_too_few_samples_never_show_a_difference_but_may_show_that_there_is_none():
    assert judge(Estimate(0.5, 0.4, 0.6), Permutation(0.0625, 0.0625)) is Verdict.INCONCLUSIVE
    assert judge(Estimate(1.0, 0.99, 1.01), Permutation(1.0, 0.0625)) is Verdict.NO_CHANGE


@given(st.floats(0.2, 5.0), st.floats(1.0, 2.0), st.floats(0.0, 1.0), st.floats(0.0, 0.2))
def test_the_two_directions_mirror_each_other(value, spread, p, effect):
    mirror = {Verdict.IMPROVED: Verdict.REGRESSED, Verdict.REGRESSED: Verdict.IMPROVED}
    ratio = Estimate(value, value / spread, value * spread)
    back = Estimate(1 / value, 1 / ratio.high, 1 / ratio.low)
    on_an_edge = any(
        abs(one - edge) < 1e-9
        for one in (ratio.value, ratio.low, ratio.high)
        for edge in (1.0, 1.0 + effect, 1.0 / (1.0 + effect))
    )
    forth = judge(ratio, Permutation(p, 0.0), minimum_effect=effect)
    if not on_an_edge:
        assert judge(back, Permutation(p, 0.0), minimum_effect=effect) is mirror.get(forth, forth)
