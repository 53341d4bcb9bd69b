"""Promises about what is delivered: the right transitions, all of them, unchanged."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wfbench.contract import Plan, Policy, Rollout, uniform_draws
from wfbench.policies import NetworkPolicy, RandomPolicy
from wfbench.testing.ground import ACTIONS, EPISODE, N_ENVS, STEPS, Ground
from wfbench.testing.verdict import BrokenPromiseError, DoesNotApply, expect

from .catalogue import COLLECTOR

_COMPARED = (
    "obs",
    "actions",
    "rewards",
    "terminated",
    "truncated",
    "compromised",
    "ended_session",
    "log_probs",
    "values",
)


def same_as_reference(
    ground: Ground, plan: Plan, policy: Policy | None = None, steps: Sequence[int] = (STEPS, STEPS)
) -> None:
    """Expect that the subject delivers what the sequential collector does."""
    delivered = ground.collect(plan, policy, steps)
    if ground.deterministic:
        expected = ground.reference(plan, policy, steps)
        for number, (rollout, truth) in enumerate(zip(delivered, expected, strict=True)):
            _expect_same_rollout(rollout, truth, number)
    else:
        _expect_real_stretches(ground, plan, policy, delivered)


def _expect_same_rollout(rollout: Rollout, truth: Rollout, number: int) -> None:
    for name in (*_COMPARED, "final_obs", "next_obs", "env_id", "first_step", "policy_version"):
        got, wanted = getattr(rollout, name), getattr(truth, name)
        if not np.array_equal(got, wanted):
            raise BrokenPromiseError(
                f"{name} of rollout {number} is not what sequential delivers{_where(got, wanted)}"
            )
    expect(
        rollout.transition_hash() == truth.transition_hash(),
        f"rollout {number} has another transition hash than sequential's: "
        f"its observations are of type {rollout.obs.dtype}, not {truth.obs.dtype}",
    )


def _where(got: NDArray[Any], wanted: NDArray[Any]) -> str:
    if got.shape != wanted.shape:
        return f": its shape is {got.shape}, not {wanted.shape}"
    place = np.argwhere(got != wanted)[0]
    named = ("row", "column", "feature")[: len(place)] if got.ndim > 1 else ("position",)
    return " first at " + ", ".join(f"{n} {i}" for n, i in zip(named, place, strict=False))


def _expect_real_stretches(
    ground: Ground, plan: Plan, policy: Policy | None, delivered: Sequence[Rollout]
) -> None:
    """Each stretch of an asynchronous collector is where and what the reference says it is."""
    longest = max(int(r.first_step.max()) + r.actions.shape[0] for r in delivered)
    truth = ground.reference(plan, policy, (longest,))[0]
    for rollout in delivered:
        length = rollout.actions.shape[0]
        at_end = 0
        ends = rollout.ended.sum(axis=0)
        for column, (env, first) in enumerate(zip(rollout.env_id, rollout.first_step, strict=True)):
            for name in _COMPARED:
                wanted = getattr(truth, name)[first : first + length, env]
                expect(
                    np.array_equal(getattr(rollout, name)[:, column], wanted),
                    f"{name} of env {env} from step {first} on is not what that env gives there",
                )
            at_end += int(ends[column])
        expect(len(rollout.final_obs) == at_end, "there is not one final_obs per ended episode")


@COLLECTOR.promise()
def same_transitions(ground: Ground) -> None:
    """It delivers the same transitions as sequential."""
    same_as_reference(ground, ground.plan())


@COLLECTOR.promise()
def same_transitions_with_a_network(ground: Ground) -> None:
    """It delivers the same transitions with a network policy."""
    policy = NetworkPolicy.initial(52, ACTIONS, 3)
    same_as_reference(ground, ground.plan(), policy)


@COLLECTOR.promise()
def same_transitions_batched(ground: Ground) -> None:
    """It delivers the same transitions of an environment with a batched form."""
    same_as_reference(ground, ground.plan(ground.batched_env(), n_envs=11))


@COLLECTOR.promise()
def same_transitions_of_floats(ground: Ground) -> None:
    """It delivers the same transitions of observations that are not bits."""
    same_as_reference(ground, ground.plan(ground.env(obs_dtype="float32", obs_size=7)))


@COLLECTOR.promise()
def one_environment(ground: Ground) -> None:
    """One environment is enough."""
    same_as_reference(ground, ground.plan(n_envs=1))


@COLLECTOR.promise(limit=110.0)
def many_environments(ground: Ground) -> None:
    """257 environments are not too many."""
    same_as_reference(ground, ground.plan(n_envs=257), steps=(4,))


@COLLECTOR.promise()
def one_step_at_a_time(ground: Ground) -> None:
    """One step at a time gives the same transitions."""
    same_as_reference(ground, ground.plan(), steps=(1, 1, 1, 1, 1, 1, 1))


@COLLECTOR.promise()
def episodes_of_one_step(ground: Ground) -> None:
    """Episodes of one step are all delivered, without dummy rows."""
    plan = ground.plan(ground.env(episode_length=1))
    rollout = ground.collect(plan)[0]
    expect(bool(rollout.ended.all()), "a row is not the end of its one-step episode")
    expect(
        len(rollout.final_obs) == rollout.transitions,
        f"{len(rollout.final_obs)} final observations for {rollout.transitions} episodes",
    )
    same_as_reference(ground, plan)


@COLLECTOR.promise()
def final_observations(ground: Ground) -> None:
    """Final observations are kept apart from the next episode's first."""
    if "batched-only" in ground.spec.capabilities:
        raise DoesNotApply("a batched environment has no buffer of its own to reuse")
    same_as_reference(ground, ground.plan(ground.env(reuse_buffer=True, episode_length=2)))


