"""What a curve does: flat, linear, a knee, a fall, or nothing that can be told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from wfbench.benchmarks.statistics.intervals import CONFIDENCE
from wfbench.search.answer.quantiles import t_quantile

LEAST_POINTS = 4
TOLERANCE = 0.2
"""How far a point may lie from a fitted curve, as a share, if its interval is narrower."""
_SCATTER = 0.3
"""If half of the intervals reach further than this share, nothing is fitted."""
_PLACES = 400
"""Knees that are tried between the first point and the last."""

Kind = Literal["flat", "linear", "knee", "falls", "unknown"]
Curve = NDArray[np.float64]


@dataclass(frozen=True)
class Growth:
    """The simplest curve that fits points which rise at most in proportion to x."""

    kind: Kind
    level: float | None = None
    """Flat: the value. Linear: value per x. Knee: the value it levels off at. Falls: the peak."""
    knee: float | None = None
    """Where it levels off, or where it begins to fall."""
    why: str = ""
    """Why it cannot be told."""


def fit_growth(points: Sequence[tuple[float, Sequence[float]]]) -> Growth:
    """Return the first of these that no point contradicts: flat, linear, knee, falls.

    A point is an x and the samples taken there. It contradicts a curve if it lies more than
    TOLERANCE away from it and the curve passes outside its 95 % interval. Curves are fitted by
    least squares of the logarithms. A knee is tried as a corner, `min(1, x / knee)`, and as a bend,
    `x / (x + knee)`.
    """
    if len(points) < LEAST_POINTS:
        return Growth("unknown", why=f"{len(points)} points are too few, {LEAST_POINTS} are needed")
    points = sorted(points, key=lambda point: point[0])
    x = np.array([at for at, _ in points], dtype=np.float64)
    y = np.array([float(np.log(samples).mean()) for _, samples in points])
    half = _half_widths([samples for _, samples in points])
    if half is None:
        return Growth("unknown", why="one round does not show the noise")
    if np.median(half) > np.log1p(_SCATTER):
        return Growth("unknown", why=f"samples scatter by {np.expm1(np.median(half)):.0%}")
    allowed = np.maximum(half, np.log1p(TOLERANCE))
    found = [_fitted(kind, x, y) for kind in ("flat", "linear", "knee")]
    fits = [growth for growth, away in found if (np.abs(away) <= allowed).all()]
    if [growth.kind for growth in fits[:2]] == ["flat", "linear"]:
        return Growth("unknown", why="flat and linear both fit: the points are too close or noisy")
    return fits[0] if fits else _other(x, y, half, np.abs(found[-1][1]) - allowed)


def _fitted(kind: Kind, x: Curve, y: Curve) -> tuple[Growth, Curve]:
    """Return the best curve of a kind, and how far the logarithm of each point is away from it."""
    if kind == "knee":
        tried: list[tuple[float | None, Curve]]
        knees = [float(knee) for knee in np.geomspace(x[0], x[-1], _PLACES)]
        shapes = [(k, shape) for k in knees for shape in (np.minimum(1.0, x / k), x / (x + k))]
        tried = [(knee, y - np.log(shape)) for knee, shape in shapes]
    else:
        tried = [(None, y if kind == "flat" else y - np.log(x))]
    knee, away = min(tried, key=lambda one: float(one[1].var()))
    level = float(away.mean())
    return Growth(kind, float(np.exp(level)), knee), away - level


def _other(x: Curve, y: Curve, half: Curve, excess: Curve) -> Growth:
    """Return a steady fall that noise does not explain; else where the best knee fails."""
    peak = int(y.argmax())
    drop = y[peak] - y[-1]
    steady = (np.diff(y[peak:]) <= np.maximum(half[peak:-1], np.log1p(TOLERANCE))).all()
    if steady and drop > max(half[-1] + half[peak], np.log1p(TOLERANCE)):
        return Growth("falls", float(np.exp(y[peak])), float(x[peak]))
    worst = int(excess.argmax())
    return Growth("unknown", why=f"no curve fits: the point at {x[worst]:,.0f} is off")


def _half_widths(samples: Sequence[Sequence[float]]) -> Curve | None:
    """Return half the width of each point's interval as a logarithm, from the noise of all points.

    A few samples tell little of the noise of one point, but together with those of the others they
    do. None if no point has two samples.
    """
    repeated = [np.log(values) for values in samples if len(values) > 1]
    if not repeated:
        return None
    freedom = sum(len(logs) - 1 for logs in repeated)
    variance = sum(float(((logs - logs.mean()) ** 2).sum()) for logs in repeated) / freedom
    reach = t_quantile(CONFIDENCE, freedom) * variance**0.5
    return np.array([reach / len(values) ** 0.5 for values in samples])
