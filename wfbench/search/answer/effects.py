"""Effects of the precedences, and whether they explain the means of the orders."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from wfbench.orders import unit_pairs
from wfbench.search.answer.design import Design, effect_contrasts, even_critical
from wfbench.search.answer.noise import Replicates
from wfbench.search.answer.quantiles import Floats, max_t_quantile, normal_draws, scale_draws
from wfbench.search.answer.records import PairEffect

_MISFIT_DRAWS = 4000


def pair_effects(found: Replicates, level: float) -> tuple[PairEffect, ...]:
    """Return the effect of each pair of units, with intervals that hold together."""
    design = found.design
    noise = found.effect_noise()
    factor = effect_contrasts(design) @ (design.pairs.T @ noise.factor)
    if found.even:
        critical = even_critical(design, noise.df, level, effects=True)
    else:
        critical = max_t_quantile(factor, noise.df, level)
    effects = iter(_clean(design.solve[list(design.estimable)] @ found.mean(), found.tiny))
    halves = iter(critical * np.linalg.norm(factor, axis=1))
    return tuple(
        _effect(pair, float(next(effects)), float(next(halves)), found.tiny)
        if told
        else PairEffect(*pair, effect=None, half=None, significant=False)
        for pair, told in zip(unit_pairs(len(design.orders[0])), design.estimable, strict=True)
    )


def any_difference(found: Replicates, level: float) -> bool:
    """Return whether the global test finds a difference between orders."""
    design = found.design
    noise = found.effect_noise()
    factor = design.tested @ (design.pairs.T @ noise.factor)
    if found.even:
        critical = even_critical(design, noise.df, level, effects=False)
    else:
        critical = max_t_quantile(factor, noise.df, level)
    seen = np.abs(design.tested @ (design.pairs.T @ found.mean()))
    return bool((seen > critical * np.linalg.norm(factor, axis=1) + found.tiny).any())


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


def _clean(values: Floats, tiny: float) -> Floats:
    return np.asarray(np.where(np.abs(values) <= tiny, 0.0, values))


def _effect(pair: tuple[int, int], effect: float, half: float, tiny: float) -> PairEffect:
    half = 0.0 if half <= tiny else half
    return PairEffect(*pair, effect=effect, half=half, significant=abs(effect) > half + tiny)
