from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wfbench.benchmarks.statistics.intervals import (
    holm,
    log_ratios,
    mean_estimate,
    outliers,
    permutation_test,
    ratio_estimate,
    unpaired_permutation_test,
    unpaired_ratio_estimate,
)

FINITE = st.floats(-3.0, 3.0).map(lambda value: round(value, 6))


def test_the_mean_lies_in_its_interval_and_the_interval_is_reproducible():
    values = [10.0, 12.0, 9.0, 11.0, 13.0]
    estimate = mean_estimate(values)
    assert estimate.value == 11.0
    assert estimate.low < 11.0 < estimate.high
    assert mean_estimate(values) == estimate


def test_the_interval_of_evenly_spread_values_is_about_students():
    values = [10.0, 12.0, 9.0, 11.0, 13.0]
    half = 2.776 * np.std(values, ddof=1) / math.sqrt(5)
    estimate = mean_estimate(values)
    assert estimate.low == pytest.approx(11.0 - half, rel=0.02)
    assert estimate.high == pytest.approx(11.0 + half, rel=0.02)


def test_one_sample_has_no_interval():
    assert mean_estimate([3.0]).low is None
    assert ratio_estimate([6.0], [3.0]).low is None
    assert ratio_estimate([6.0], [3.0]).value == pytest.approx(2.0)
    assert unpaired_ratio_estimate(np.log([6.0, 6.1]), np.log([3.0])).low is None


def test_constant_samples_have_an_interval_of_no_width():
    estimate = mean_estimate([5.0, 5.0, 5.0])
    assert (estimate.low, estimate.value, estimate.high) == (5.0, 5.0, 5.0)


def test_pairs_cancel_what_slows_both_down():
    machine = np.array([1.0, 0.3, 0.7, 0.5, 0.9])
    ratio = ratio_estimate(200.0 * machine, 100.0 * machine)
    assert ratio.value == pytest.approx(2.0)
    assert (ratio.low, ratio.high) == (pytest.approx(2.0), pytest.approx(2.0))


def test_without_pairs_the_same_samples_leave_room_for_doubt():
    machine = np.array([1.0, 0.3, 0.7, 0.5, 0.9])
    ratio = unpaired_ratio_estimate(np.log(200.0 * machine), np.log(100.0 * machine))
    assert ratio.value == pytest.approx(2.0)
    assert ratio.low < 1.5
    assert ratio.high > 2.5


def test_the_ratio_is_the_same_from_either_side():
    left, right = [3.0, 5.0, 4.0], [1.0, 2.0, 1.5]
    forth, back = ratio_estimate(left, right), ratio_estimate(right, left)
    assert forth.value == pytest.approx(1 / back.value)
    assert forth.low == pytest.approx(1 / back.high)


@pytest.mark.parametrize("values", [[], [1.0, float("nan")], [1.0, 0.0], [1.0, -2.0]])
def test_what_has_no_ratio_is_refused(values):
    with pytest.raises(ValueError, match=r"no values|finite|positive"):
        ratio_estimate(values, [1.0] * len(values))
    with pytest.raises(ValueError, match="cannot be paired"):
        log_ratios([1.0, 2.0], [1.0])


DRAWS = {
    "normal": (lambda rng, size: rng.normal(7.0, 2.0, size), 7.0),
    "heavy tails": (lambda rng, size: rng.standard_t(3, size), 0.0),
    "now and then slow": (
        lambda rng, size: rng.normal(0.0, 1.0, size) - 4.0 * (rng.random(size) < 0.1),
        -0.4,
    ),
}


@pytest.mark.parametrize(
    ("name", "size"),
    [("normal", 3), ("normal", 10), *((name, 5) for name in DRAWS)],
)
def test_the_interval_covers_the_truth_about_as_often_as_it_says(name, size):
    draw, truth = DRAWS[name]
    rng = np.random.default_rng(1)
    trials = 200
    hits = 0
    for _ in range(trials):
        estimate = mean_estimate(draw(rng, size))
        hits += estimate.low <= truth <= estimate.high
    assert 0.90 <= hits / trials <= 0.99


def test_the_unpaired_interval_covers_the_truth_even_where_spreads_differ():
    rng = np.random.default_rng(2)
    trials = 150
    hits = 0
    for _ in range(trials):
        above = np.exp(rng.normal(0.1, 0.02, 5))
        below = np.exp(rng.normal(0.0, 0.08, 5))
        estimate = unpaired_ratio_estimate(np.log(above), np.log(below))
        hits += estimate.low <= math.exp(0.1) <= estimate.high
    assert 0.92 <= hits / trials <= 0.99


