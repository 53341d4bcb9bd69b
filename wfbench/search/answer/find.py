"""Turn sweeps of all orders into an answer."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from wfbench.contract import Order, UsageError
from wfbench.orders import check_order
from wfbench.search.answer.best import BestComparison, compare_with_best
from wfbench.search.answer.choices import (
    FEW_CHOICES,
    FOLLOWED,
    share_interval,
    status_of,
    summarise_choices,
)
from wfbench.search.answer.cost import cost_of_following
from wfbench.search.answer.design import Design, design_of
from wfbench.search.answer.effects import any_difference, beyond_pairs, pair_effects
from wfbench.search.answer.noise import replicates_of
from wfbench.search.answer.quantiles import Floats
from wfbench.search.answer.records import Answer, FollowingCost, OrderAnswer, PairEffect, Verdict
from wfbench.search.answer.variance import variance_shares
from wfbench.store.sweeps import Sweep


def find_answer(
    sweeps: Sequence[Sweep],
    *,
    level: float = 0.95,
    free: Sequence[Sweep] | None = None,
    threshold: float = FOLLOWED,
) -> Answer:
    """Return what the sweeps tell about orders: one sweep per training seed.

    `free` are sweeps of policies that were trained without a reward for following.
    """
    sorted_sweeps = _checked(sweeps)
    design = design_of(sorted_sweeps[0].orders)
    returns = [sweep.env_return for sweep in sorted_sweeps]
    found = replicates_of(design, returns)
    effects = pair_effects(found, level)
    different = any_difference(found, level)
    raw = beyond_pairs(found, level)
    compared = compare_with_best(found, level, different=different, raw=raw)
    centre = float(np.mean([one.mean() for one in returns]))
    orders = _order_results(sorted_sweeps, compared, centre, threshold)
    best = int(np.argmax(compared.estimate))
    verdict: Verdict = "difference" if different else "no-difference"
    choices = summarise_choices(
        [sweep.right for sweep in sorted_sweeps],
        [sweep.choices for sweep in sorted_sweeps],
        {one.order: one.status for one in orders},
        threshold,
    )
    return Answer(
        verdict="provisional" if len(sweeps) == 1 else verdict,
        about="orders" if len(sweeps) > 1 else "this policy",
        different=different,
        level=level,
        trainings=len(sweeps),
        episodes=sum(one.shape[1] for one in returns),
        mean_return=centre,
        effects=effects,
        beyond_pairs=raw,
        best_order=design.orders[best],
        best=tuple(one.order for one in orders if one.may_be_best),
        largest_effect=_largest_effect(effects),
        largest_difference=float(compared.worse_by_at_most.max()),
        orders=orders,
        variance=variance_shares(returns),
        choices=choices,
        few_choices=choices.per_episode < FEW_CHOICES,
        cost=_cost(free, returns, design, orders[best], level, raw=raw) if free else None,
    )


def _checked(sweeps: Sequence[Sweep]) -> list[Sweep]:
    """Return the sweeps with orders sorted; raise UsageError if they do not fit together."""
    if not sweeps:
        raise UsageError("an answer needs at least one sweep")
    orders = tuple(sorted(sweeps[0].orders))
    if not orders or len(set(orders)) != len(orders):
        raise UsageError("a sweep must have at least one order, and each order once")
    for order in orders:
        check_order(order, len(orders[0]))
    found = [_sorted_sweep(sweep, orders) for sweep in sweeps]
    if len(found) == 1 and found[0].env_return.shape[1] < 2:
        raise UsageError("one training needs at least 2 episodes per order")
    return found


def _sorted_sweep(sweep: Sweep, orders: tuple[Order, ...]) -> Sweep:
    if tuple(sorted(sweep.orders)) != orders:
        raise UsageError("all sweeps of an answer must have the same orders")
    shape = sweep.env_return.shape
    if len(shape) != 2 or shape[0] != len(orders) or not shape[1]:
        raise UsageError(f"returns of shape {shape} do not fit {len(orders)} orders")
    if sweep.choices.shape != shape or sweep.right.shape != shape:
        raise UsageError("returns, choices and right choices must have the same shape")
    if not np.isfinite(sweep.env_return).all():
        raise UsageError("a sweep has a return that is not a finite number")
    if (sweep.right < 0).any() or (sweep.right > sweep.choices).any():
        raise UsageError("a sweep has more right choices than choices, or fewer than none")
    place = [sweep.orders.index(order) for order in orders]
    returns = np.asarray(sweep.env_return, dtype=np.float64)
    return Sweep(orders, returns[place], sweep.choices[place], sweep.right[place])


def _order_results(
    sweeps: list[Sweep], compared: BestComparison, centre: float, threshold: float
) -> tuple[OrderAnswer, ...]:
    means = np.mean([sweep.env_return.mean(axis=1) for sweep in sweeps], axis=0)
    right = np.concatenate([sweep.right for sweep in sweeps], axis=1)
    choices = np.concatenate([sweep.choices for sweep in sweeps], axis=1)
    results = []
    for index, order in enumerate(sweeps[0].orders):
        share, low, high = share_interval(right[index], choices[index])
        count = int(choices[index].sum())
        results.append(
            OrderAnswer(
                order=order,
                mean=float(means[index]),
                estimate=centre + float(compared.estimate[index]),
                half=float(compared.half[index]),
                may_be_best=bool(compared.may_be_best[index]),
                worse_by_at_most=float(compared.worse_by_at_most[index]),
                choices=count,
                choices_per_episode=count / choices.shape[1],
                share_right=share,
                share_low=low,
                share_high=high,
                status=status_of(share, count, threshold),
            )
        )
    return tuple(results)


def _largest_effect(effects: tuple[PairEffect, ...]) -> float | None:
    sizes = [
        abs(one.effect) + one.half
        for one in effects
        if one.effect is not None and one.half is not None
    ]
    return max(sizes, default=None)


def _cost(
    free: Sequence[Sweep],
    returns: list[Floats],
    design: Design,
    best: OrderAnswer,
    level: float,
    *,
    raw: bool,
) -> FollowingCost:
    unit = np.array([float(order == best.order) for order in design.orders])
    weights = unit if raw else 1 / len(unit) + design.pairs @ (design.pairs.T @ unit)
    loose = [np.asarray(sweep.env_return, dtype=np.float64) for sweep in free]
    if not all(np.isfinite(one).all() for one in loose):
        raise UsageError("a free policy has a return that is not a finite number")
    if min(one.shape[1] for one in loose + returns) < 2 and min(len(loose), len(returns)) < 2:
        raise UsageError("the cost of following needs 2 episodes per order, or 2 trainings of each")
    return cost_of_following(loose, returns, weights, best.estimate, level)
