"""Variance components of returns: orders, trainings, both together, episodes."""

from __future__ import annotations

import numpy as np

from wfbench.search.answer.quantiles import Floats
from wfbench.search.answer.records import VarianceShares


def variance_shares(returns: list[Floats]) -> VarianceShares:
    """Return the shares by analysis of variance; negative estimates count as 0.

    `returns` holds one array [orders, episodes] per training.
    """
    n, trainings = len(returns[0]), len(returns)
    means = np.array([one.mean(axis=1) for one in returns])
    episodes = 1 / float(np.mean([1 / one.shape[1] for one in returns]))
    by_seed, leftover = _within(returns)
    centre = means.mean()
    order = means.mean(axis=0) - centre
    ms_order = trainings * float((order**2).sum()) / max(n - 1, 1)
    if leftover is None or by_seed is None:
        return VarianceShares(None, None, None, None)
    between, together = None, None
    if trainings == 1:
        ms_both = leftover / episodes
    else:
        training = means.mean(axis=1) - centre
        both = means - centre - order - training[:, None]
        ms_both = float((both**2).sum()) / max((n - 1) * (trainings - 1), 1)
        ms_training = n * float((training**2).sum()) / (trainings - 1)
        between = max(0.0, (ms_training - ms_both) / n - by_seed / episodes)
        together = max(0.0, ms_both - leftover / episodes)
    orders = max(0.0, (ms_order - ms_both) / trainings)
    found = [orders, between, together, by_seed + leftover]
    largest = max(float(np.abs(one).max()) for one in returns)
    total = sum(part for part in found if part is not None)
    if total <= (1e-9 * largest) ** 2:
        total = np.inf
    return VarianceShares(*(None if part is None else float(part / total) for part in found))


def _within(returns: list[Floats]) -> tuple[float | None, float | None]:
    """Return the variance of env seeds, and that of episodes of an order beyond it.

    None if each training has a single episode per order.
    """
    n = len(returns[0])
    df = sum(one.shape[1] - 1 for one in returns)
    if not df:
        return None, None
    columns = [one.mean(axis=0) - one.mean() for one in returns]
    ms_seed = n * sum(float((column**2).sum()) for column in columns) / df
    if n == 1:
        return ms_seed, 0.0
    leftover = sum(
        float(((one - one.mean(axis=1, keepdims=True) - column) ** 2).sum())
        for one, column in zip(returns, columns, strict=True)
    ) / (df * (n - 1))
    return max(0.0, (ms_seed - leftover) / n), leftover