@given(st.lists(FINITE, min_size=1, max_size=7))
@settings(max_examples=40)
def test_the_paired_test_is_the_share_of_sign_patterns_as_far_from_zero(logs):
    far = abs(sum(logs))
    hits = [
        abs(sum(s * v for s, v in zip(signs, logs, strict=True))) >= far - 1e-12
        for signs in itertools.product((1, -1), repeat=len(logs))
    ]
    found = permutation_test(logs)
    assert found.p == pytest.approx(sum(hits) / len(hits))
    assert found.smallest == 2.0 / 2 ** len(logs)
    assert found.p >= found.smallest


def _welch(chosen, others):
    """Return the distance of two means in standard errors; one value alone has no variance."""
    errors = [
        np.var(side, ddof=1) / len(side) if len(side) > 1 else 0.0 for side in (chosen, others)
    ]
    return abs(np.mean(chosen) - np.mean(others)) / math.sqrt(sum(errors))


@pytest.mark.parametrize(("first", "second"), [(1, 4), (2, 3), (2, 4), (3, 3), (4, 2), (5, 3)])
def test_the_unpaired_test_is_the_share_of_splits_as_far_apart(first, second):
    for seed in range(20):
        pool = np.random.default_rng(seed).normal(0.0, 1.0, first + second).tolist()
        splits = [
            _welch([pool[i] for i in chosen], [v for i, v in enumerate(pool) if i not in chosen])
            for chosen in itertools.combinations(range(len(pool)), first)
        ]
        observed = _welch(pool[:first], pool[first:])
        share = sum(one >= observed * (1 - 1e-9) for one in splits) / len(splits)
        assert unpaired_permutation_test(pool[:first], pool[first:]).p == pytest.approx(share)


def test_five_pairs_cannot_reach_five_per_cent_and_six_can():
    five, six = permutation_test([0.1] * 5), permutation_test([0.1] * 6)
    assert (five.p, five.smallest) == (0.0625, 0.0625)
    assert (six.p, six.smallest) == (0.03125, 0.03125)


def test_five_against_five_without_pairs_can():
    found = unpaired_permutation_test([1.0, 1.1, 1.2, 1.05, 1.15], [0.0, 0.1, 0.2, 0.05, 0.15])
    assert (found.p, found.smallest) == (pytest.approx(2 / 252), pytest.approx(2 / 252))
    lopsided = unpaired_permutation_test([1.0, 1.1, 1.2], [0.0, 0.1])
    assert lopsided.smallest == pytest.approx(1 / 10)


def test_constant_samples_are_tested_too():
    assert unpaired_permutation_test([1.0] * 5, [2.0] * 5).p == pytest.approx(2 / 252)
    assert unpaired_permutation_test([1.0] * 5, [1.0] * 5).p == 1.0
    assert permutation_test([0.0] * 8).p == 1.0


@pytest.mark.parametrize("size", [8, 13])
def test_equal_samples_are_rarely_told_apart(size):
    rng = np.random.default_rng(3)
    trials = 120
    paired = sum(permutation_test(rng.normal(0, 1, size)).p <= 0.05 for _ in range(trials))
    assert paired / trials <= 0.10
    free = sum(
        unpaired_permutation_test(rng.normal(0, 1, 5), rng.normal(0, 1, 5)).p <= 0.05
        for _ in range(trials)
    )
    assert free / trials <= 0.10


def test_many_samples_are_tested_with_random_patterns_and_the_same_ones():
    logs = np.random.default_rng(4).normal(0.5, 1.0, 60)
    found = permutation_test(logs)
    assert found == permutation_test(logs)
    assert found.smallest <= found.p < 0.01
    other = unpaired_permutation_test(logs, logs - 3.0)
    assert other.p == other.smallest == pytest.approx(1 / 20_001)


def test_holm_known_answer():
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([]) == []


@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=12))
def test_holm_never_lowers_a_p_and_keeps_their_order(ps):
    adjusted = holm(ps)
    assert all(p <= q <= 1.0 for p, q in zip(ps, adjusted, strict=True))
    assert max(adjusted) <= min(1.0, len(ps) * max(ps))
    order = np.argsort(ps, kind="stable")
    assert list(np.asarray(adjusted)[order]) == sorted(adjusted)


def test_outliers_are_named_even_among_equal_values():
    assert outliers([10.0, 10.1, 9.9, 10.05, 3.0]) == (4,)
    assert outliers([10.0, 10.1, 9.9, 10.05, 9.95]) == ()
    assert outliers([5.0] * 9 + [6.0]) == (9,)
    assert outliers([5.0, 5.0]) == ()
