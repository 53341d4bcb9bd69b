from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wfbench.benchmarks.scaling.growth import TOLERANCE, Growth, fit_growth

SIZES = (1.0, 10.0, 50.0, 200.0, 1_000.0, 5_000.0, 20_000.0)


Points = list[tuple[float, list[float]]]


def points(*values: float, noise: float = 0.01, x: tuple[float, ...] = SIZES) -> Points:
    """Return two samples of each value, as far apart as the noise says."""
    pairs = ([value / (1 + noise), value * (1 + noise)] for value in values)
    return list(zip(x, pairs, strict=False))


def curve(knee: float) -> list[float]:
    return [100.0 * x / (x + knee) for x in SIZES]


def test_what_does_not_change_is_flat() -> None:
    assert fit_growth(points(*[7.0] * 7)) == Growth("flat", pytest.approx(7.0))


def test_what_grows_in_proportion_is_linear() -> None:
    assert fit_growth(points(*(3 * x for x in SIZES))) == Growth("linear", pytest.approx(3.0))


@given(st.floats(20, 2_000), st.integers(0, 1_000))
def test_a_bend_is_found_where_it_is(knee: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    samples = np.array(curve(knee)) * np.exp(rng.normal(0, 0.01, (4, 7)))
    found = fit_growth([(x, list(s)) for x, s in zip(SIZES, samples.T, strict=True)])
    assert found.kind == "knee"
    # The corner and the bend with the same knee differ by a factor of 2 there at most.
    assert knee / 2 < (found.knee or 0) < 2 * knee
    assert found.level == pytest.approx(100, rel=TOLERANCE)


def test_a_corner_is_found_where_it_is() -> None:
    workers = (1.0, 2.0, 3.0, 4.0)
    found = fit_growth(points(1.0, 2.0, 2.0, 2.0, x=workers))
    assert (found.kind, found.knee) == ("knee", pytest.approx(2.0, rel=0.01))


@pytest.mark.parametrize("end", [SIZES[0], SIZES[-1]])
def test_a_bend_is_looked_for_as_far_as_the_points_go(end: float) -> None:
    found = fit_growth(points(*curve(end)))
    assert (found.kind, found.knee) == ("knee", pytest.approx(end))
    assert found.level == pytest.approx(100.0)


def test_a_fall_is_no_knee() -> None:
    found = fit_growth(points(1.0, 10.0, 50.0, 100.0, 100.0, 90.0, 40.0))
    assert (found.kind, found.knee, found.level) == ("falls", 200.0, pytest.approx(100.0))


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (points(1.0, 2.0, 3.0), "3 points are too few, 4 are needed"),
        ([(x, [1.0]) for x in SIZES], "one round does not show the noise"),
        (points(*[1.0] * 7, noise=1.0), "samples scatter by"),
        (points(1.0, 1.1, 1.2, 1.3, x=(1.0, 1.1, 1.2, 1.3)), "flat and linear both fit"),
        (points(*(x**0.5 for x in SIZES)), "no curve fits: the point at"),
    ],
)
def test_what_cannot_be_told_says_why(given: Points, why: str) -> None:
    found = fit_growth(given)
    assert found.kind == "unknown"
    assert found.why.startswith(why)


def test_noise_within_an_interval_contradicts_nothing() -> None:
    values = (7.0, 10.2, 7.0, 10.2, 7.0, 10.2, 7.0)
    assert fit_growth(points(*values, noise=0.01)).kind == "unknown"
    assert fit_growth(points(*values, noise=0.1)).kind == "flat"


def test_pure_noise_is_rarely_called_a_trend() -> None:
    """Means of three samples lie beyond the tolerance, 3.2 standard errors, in 0.14 % of cases.

    So one of seven does in 1 % of all curves.
    """
    rng = np.random.default_rng(0)
    curves = np.exp(rng.normal(0, 0.1, (200, len(SIZES), 3))).tolist()
    kinds = [fit_growth(list(zip(SIZES, curve, strict=True))).kind for curve in curves]
    assert sum(kind not in {"flat", "unknown"} for kind in kinds) <= 0.01 * len(kinds)


def test_chosen_curves_are_called_what_they_were(golden: Callable[[str, str], None]) -> None:
    """Flat ones, bends, falls and others, with noise of its own and few samples at some points."""
    rng = np.random.default_rng(5)
    shapes = {
        "flat": np.ones(7),
        "linear": np.array(SIZES),
        "bend": np.array(curve(300.0)),
        "fall": np.array([1.0, 10.0, 50.0, 100.0, 100.0, 90.0, 60.0]),
        "dip": np.array([1.0, 10.0, 50.0, 100.0, 40.0, 90.0, 95.0]),
        "root": np.array(SIZES) ** 0.5,
    }
    lines = []
    for name, shape in shapes.items():
        for noise in (0.02, 0.06, 0.1, 0.14, 0.18, 0.22):
            counts = rng.integers(1, 6, len(SIZES)).tolist()
            taken = [
                (x, (y * rng.lognormal(0.0, noise, n)).tolist())
                for x, y, n in zip(SIZES, shape, counts, strict=True)
            ]
            lines.append(f"{name}, noise {noise}: {fit_growth(taken)}")
    golden("growth.txt", "\n".join(lines))


@pytest.mark.parametrize(("counts", "kind"), [((9, 9), "falls"), ((9, 1), "unknown")])
def test_a_fall_counts_if_it_exceeds_the_noise_of_both_ends(
    counts: tuple[int, int], kind: str
) -> None:
    """The noise of one sample is as large as the fall; the mean of nine has a third of it."""
    values = (1.0, 10.0, 50.0, 200.0, 150.0, 120.0, 100.0)
    sizes = (9, 9, 9, counts[0], 9, 9, counts[1])
    taken = [
        (x, [y * np.exp(0.3 * (-1) ** k) for k in range(n)] if n > 1 else [y])
        for x, y, n in zip(SIZES, values, sizes, strict=True)
    ]
    assert fit_growth(taken).kind == kind
