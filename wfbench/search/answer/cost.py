"""What following an order costs against a policy that is free to do what it likes."""

from __future__ import annotations

import numpy as np

from wfbench.search.answer.quantiles import Floats, t_quantile
from wfbench.search.answer.records import Estimate, FollowingCost


def cost_of_following(
    free: list[Floats], bound: list[Floats], best: Floats, best_value: float, level: float
) -> FollowingCost:
    """Return the cost of following the mean order and the best one.

    Arrays are [orders, episodes], one per training. `best` are the weights of orders that give the
    best order's return, `best_value` its estimate.
    """
    by_training = len(free) > 1 and len(bound) > 1
    mean = np.full(len(best), 1 / len(best))
    loose = [one.mean(axis=0) for one in free]
    free_return = float(np.mean([one.mean() for one in loose]))
    bound_mean = float(np.mean([one.mean() for one in bound]))

    def against(weights: Floats, value: float) -> Estimate:
        held = [weights @ one for one in bound]
        half = _half(loose, held, level, by_training=by_training)
        gap = free_return - value
        return Estimate(gap, gap - half, gap + half)

    return FollowingCost(
        free_return=free_return,
        against_mean=against(mean, bound_mean),
        against_best=against(best, best_value),
        about="orders" if by_training else "this policy",
    )


def _half(first: list[Floats], second: list[Floats], level: float, *, by_training: bool) -> float:
    """Return the half width of Welch's interval of the difference of two means."""
    errors: list[tuple[float, float]] = []
    for group in (first, second):
        if by_training:
            values = np.array([one.mean() for one in group])
            errors.append((float(values.var(ddof=1)) / len(values), len(values) - 1))
        else:
            errors += [
                (float(one.var(ddof=1)) / len(one) / len(group) ** 2, len(one) - 1) for one in group
            ]
    total = sum(error for error, _ in errors)
    if not total > 0:
        return 0.0
    df = total**2 / sum(error**2 / own for error, own in errors)
    return t_quantile(level, float(df)) * float(np.sqrt(total))
