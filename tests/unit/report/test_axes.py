"""Scales and their ticks, with known answers where an end or a limit is met exactly."""

from __future__ import annotations

import pytest

from wfbench.report.formats.axes import Scale, linear, logarithmic, tick_label


def test_a_scale_holds_its_ends_and_nothing_beyond() -> None:
    scale = Scale(2.0, 5.0, 0.0, 1.0)
    asked = (1.99, 2.0, 3.0, 5.0, 5.01)
    assert [scale.holds(value) for value in asked] == [False, True, True, True, False]


def test_one_value_has_half_of_itself_on_each_side() -> None:
    scale = linear([-10.0, -10.0], 0.0, 1.0)
    assert (scale.low, scale.high) == (-16.0, -4.0)  # -15 and -5, at round numbers


def test_what_has_no_logarithm_does_not_widen_a_scale() -> None:
    scale = logarithmic([0.0, -3.0, 2.0, 8.0], 0.0, 1.0)
    assert (scale.low, scale.high) == pytest.approx((2 / 1.1, 8 * 1.1))


@pytest.mark.parametrize(
    ("high", "ticks"),
    [(100.0, [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0]), (200.0, [1.0, 10.0, 100.0])],
)
def test_a_logarithmic_scale_has_two_ticks_more_than_wanted_at_most(
    high: float, ticks: list[float]
) -> None:
    assert Scale(1.0, high, 0.0, 1.0, log=True).ticks(5) == ticks


@pytest.mark.parametrize(
    ("value", "label"),
    [
        (1e6, "1 M"),
        (1e4, "10 k"),
        (9_000.0, "9,000"),
        (1.0025, "1.0025"),
        (1.0, "1"),
        (0.9925, "0.9925"),
        (-0.1 * 3, "-0.3"),
        (1e-3, "0.001"),
        (5e-4, "5.0e-04"),
        (0.0, "0"),
    ],
)
def test_a_tick_says_its_number_whole(value: float, label: str) -> None:
    assert tick_label(value) == label