@COLLECTOR.promise()
def exact_number(ground: Ground) -> None:
    """The number of transitions is exact."""
    for steps in (1, STEPS):
        rollout = ground.collect(ground.plan(), steps=(steps,))[0]
        rows, columns = rollout.actions.shape
        if ground.deterministic:
            expect(
                (rows, columns) == (steps, N_ENVS),
                f"{steps} steps of {N_ENVS} envs gave arrays of {rows} x {columns}",
            )
        expect(
            rollout.transitions == steps * N_ENVS,
            f"{rollout.transitions} transitions, not {steps} x {N_ENVS}",
        )
        for name in _COMPARED:
            shape = getattr(rollout, name).shape[:2]
            expect(shape == (rows, columns), f"{name} has shape {shape}, not {(rows, columns)}")
    ended = int(rollout.ended.sum())
    if ground.deterministic:
        wanted = N_ENVS * (STEPS // EPISODE)
        expect(ended == wanted, f"{ended} episodes ended, not {wanted}")
    expect(
        len(rollout.final_obs) == ended,
        f"{len(rollout.final_obs)} final observations for {ended} episodes that ended",
    )


@COLLECTOR.promise()
def own_seeds(ground: Ground) -> None:
    """Every environment has its own seed."""
    plan = ground.plan(n_envs=16)
    rollout = ground.collect(plan, steps=(1,))[0]
    seen = {row.tobytes() for row in rollout.obs[0]}
    # An asynchronous collector may deliver several stretches of one environment.
    places = set(zip(rollout.env_id.tolist(), rollout.first_step.tolist(), strict=True))
    expect(
        len(seen) == len(places),
        f"{len(places)} environments start with only {len(seen)} different observations",
    )


@COLLECTOR.promise()
def disjoint_seeds(ground: Ground) -> None:
    """Runs with other seeds share nothing."""
    starts = [
        {row.tobytes() for row in ground.collect(ground.plan(seed=seed), steps=(1,))[0].obs[0]}
        for seed in (7, 8)
    ]
    expect(not starts[0] & starts[1], "two runs with different seeds begin with the same episode")


@COLLECTOR.promise(needs=("deterministic",))
def same_hash_again(ground: Ground) -> None:
    """The same plan gives the same transition hash again."""
    plan = ground.plan()
    hashes = {ground.collect(plan)[0].transition_hash() for _ in range(2)}
    expect(len(hashes) == 1, f"two runs of one plan gave the hashes {sorted(hashes)}")


@COLLECTOR.promise()
def new_policy(ground: Ground) -> None:
    """A new policy is used from the next collect on."""
    plan = ground.plan()
    first, second = RandomPolicy(ACTIONS, version=1), NetworkPolicy.initial(52, ACTIONS, 9)
    second.version = 2
    collector = ground.build()
    try:
        collector.open(plan)
        collector.collect(first, STEPS)
        rollout = collector.collect(second, STEPS)
        for _ in range(20):
            if ground.deterministic or rollout.policy_version.max() == 2:
                break
            rollout = collector.collect(second, STEPS)
    finally:
        collector.close()
    new = rollout.policy_version == 2
    expect(bool(new.any()), "the new policy never acted")
    if ground.deterministic:
        expect(bool(new.all()), f"policy_version is {rollout.policy_version.tolist()}, not all 2")
    for column in np.flatnonzero(new):
        seed = np.array([plan.env_seeds[rollout.env_id[column]]], dtype=np.uint64)
        acts = second.act(
            rollout.obs[:, column], _draws(seed, rollout.first_step[column], len(rollout.obs))
        )
        expect(
            np.array_equal(acts.actions, rollout.actions[:, column]),
            f"column {column} says that the new policy acted, but these are not its actions",
        )


def _draws(seed: NDArray[Any], first: int, count: int) -> NDArray[Any]:
    return uniform_draws(seed, np.arange(first, first + count, dtype=np.uint64))


@COLLECTOR.promise()
def rollouts_stay(ground: Ground) -> None:
    """A rollout stays as it was after later collects and after close."""
    policy = RandomPolicy(ACTIONS)
    collector = ground.build()
    try:
        collector.open(ground.plan())
        first = collector.collect(policy, STEPS)
        kept = {name: getattr(first, name).copy() for name in (*_COMPARED, "final_obs", "next_obs")}
        collector.collect(policy, STEPS)
    finally:
        collector.close()
    for name, before in kept.items():
        expect(
            np.array_equal(getattr(first, name), before),
            f"{name} of a rollout changed after it was delivered",
        )


@COLLECTOR.promise()
def phases(ground: Ground) -> None:
    """The phases sum to the wall time."""
    collector = ground.build()
    try:
        collector.open(ground.plan())
        started = time.perf_counter()
        counters = collector.collect(RandomPolicy(ACTIONS), STEPS).counters
        took = time.perf_counter() - started
    finally:
        collector.close()
    parts = {name: getattr(counters, name) for name in ("env", "transport", "inference", "idle")}
    expect(min(parts.values()) >= 0, f"a phase is negative: {parts}")
    expect(
        abs(sum(parts.values()) - counters.wall) <= 1e-6 + 0.01 * counters.wall,
        f"the phases {parts} sum to {sum(parts.values()):.6f} s, not to the wall time "
        f"{counters.wall:.6f} s",
    )
    expect(
        0 < counters.wall <= took,
        f"the wall time is given as {counters.wall:.6f} s, but collect took {took:.6f} s",
    )


@COLLECTOR.promise(limit=100.0)
def layouts(ground: Ground) -> None:
    """The layout changes nothing: workers, threads."""
    _equal_for(ground, {"workers": (1, 2, N_ENVS), "threads": (1, 2, N_ENVS)})


@COLLECTOR.promise(limit=240.0)
def start_methods(ground: Ground) -> None:
    """The start method changes nothing: fork, forkserver, spawn."""
    _equal_for(ground, {"start_method": ("fork", "forkserver", "spawn")})


def _equal_for(ground: Ground, variants: dict[str, tuple[Any, ...]]) -> None:
    declared = [name for name in variants if ground.declares(name)]
    if not declared:
        raise DoesNotApply(f"it has no option {' or '.join(variants)}")
    for plan in (ground.plan(), ground.plan(ground.batched_env())):
        truth = ground.reference(plan)[0]
        for name in declared:
            for value in variants[name]:
                rollout = ground.collect(plan, changed={name: value})[0]
                if not ground.deterministic:
                    _expect_real_stretches(ground, plan, None, [rollout])
                elif rollout.transition_hash() != truth.transition_hash():
                    raise BrokenPromiseError(
                        f"with {name}={value} the transitions of {plan.env.name} are not "
                        "sequential's"
                    )
