"""Compare every order with the best one (Hsu's multiple comparisons with the best)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from wfbench.search.answer.design import Design
from wfbench.search.answer.noise import Part, Replicates
from wfbench.search.answer.quantiles import Floats, normal_draws, scale_draws, t_quantile

_DRAWS = 4000
_DRAWS_EACH = 1000
"""Draws per order where each order needs a critical value of its own."""
_RATIO_STEP = 0.5
"""Ratios of variances are rounded to powers of e to this."""


@dataclass(frozen=True)
class BestComparison:
    """Every order against the best; arrays over orders."""

    estimate: Floats
    """Less the mean over orders."""
    half: Floats
    may_be_best: NDArray[np.bool_]
    worse_by_at_most: Floats


def compare_with_best(
    found: Replicates, level: float, *, different: bool, raw: bool
) -> BestComparison:
    """Return the comparison; if orders are not `different`, each may be the best.

    Means are those that pair effects explain, or raw ones. Trainings favour orders that are alike
    together, so the noise of a difference depends on which orders differ: episodes tell its shape,
    and positions, cycles and the rest each have a ratio of their own (see `noise`). The noise of
    the rest counts as independent of that of pairs. Simulated critical values account for how well
    each ratio is known.
    """
    design = found.design
    mean = found.mean()
    mean = mean - mean.mean()
    estimate = mean if raw else design.pairs @ (design.pairs.T @ mean)
    parts = found.parts(rest=raw)
    squares = [_squared_distances(part.factor) for part in parts]
    width = np.sqrt(sum(squares, np.zeros((len(mean), len(mean)))))
    critical = _critical(found, parts, level, rest=raw)
    reach = critical[:, None] * width
    gap = estimate[None, :] - estimate[:, None]  # [i, j]: how far j is ahead of i
    may_be_best = (gap <= reach + found.tiny).all(axis=1)
    may_be_best[[np.argmax(estimate), np.argmax(mean)]] = True
    if not different:
        may_be_best[:] = True
    ahead = (reach - gap)[may_be_best]  # [best, j]: how far each possible best may be ahead of j
    ahead[np.arange(len(ahead)), np.flatnonzero(may_be_best)] = 0.0
    worse = np.maximum(ahead.max(axis=0), 0.0)
    worse[worse <= found.tiny] = 0.0
    own = sum(((part.factor**2).sum(axis=1) for part in parts), np.zeros(len(mean)))
    df = min((part.df for part in parts), default=1)
    half = t_quantile(level, df) * np.sqrt(own)
    return BestComparison(estimate, half, may_be_best, worse)


def _critical(found: Replicates, parts: list[Part], level: float, *, rest: bool) -> Floats:
    """Return each order's critical value as the control of one-sided comparisons."""
    count = len(found.design.orders)
    if not (found.design.complete and found.even):
        return _simulated(parts, level, range(count), _DRAWS_EACH)
    # Orders are alike but for the names of their units, so the first one's serves all. It depends
    # on the ratio of the variances only, and little; it is kept for rounded ratios.
    sizes = [float((part.factor**2).sum()) / part.factor.shape[1] for part in parts]
    largest = max(sizes, default=0.0)
    if not largest > 0:
        return np.zeros(count)
    steps = [np.log(max(size / largest, 1e-4)) / _RATIO_STEP for size in sizes]
    value = _rounded_critical(
        found.design,
        tuple(part.df for part in parts),
        tuple(round(step) for step in steps),
        level,
        rest=rest,
    )
    return np.full(count, value)


@lru_cache(maxsize=512)
def _rounded_critical(
    design: Design, dfs: tuple[float, ...], steps: tuple[int, ...], level: float, *, rest: bool
) -> float:
    parts = [
        Part(basis * np.exp(step * _RATIO_STEP / 2), df)
        for basis, df, step in zip(design.parts(rest=rest), dfs, steps, strict=True)
    ]
    return float(_simulated(parts, level, range(1), _DRAWS)[0])


def _simulated(parts: list[Part], level: float, controls: range, draws: int) -> Floats:
    """Return the critical values of these controls."""
    if not parts:
        return np.zeros(len(controls))
    squares = [_squared_distances(part.factor) for part in parts]
    noise = sum(
        (
            normal_draws(draws, part.factor.shape[1], 10 + stream) @ part.factor.T
            for stream, part in enumerate(parts)
        ),
        np.zeros((draws, 1)),
    ).astype(np.float32)
    scales = [scale_draws(draws, part.df, 10 + stream) for stream, part in enumerate(parts)]
    return np.array([_control_quantile(noise, scales, squares, i, level) for i in controls])


def _control_quantile(
    noise: NDArray[np.float32],
    scales: list[Floats],
    squares: list[Floats],
    control: int,
    level: float,
) -> float:
    own = np.array([square[control] for square in squares], dtype=np.float32)
    variance = np.stack(scales, axis=1).astype(np.float32) @ own
    used = own.sum(axis=0) > 0
    if not used.any():
        return 0.0
    lead = noise - noise[:, [control]]
    largest = (lead[:, used] / np.sqrt(variance[:, used])).max(axis=1)
    return max(0.0, float(np.quantile(largest, level)))


def _squared_distances(factor: Floats) -> Floats:
    inner = factor @ factor.T
    own = np.diag(inner)
    found = own[:, None] + own[None, :] - 2 * inner
    found[found <= 1e-12 * max(float(own.max(initial=0)), 1e-300)] = 0.0
    return np.asarray(found)
