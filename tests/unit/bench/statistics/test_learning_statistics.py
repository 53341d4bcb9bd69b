from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wfbench.benchmarks.statistics.intervals import Estimate
from wfbench.benchmarks.statistics.learning import (
    NonInferiority,
    Reach,
    improvement_probability,
    iqm,
    iqm_estimate,
    non_inferiority,
    time_to_threshold,
)


def test_the_interquartile_mean_leaves_out_a_quarter_on_either_side():
    assert iqm([1.0, 2.0, 3.0, 4.0, 100.0, -100.0, 2.5, 3.5]) == pytest.approx(2.75)
    assert iqm([1.0, 2.0, 6.0]) == 3.0


def test_seeds_are_drawn_again_within_each_task_only():
    apart = iqm_estimate([[1.0, 1.0, 1.0], [9.0, 9.0, 9.0]])
    assert (apart.low, apart.high) == (apart.value, apart.value)
    assert iqm_estimate([[1.0]]).low is None


@pytest.mark.parametrize(("tasks", "seeds"), [(1, 5), (6, 3)])
def test_the_interval_of_the_interquartile_mean_covers_the_truth(tasks, seeds):
    rng = np.random.default_rng(5)
    means = np.linspace(-1, 1, tasks) if tasks > 1 else [0.0]
    hits = 0
    for _ in range(100):
        found = iqm_estimate([rng.normal(mean, 1.0, seeds) for mean in means])
        hits += found.low <= 0.0 <= found.high
    assert hits >= 90


def test_probability_of_improvement_known_answers():
    assert improvement_probability([[2.0, 4.0]], [[1.0, 3.0]]).value == 0.75
    assert improvement_probability([[1.0]], [[1.0]]).value == 0.5
    both = improvement_probability([[2.0], [0.0]], [[1.0], [1.0]])
    assert both.value == 0.5


def test_five_seeds_that_all_do_better_are_not_certainty():
    found = improvement_probability([[6.0, 7.0, 8.0, 9.0, 10.0]], [[1.0, 2.0, 3.0, 4.0, 5.0]])
    assert found.value == 1.0
    assert 0.5 < found.low < 0.9
    assert found.high == 1.0


def test_the_interval_of_the_probability_covers_the_truth():
    rng = np.random.default_rng(6)
    truth = 0.5 * (1.0 + math.erf(0.5))
    hits = 0
    for _ in range(200):
        found = improvement_probability([rng.normal(1.0, 1.0, 5)], [rng.normal(0.0, 1.0, 5)])
        hits += found.low <= truth <= found.high
    assert 0.91 <= hits / 200 <= 0.99


@given(st.lists(st.floats(-5, 5), min_size=1, max_size=6), st.lists(st.floats(-5, 5), min_size=1))
def test_the_probability_from_the_other_side_is_the_rest(new, old):
    forth, back = improvement_probability([new], [old]), improvement_probability([old], [new])
    assert forth.value + back.value == pytest.approx(1.0)
    assert forth.low + back.high == pytest.approx(1.0, abs=1e-6)
    assert 0.0 <= forth.low <= forth.value <= forth.high <= 1.0


def test_the_median_time_of_a_textbook_example():
    # Remission times of the 6-MP arm of Freireich et al. (1963): the Kaplan-Meier median is 23.
    reached = [6, 6, 6, 7, 10, 13, 16, 22, 23]
    censored = [6, 9, 10, 11, 17, 19, 20, 25, 32, 32, 34, 35]
    times = [Reach(t, reached=True) for t in reached] + [Reach(t, reached=False) for t in censored]
    found = time_to_threshold(times)
    assert (found.median, found.reached, found.censored) == (23, 9, 12)
    assert (found.low, found.high) == (13, None)


def test_without_censoring_it_is_the_plain_median():
    found = time_to_threshold([Reach(t, reached=True) for t in (5.0, 1.0, 3.0)])
    assert found.median == 3.0


def test_a_training_that_never_got_there_is_not_dropped():
    fast = [Reach(1.0, reached=True), Reach(2.0, reached=True)]
    never = [Reach(math.inf, reached=False)] * 3
    assert time_to_threshold(fast).median == 1.0
    assert time_to_threshold(fast + never).median is None
    assert time_to_threshold(never).low is None


@pytest.mark.parametrize(
    ("difference", "answer"),
    [
        (Estimate(-1.0, -2.0, 0.0), NonInferiority.NON_INFERIOR),
        (Estimate(-1.0, -4.0, 2.0), NonInferiority.UNDECIDED),
        (Estimate(-9.0, -12.0, -6.0), NonInferiority.INFERIOR),
        (Estimate(0.0), NonInferiority.UNDECIDED),
        (Estimate(0.0, -1.0), NonInferiority.UNDECIDED),
        (Estimate(-9.0, None, -6.0), NonInferiority.UNDECIDED),
        (Estimate(-1.0, -3.0, 2.0), NonInferiority.UNDECIDED),
        (Estimate(-5.0, -6.0, -3.0), NonInferiority.UNDECIDED),
    ],
)
def test_non_inferiority(difference, answer):
    assert non_inferiority(difference, 3.0) is answer
