"""Evaluate a frozen policy on fresh seeds, over horizons and red agents, or over order codes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wfbench.collecting.keeping import keep_open
from wfbench.contract import Order, Policy, Rollout, UsageError
from wfbench.host.options import all_options
from wfbench.orders import order_code
from wfbench.orders.compliance import chance_level, find_definition
from wfbench.search.answer import share_interval
from wfbench.settings.selection import Choice
from wfbench.store.sweeps import NORMAL, STRESS, Sweep

from .collectors import sweep_collector
from .episodes import FIELDS, JUDGED, summarise
from .job import STRESS_SHARE, horizon, horizon_option
from .playing import Played, play
from .subjects import Subject
from .sweep import SweepPlan

RED = "red"
"""The option that names the red agent."""


@dataclass(frozen=True)
class Setup:
    """How policies are evaluated."""

    collector: Choice
    episodes: int
    seed: int
    definition: str
    stress: int = 0
    """Steps that blue is held in the stress episodes; 0: none are played."""
    judged: bool = True
    """Whether compliance is judged; else only returns are measured."""


@dataclass(frozen=True)
class EvaluationCell:
    """One policy against one red agent over one horizon. Means are per episode."""

    red: str | None
    horizon: int
    episodes: int
    env_return: float
    half_interval: float
    """Half of the 95 % interval of the mean return over independent episodes."""
    compliance: float
    secondary_compliance: float
    fixes: float
    counted: float
    wasted: float
    chance: float | None
    """Compliance of random fixes in the states that this policy met."""
    compliance_low: float = math.nan
    compliance_high: float = math.nan
    """95 % interval of a compliance that is pooled over episodes."""
    stress_return: float = math.nan
    stress_compliance: float = math.nan
    stress_counted: float = math.nan
    """The same after blue was held, where that was asked for."""


def grid(
    subject: Subject, reds: Sequence[str], horizons: Sequence[int]
) -> list[tuple[str | None, int | None]]:
    """Return the cells that the environment's options allow."""
    names = {option.name for option in all_options(subject.env.spec)}
    cells_red: Sequence[str | None] = reds if RED in names else (None,)
    has_horizon = horizon_option(subject.env) is not None
    cells_horizon: Sequence[int | None] = horizons if has_horizon else (None,)
    return list(product(cells_red, cells_horizon))


@keep_open()
def evaluate(
    subject: Subject, setup: Setup, order: Order, cells: Iterable[tuple[str | None, int | None]]
) -> list[EvaluationCell]:
    """Play every cell and judge compliance by `order`."""
    return [_cell(subject, setup, order, red, steps) for red, steps in cells]


def _cell(
    subject: Subject, setup: Setup, order: Order, red: str | None, steps: int | None
) -> EvaluationCell:
    asked = {RED: red, horizon_option(subject.env): steps}
    changed = {name: value for name, value in asked.items() if name and value is not None}
    subject = subject.playing(**changed)
    rollouts: list[Rollout] = []
    if setup.judged:
        rows = _play(subject, setup, [order], rollouts.append).rows[0]
    else:
        rows = _play(subject.without_masks(), setup, [order]).rows[0]
    pooled = setup.judged and find_definition(setup.definition).pooled
    means = summarise(rows, pooled=pooled)
    judged: dict[str, Any] = {**dict.fromkeys(JUDGED, math.nan), "fixes": means.fixes}
    chance = None
    if setup.judged:
        judged = {**means.judged, **_stress(subject, setup, order)}
        if order:
            chance = chance_level(setup.definition, subject.model, order, rollouts[0])
    if pooled:
        right, counted = (rows[:, FIELDS.index(n)].astype(np.int64) for n in ("right", "counted"))
        _, judged["compliance_low"], judged["compliance_high"] = share_interval(right, counted)
    return EvaluationCell(
        red=red,
        horizon=_steps(subject),
        episodes=means.episodes,
        env_return=means.env_return,
        half_interval=1.96 * means.return_sd / math.sqrt(len(rows)),
        chance=chance,
        **judged,
    )


