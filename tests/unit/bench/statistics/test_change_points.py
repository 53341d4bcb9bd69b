from __future__ import annotations

import numpy as np
import pytest

from wfbench.benchmarks.statistics.change_points import FALSE_ALARMS, change_points, levels


def test_a_new_level_is_found_where_it_begins() -> None:
    rng = np.random.default_rng(0)
    values = np.concatenate([rng.normal(100, 1, 12), rng.normal(90, 1, 10), rng.normal(97, 1, 9)])
    assert change_points(values.tolist()) == (12, 22)


@pytest.mark.parametrize("short", [4, 56])
def test_a_short_level_is_found_at_either_end(short: int) -> None:
    values = [10.0 + place % 4 if place < short else 20.0 + place % 3 for place in range(60)]
    assert change_points(values) == (short,)
    assert change_points([-value for value in reversed(values)]) == (60 - short,)


def test_a_level_has_three_values_at_least() -> None:
    assert change_points([10.0] * 3 + [20.0] * 57) == (3,)
    assert change_points([10.0] * 57 + [20.0] * 3) == (57,)


def test_every_step_of_a_staircase_is_found() -> None:
    lengths = (8, 12, 20, 9, 11, 15, 7, 10)
    values = [float(step) for step, length in enumerate(lengths) for _ in range(length)]
    assert change_points(values) == tuple(sum(lengths[:step]) for step in range(1, len(lengths)))


def test_a_level_is_the_median_of_its_stretch() -> None:
    assert levels([1.0, 2.0, 9.0, 5.0, 7.0], (3,)) == [2.0, 6.0]
    assert levels([1.0, 2.0, 9.0], ()) == [2.0]


@pytest.mark.parametrize(
    "values",
    [
        *([], [1.0], [2.0] * 20, [1, 2, 1, 2, 9], [5, 1, 4, 2, 3, 6, 0]),
        [1] * 4 + [2] * 4,  # so do 2 of 70 orders of these values
    ],
)
def test_where_nothing_can_be_told_nothing_is_found(values: list[float]) -> None:
    assert change_points(values) == ()


@pytest.mark.parametrize("heavy", [False, True])
def test_false_alarms_are_as_rare_as_promised(heavy: bool) -> None:  # noqa: FBT001
    tries, alarms = 300, 0
    for seed in range(tries):
        rng = np.random.default_rng(seed)
        values = rng.standard_t(2, 15) if heavy else rng.normal(0.0, 1.0, 15)
        alarms += bool(change_points(values.tolist()))
    expected = FALSE_ALARMS * tries
    assert alarms <= expected + 3 * expected**0.5


def test_ten_percent_are_found_in_twenty_runs_with_a_noise_of_five() -> None:
    found = 0
    for seed in range(50):
        noise = np.random.default_rng(seed).normal(0.0, 0.05, 20)
        values = np.where(np.arange(20) < 10, 1.0, 0.9) * np.exp(noise)
        found += bool(change_points(values.tolist()))
    assert found >= 35
