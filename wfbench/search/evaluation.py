"""A frozen policy on fresh seeds, over horizons and red agents; and over order codes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wfbench.compliance import chance_level
from wfbench.contract import EnvSpec, Order, Policy, Rollout, UsageError
from wfbench.options import declared_options
from wfbench.orders import order_code
from wfbench.selection import Choice

from .episodes import FIELDS, summarise
from .playing import play
from .subjects import Subject

_RED = "red"


@dataclass(frozen=True)
class Setup:
    """How policies are evaluated."""

    collector: Choice
    episodes: int
    seed: int
    definition: str


@dataclass(frozen=True)
class Cell:
    """One policy against one red agent over one horizon. Means are per episode."""

    red: str | None
    horizon: int
    episodes: int
    env_return: float
    half_interval: float
    """Half of the 95 % interval of the mean return: these episodes are independent."""
    compliance: float
    beside_compliance: float
    fixes: float
    counted: float
    wasted: float
    chance: float | None
    """Compliance of random fixes in the states this policy found itself in."""


def grid(
    subject: Subject, reds: Sequence[str], horizons: Sequence[int]
) -> list[tuple[str | None, int | None]]:
    """The cells that the environment's options allow."""
    spec = subject.env.spec
    names = {option.name for option in declared_options(spec)}
    has_horizon = isinstance(spec, EnvSpec) and spec.horizon is not None
    cells_red: Sequence[str | None] = reds if _RED in names else (None,)
    cells_horizon: Sequence[int | None] = horizons if has_horizon else (None,)
    return [(red, horizon) for red in cells_red for horizon in cells_horizon]


def evaluate(
    subject: Subject,
    setup: Setup,
    order: Order,
    cells: Iterable[tuple[str | None, int | None]],
    done: Callable[[Cell], None] = lambda _: None,
) -> list[Cell]:
    """Play every cell; `order` is what compliance is judged by. Told each cell when it is done."""
    model = subject.model()
    found = []
    for red, horizon in cells:
        changed = _changed(subject, red, horizon)
        ref = subject.ref(**changed)
        steps = _steps(subject, ref.options)
        shaper = subject.shaper(model, order, setup.definition)
        rollouts: list[Rollout] = []
        played = play(
            ref,
            setup.collector,
            subject.policy,
            [shaper],
            episodes=setup.episodes,
            episode_steps=steps,
            seed=setup.seed,
            watch=rollouts.append,
        )
        chance = chance_level(setup.definition, model, order, rollouts[0])
        found.append(_cell(red, steps, played.rows[0], chance))
        done(found[-1])
    return found


@dataclass(frozen=True)
class CrossRow:
    """A policy given one order's code, judged by every order."""

    order: Order
    env_return: float
    compliance: NDArray[np.float64]
    """By the judging orders, in their order."""
    changed: float
    """Share of the observations its own code meets on which this code takes another action."""


def cross_evaluate(
    subject: Subject,
    setup: Setup,
    codes: Sequence[Order],
    judges: Sequence[Order],
    done: Callable[[CrossRow], None] = lambda _: None,
) -> list[CrossRow]:
    """Change nothing but the order code the policy is given, and see what it does."""
    conditioned = getattr(subject.policy, "conditioned", None)
    if conditioned is None or subject.order is None:
        raise UsageError(f"{subject.name} is not conditioned on an order, so none can be changed")
    seen = _observations(subject, setup, judges[:1])
    own = _actions(subject.policy, seen)
    found = []
    for order in codes:
        policy: Policy = conditioned(order_code(order))
        changed = float((_actions(policy, seen) != own).mean())
        found.append(_cross_row(replace(subject, policy=policy), setup, order, judges, changed))
        done(found[-1])
    return found


def judge_all(
    subjects: Sequence[Subject],
    setup: Setup,
    judges: Sequence[Order],
    done: Callable[[CrossRow], None] = lambda _: None,
) -> list[CrossRow]:
    """Trained policies as they are, each judged by every order."""
    found = []
    for subject in subjects:
        if subject.order is None:
            raise UsageError(f"{subject.name} follows no order")
        found.append(_cross_row(subject, setup, subject.order, judges, math.nan))
        done(found[-1])
    return found


def _cross_row(
    subject: Subject, setup: Setup, order: Order, judges: Sequence[Order], changed: float
) -> CrossRow:
    model, ref = subject.model(), subject.ref()
    played = play(
        ref,
        setup.collector,
        subject.policy,
        [subject.shaper(model, judge, setup.definition) for judge in judges],
        episodes=setup.episodes,
        episode_steps=_steps(subject, ref.options),
        seed=setup.seed,
    )
    by_order = [rows[:, FIELDS.index("compliance")].mean() for rows in played.rows]
    env_return = float(played.rows[0][:, FIELDS.index("env_return")].mean())
    return CrossRow(order, env_return, np.array(by_order), changed)


def _observations(subject: Subject, setup: Setup, judges: Sequence[Order]) -> NDArray[Any]:
    """The distinct observations that the policy meets with its own code."""
    kept: list[NDArray[Any]] = []

    def keep(rollout: Rollout) -> None:
        rows = rollout.obs.reshape(rollout.transitions, -1)
        kept.append(np.unique(rows, axis=0))

    ref = subject.ref()
    play(
        ref,
        setup.collector,
        subject.policy,
        [subject.shaper(subject.model(), judge, setup.definition) for judge in judges],
        episodes=setup.episodes,
        episode_steps=_steps(subject, ref.options),
        seed=setup.seed,
        watch=keep,
    )
    return np.unique(np.concatenate(kept), axis=0)


def _actions(policy: Policy, obs: NDArray[Any]) -> NDArray[np.int64]:
    """What the policy is most likely to do; without a greedy form, what it does at one draw."""
    likely: Policy = policy.greedy() if hasattr(policy, "greedy") else policy
    return likely.act(obs, np.full(len(obs), 0.5)).actions


def _changed(subject: Subject, red: str | None, horizon: int | None) -> dict[str, Any]:
    spec = subject.env.spec
    changed: dict[str, Any] = {} if red is None else {_RED: red}
    if horizon is not None and isinstance(spec, EnvSpec) and spec.horizon is not None:
        changed[spec.horizon] = horizon
    return changed


def _steps(subject: Subject, options: Any) -> int:
    spec = subject.env.spec
    if isinstance(spec, EnvSpec) and spec.horizon is not None:
        return int(options[spec.horizon])
    raise UsageError(
        f"environment {spec.name!r} does not say how long its episodes are (EnvSpec.horizon)"
    )


def _cell(red: str | None, horizon: int, rows: NDArray[np.float64], chance: float | None) -> Cell:
    means = summarise(rows)
    half = 1.96 * means.return_sd / math.sqrt(len(rows)) if len(rows) > 1 else math.nan
    return Cell(
        red=red,
        horizon=horizon,
        episodes=means.episodes,
        env_return=means.env_return,
        half_interval=half,
        compliance=means.compliance,
        beside_compliance=means.beside,
        fixes=means.fixes,
        counted=means.counted,
        wasted=means.wasted,
        chance=chance,
    )