def _stress(subject: Subject, setup: Setup, order: Order) -> dict[str, Any]:
    """Return the figures of episodes in which blue is held at the start, if they are asked for."""
    if not setup.stress or setup.stress >= _steps(subject) or subject.model.idle is None:
        return {}
    held = subject.playing(hold=str(setup.stress), hold_share=1.0)
    fewer = replace(setup, episodes=-(-setup.episodes // STRESS_SHARE))
    rows = _play(held, fewer, [order]).rows[0]
    means = summarise(rows, pooled=find_definition(setup.definition).pooled)
    return {
        "stress_return": means.env_return,
        "stress_compliance": means.compliance,
        "stress_counted": means.counted,
    }


@keep_open()
def sweep_orders(subject: Subject, setup: Setup, orders: Sequence[Order]) -> dict[str, Sweep]:
    """Play a policy that follows any order under each of these on common seeds."""
    plan = SweepPlan(
        subject.ref,
        subject.model,
        setup.definition,
        setup.episodes,
        _steps(subject),
        setup.seed,
        collector=sweep_collector(subject.ref, setup.collector),
    )
    plans = {NORMAL: plan}
    if setup.stress and subject.model.idle is not None:
        plans[STRESS] = replace(plan, hold=setup.stress)
    return {name: each.run(subject.policy, orders)[0] for name, each in plans.items()}


@dataclass(frozen=True)
class CrossRow:
    """A policy given one order's code, judged by every order."""

    order: Order
    env_return: float
    compliance: NDArray[np.float64]
    """By the judging orders, in their sequence."""
    changed: float
    """Share of observations on which the policy acts differently than with its own code."""


@keep_open()
def cross_evaluate(
    subject: Subject, setup: Setup, codes: Sequence[Order], judges: Sequence[Order]
) -> list[CrossRow]:
    """Give the policy other order codes and compare what it does."""
    conditioned = getattr(subject.policy, "conditioned", None)
    if conditioned is None:
        raise UsageError(f"{subject.name} is not conditioned on an order, so none can be changed")
    seen = _observations(subject, setup, judges[:1])
    own = _actions(subject.policy, seen)
    found = []
    for order in codes:
        policy: Policy = conditioned(order_code(order))
        changed = float((_actions(policy, seen) != own).mean())
        given = replace(subject, policy=policy, order=order)
        found.append(_cross_row(given, setup, judges, changed))
    return found


@keep_open()
def judge_all(subjects: Sequence[Subject], setup: Setup, judges: Sequence[Order]) -> list[CrossRow]:
    """Judge trained policies, each by every order."""
    return [_cross_row(subject, setup, judges, math.nan) for subject in subjects]


def _cross_row(subject: Subject, setup: Setup, judges: Sequence[Order], changed: float) -> CrossRow:
    played = _play(subject, setup, judges)
    pooled = find_definition(setup.definition).pooled
    by_order = [summarise(rows, pooled=pooled).compliance for rows in played.rows]
    env_return = float(played.rows[0][:, FIELDS.index("env_return")].mean())
    return CrossRow(subject.order, env_return, np.array(by_order), changed)


def _observations(subject: Subject, setup: Setup, judges: Sequence[Order]) -> NDArray[Any]:
    """Return the distinct observations that the policy meets with its own code."""
    kept: list[NDArray[Any]] = []

    def keep(rollout: Rollout) -> None:
        rows = rollout.obs.reshape(rollout.transitions, -1)
        kept.append(np.unique(rows, axis=0))

    _play(subject, setup, judges, keep)
    return np.unique(np.concatenate(kept), axis=0)


def _play(
    subject: Subject,
    setup: Setup,
    judges: Sequence[Order],
    watch: Callable[[Rollout], None] = lambda _: None,
) -> Played:
    """Play the episodes of an evaluation, judged by every order of `judges`."""
    return play(
        subject.ref,
        setup.collector,
        subject.policy,
        [subject.shaper(judge, setup.definition) for judge in judges],
        episodes=setup.episodes,
        episode_steps=_steps(subject),
        seed=setup.seed,
        watch=watch,
    )


def _actions(policy: Policy, obs: NDArray[Any]) -> NDArray[np.int64]:
    """Return the most likely actions; without a greedy form, those at one draw."""
    likely: Policy = policy.greedy() if hasattr(policy, "greedy") else policy
    return likely.act(obs, np.full(len(obs), 0.5)).actions


def _steps(subject: Subject) -> int:
    steps = horizon(subject.env)
    if steps is None:
        name = subject.env.spec.name
        raise UsageError(
            f"environment {name!r} does not say how long its episodes are (EnvSpec.horizon)"
        )
    return steps
