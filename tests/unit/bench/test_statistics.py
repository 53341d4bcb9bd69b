from __future__ import annotations

import math

import numpy as np
import pytest

from wfbench.bench.statistics import mean_estimate, ratio_estimate


def test_the_mean_lies_in_its_interval_and_the_interval_is_reproducible():
    values = [10.0, 12.0, 9.0, 11.0, 13.0]
    estimate = mean_estimate(values)
    assert estimate.value == 11.0
    assert 9.0 < estimate.low < 11.0 < estimate.high < 13.0
    assert mean_estimate(values) == estimate


def test_one_sample_has_no_interval():
    assert mean_estimate([3.0]).low is None
    assert ratio_estimate([6.0], [3.0]).low is None
    assert ratio_estimate([6.0], [3.0]).value == pytest.approx(2.0)


def test_constant_samples_have_an_interval_of_no_width():
    estimate = mean_estimate([5.0, 5.0, 5.0])
    assert (estimate.low, estimate.value, estimate.high) == (5.0, 5.0, 5.0)


def test_pairs_cancel_what_slows_both_down():
    machine = np.array([1.0, 0.3, 0.7, 0.5, 0.9])
    ratio = ratio_estimate(200.0 * machine, 100.0 * machine)
    assert ratio.value == pytest.approx(2.0)
    assert (ratio.low, ratio.high) == (pytest.approx(2.0), pytest.approx(2.0))


def test_the_ratio_is_the_same_from_either_side():
    left, right = [3.0, 5.0, 4.0], [1.0, 2.0, 1.5]
    forth, back = ratio_estimate(left, right), ratio_estimate(right, left)
    assert forth.value == pytest.approx(1 / back.value)
    assert forth.low == pytest.approx(1 / back.high)


def test_the_interval_covers_the_truth_about_as_often_as_it_says():
    rng = np.random.default_rng(1)
    trials, size = 400, 20
    hits = 0
    for _ in range(trials):
        estimate = mean_estimate(rng.normal(7.0, 2.0, size))
        hits += estimate.low <= 7.0 <= estimate.high
    # The percentile bootstrap of 20 values is known to be a little too narrow.
    assert 0.88 <= hits / trials <= 0.98
    assert not math.isnan(estimate.value)
