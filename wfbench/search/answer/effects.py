"""Effects of the precedences, and whether they explain the means of the orders."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from wfbench.orders import unit_pairs
from wfbench.search.answer.design import Design, even_critical
from wfbench.search.answer.noise import Replicates
from wfbench.search.answer.quantiles import Floats, max_t_quantile, normal_draws, scale_draws
from wfbench.search.answer.records import PairEffect

_MISFIT_DRAWS = 4000


def pair_effects(found: Replicates, level: float) -> tuple[PairEffect, ...]:
    """Return the effect of each pair of units, with intervals that hold together."""
    design = found.design
    seen = design.solve[list(design.estimable)] @ found.mean()
    effects = iter(np.where(np.abs(seen) <= found.tiny, 0.0, seen))
    halves = iter(_by_chance(found, level, effects=True))
    return tuple(
        _effect(pair, float(next(effects)), float(next(halves)), found.tiny)
        if told
        else PairEffect(*pair, effect=None, half=None, significant=False)
        for pair, told in zip(unit_pairs(len(design.orders[0])), design.estimable, strict=True)
    )


def any_difference(found: Replicates, level: float) -> bool:
    """Return whether the global test finds a difference between orders."""
    design = found.design
    seen = np.abs(design.tested @ (design.pairs.T @ found.mean()))
    return bool((seen > _by_chance(found, level, effects=False) + found.tiny).any())


def beyond_pairs(found: Replicates, level: float) -> bool:
    """Return whether order means differ in a way that pair effects do not explain.

    Two tests share the error: the sum of the squared residuals, and the largest residual.
    """
    rest = found.design.rest
    if not rest.shape[1]:
        return False
    noise = found.parts(rest=True)[-1]
    residual = rest @ (rest.T @ found.mean())
    if np.abs(residual).max() <= found.tiny:
        return False
    sd = np.linalg.norm(noise.factor, axis=1)
    scale = float((noise.factor**2).sum())
    if scale <= found.tiny**2:
        return True
    if found.even:
        total, largest = _even_misfit(found.design, noise.df, level)
    else:
        total, largest = _misfit_critical(noise.factor, noise.df, level)
    return bool(
        (residual**2).sum() / scale > total
        or (np.abs(residual) > largest * np.maximum(sd, found.tiny)).any()
    )


@lru_cache(maxsize=32)
def _even_misfit(design: Design, df: float, level: float) -> tuple[float, float]:
    return _misfit_critical(design.rest, df, level)


def _misfit_critical(factor: Floats, df: float, level: float) -> tuple[float, float]:
    noise = normal_draws(_MISFIT_DRAWS, factor.shape[1], 1) @ factor.T
    scale = scale_draws(_MISFIT_DRAWS, df, 1)
    size = np.linalg.norm(factor, axis=1)
    sd = np.maximum(size, 1e-6 * size.max())
    total = (noise**2).sum(axis=1) / (factor**2).sum() / scale
    largest = np.abs(noise / sd).max(axis=1) / np.sqrt(scale)
    share = (1 + level) / 2
    return float(np.quantile(total, share)), float(np.quantile(largest, share))


def _by_chance(found: Replicates, level: float, *, effects: bool) -> Floats:
    """Return how large each effect, or contrast of the global test, may be by chance."""
    design, noise = found.design, found.effect_noise()
    contrasts = design.told if effects else design.tested
    factor = contrasts @ (design.pairs.T @ noise.factor)
    if found.even:
        critical = even_critical(design, noise.df, level, effects=effects)
    else:
        critical = max_t_quantile(factor, noise.df, level)
    return np.asarray(critical * np.linalg.norm(factor, axis=1))


def _effect(pair: tuple[int, int], effect: float, half: float, tiny: float) -> PairEffect:
    half = 0.0 if half <= tiny else half
    return PairEffect(*pair, effect=effect, half=half, significant=abs(effect) > half + tiny)
