"""Quantiles of t and of the largest of several t, without scipy."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

DRAWS = 8000
_CELLS = 8_000_000
"""The most cells of a simulated table; with more contrasts there are fewer draws."""
_SEED = 20_261
_GRID = 20_001


@lru_cache(maxsize=256)
def t_quantile(level: float, df: float) -> float:
    """Return the t such that a t variable is within +-t with probability `level`."""
    # With t = sqrt(df) tan(angle), the density of the angle is proportional to cos(angle)^(df-1).
    end = min(np.pi / 2, 40 / np.sqrt(df))
    angle = np.linspace(0.0, end, _GRID)
    density = np.cos(angle) ** (df - 1)
    mass = np.concatenate(([0.0], np.cumsum((density[1:] + density[:-1]) / 2)))
    found = np.interp(level * mass[-1], mass, angle)
    return float(np.sqrt(df) * np.tan(found))


@lru_cache(maxsize=32)
def normal_draws(count: int, dimensions: int, stream: int = 0) -> Floats:
    """Return fixed standard normal draws, [count, dimensions]."""
    draws = np.random.default_rng((_SEED, stream, dimensions)).standard_normal((count, dimensions))
    draws.flags.writeable = False
    return draws


@lru_cache(maxsize=64)
def scale_draws(count: int, df: float, stream: int = 0) -> Floats:
    """Return fixed draws of an estimated variance over the true one, with `df` degrees."""
    draws = np.random.default_rng((_SEED, 100 + stream)).chisquare(df, count) / df
    draws.flags.writeable = False
    return draws


def max_t_quantile(factor: Floats, df: float, level: float) -> float:
    """Return the c such that all |t| are below c with probability `level`.

    Row i of `factor` times standard normals is the error of contrast i; one variance estimate with
    `df` degrees of freedom serves all. Contrasts without error are left out.
    """
    size = np.linalg.norm(factor, axis=1)
    used = factor[size > 0] / size[size > 0, None]
    if not len(used):
        return 0.0
    count = max(1000, min(DRAWS, _CELLS // len(used)))
    scale = np.sqrt(scale_draws(count, df))
    largest = np.abs(normal_draws(count, used.shape[1]) @ used.T).max(axis=1)
    return float(np.quantile(largest / scale, level))
