"""Promises about what is delivered: the right transitions, all of them, unchanged."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from wfbench.contract import EnvRef, Plan, Policy, Rollout, uniform_draws
from wfbench.policies import NetworkPolicy, RandomPolicy
from wfbench.testing.difference import CELLS, stretch_difference
from wfbench.testing.harness.subject import (
    ACTIONS,
    COLLECTOR,
    EPISODE,
    N_ENVS,
    POLICY,
    STEPS,
    CollectorUnderTest,
    expect_same_rollout,
)
from wfbench.testing.harness.watched_envs import WideEnv
from wfbench.testing.promise import DoesNotApply, expect, expect_equal

_ACROSS_ENDS = (EPISODE - 1, EPISODE + 2)
"""Steps in which every environment is truncated once and terminated once."""


def _expect_same(
    subject: CollectorUnderTest,
    plan: Plan,
    policy: Policy = POLICY,
    steps: Sequence[int] = (STEPS, STEPS),
) -> None:
    """Expect what the sequential collector delivers."""
    expect_delivered(subject, plan, subject.collect(plan, policy, steps), steps, policy)


def expect_delivered(
    subject: CollectorUnderTest,
    plan: Plan,
    delivered: Sequence[Rollout],
    steps: Sequence[int],
    policy: Policy = POLICY,
) -> None:
    """Expect that these rollouts are the first that the sequential collector delivers."""
    if subject.deterministic:
        expected = subject.reference(plan, policy, steps)
        for number, (rollout, truth) in enumerate(zip(delivered, expected, strict=True)):
            expect_same_rollout(rollout, truth, f"rollout {number} is not what sequential delivers")
    else:
        _expect_real_stretches(subject, plan, policy, delivered)


def _expect_real_stretches(
    subject: CollectorUnderTest, plan: Plan, policy: Policy, delivered: Sequence[Rollout]
) -> None:
    """Expect that each stretch of an asynchronous collector equals the reference there."""
    longest = max(int(r.first_step.max()) + r.actions.shape[0] for r in delivered)
    truth = subject.reference(plan, policy, (longest,))[0]
    for rollout in delivered:
        for column in range(len(rollout.env_id)):
            found = stretch_difference(rollout, column, truth)
            expect(found is None, f"a stretch is not what its environment gives there: {found}")
        expect_equal("the number of final_obs", len(rollout.final_obs), int(rollout.ended.sum()))


@COLLECTOR.add("It delivers the same transitions as sequential")
def _same_transitions(subject: CollectorUnderTest) -> None:
    _expect_same(subject, subject.plan())


@COLLECTOR.add("It delivers the same transitions with a network policy")
def _same_transitions_with_a_network(subject: CollectorUnderTest) -> None:
    _expect_same(subject, subject.plan(), NetworkPolicy.initial(52, ACTIONS, 3))


@COLLECTOR.add("It delivers the same transitions of an environment with a batched form")
def _same_transitions_batched(subject: CollectorUnderTest) -> None:
    _expect_same(subject, subject.plan(subject.env(batched=True), n_envs=11))


@COLLECTOR.add("It delivers the same transitions of observations that are not bits")
def _same_transitions_of_floats(subject: CollectorUnderTest) -> None:
    _expect_same(subject, subject.plan(subject.env(obs_dtype="float32", obs_size=7)))


@COLLECTOR.add("It delivers the same transitions of environments that draw an order per episode")
def _same_transitions_conditioned(subject: CollectorUnderTest) -> None:
    form = {"orders": "all", "hold": "1-3", "hold_share": 0.5}
    for batched in (False, True):
        _expect_same(subject, subject.plan(subject.env(batched=batched, **form)))


@COLLECTOR.add(
    "It delivers numbers of every size, masks of 32 hosts and episodes that end both ways"
)
def _wide_values(subject: CollectorUnderTest) -> None:
    if subject.batched_only:
        raise DoesNotApply("the environment has no batched form")
    ref = EnvRef("wide", "wfbench.testing.harness.watched_envs:WideEnv")
    _expect_same(subject, subject.plan(ref), RandomPolicy(WideEnv.ACTIONS))


@COLLECTOR.add("The 66,000th step of an environment is delivered like its first", limit=240.0)
def _long_run(subject: CollectorUnderTest) -> None:
    plan = subject.plan(subject.env(obs_size=1), n_envs=1)
    _expect_same(subject, plan, steps=(65_600, 400))


@COLLECTOR.add("One environment is enough")
def _one_environment(subject: CollectorUnderTest) -> None:
    _expect_same(subject, subject.plan(n_envs=1))


@COLLECTOR.add("257 environments are not too many", limit=110.0)
def _many_environments(subject: CollectorUnderTest) -> None:
    _expect_same(subject, subject.plan(n_envs=257), steps=_ACROSS_ENDS)
    if "workers" not in subject.spec.capabilities:
        batched = subject.plan(subject.env(batched=True), n_envs=257)
        _expect_same(subject, batched, steps=_ACROSS_ENDS)


@COLLECTOR.add("One step at a time gives the same transitions")
def _one_step_at_a_time(subject: CollectorUnderTest) -> None:
    _expect_same(subject, subject.plan(), steps=(1, 1, 1, 1, 1, 1, 1))


@COLLECTOR.add("Episodes of one step are all delivered, without dummy rows")
def _episodes_of_one_step(subject: CollectorUnderTest) -> None:
    plan = subject.plan(subject.env(episode_length=1))
    rollout = subject.collect(plan)[0]
    expect(bool(rollout.ended.all()), "a row is not the end of its one-step episode")
    expect_equal("the number of final_obs", len(rollout.final_obs), rollout.transitions)
    _expect_same(subject, plan)


@COLLECTOR.add("Final observations are kept apart from the next episode's first")
def _final_observations(subject: CollectorUnderTest) -> None:
    if subject.batched_only:
        raise DoesNotApply("a batched environment has no buffer of its own to reuse")
    _expect_same(subject, subject.plan(subject.env(reuse_buffer=True, episode_length=2)))


@COLLECTOR.add("Environments of uneven speed that end many episodes per step lose nothing")
def _uneven_speed(subject: CollectorUnderTest) -> None:
    if subject.batched_only:
        raise DoesNotApply("a batch makes all steps at once")
    for length in (1, 2):
        inner = subject.env(episode_length=length)
        options = {"env": inner, "env_index": 0}
        ref = EnvRef("uneven", "wfbench.testing.harness.watched_envs:UnevenEnv", None, options)
        _expect_same(subject, subject.plan(ref, n_envs=16))


@COLLECTOR.add("Infinities that the observation space allows are delivered")
def _allowed_infinities(subject: CollectorUnderTest) -> None:
    for rollout in subject.collect(subject.noting_plan(), steps=(STEPS,)):
        expect(bool(np.isinf(rollout.obs).all()), "an observation is not the infinity it was")


@COLLECTOR.add("The number of transitions is exact")
def _exact_number(subject: CollectorUnderTest) -> None:
    for steps in (1, STEPS):
        rollout = subject.collect(subject.plan(), steps=(steps,))[0]
        rows, columns = rollout.actions.shape
        if subject.deterministic:
            shape = f"{steps} steps of {N_ENVS} envs gave arrays of {rows} x {columns}"
            expect((rows, columns) == (steps, N_ENVS), shape)
        expect_equal("the number of transitions", rollout.transitions, steps * N_ENVS)
        for name in CELLS:
            shape = getattr(rollout, name).shape[:2]
            expect_equal(f"the shape of {name}", shape, (rows, columns))
    ended = int(rollout.ended.sum())
    if subject.deterministic:
        expect_equal("the number of ended episodes", ended, N_ENVS * (STEPS // EPISODE))
    expect_equal("the number of final_obs", len(rollout.final_obs), ended)


@COLLECTOR.add("Every environment has its own seed")
def _own_seeds(subject: CollectorUnderTest) -> None:
    rollout = subject.collect(subject.plan(n_envs=16), steps=(1,))[0]
    seen = {row.tobytes() for row in rollout.obs[0]}
    # An asynchronous collector may deliver several stretches of one environment.
    places = set(zip(rollout.env_id.tolist(), rollout.first_step.tolist(), strict=True))
    detail = f"{len(places)} environments start with only {len(seen)} different observations"
    expect(len(seen) == len(places), detail)


@COLLECTOR.add("Runs with other seeds share nothing")
def _disjoint_seeds(subject: CollectorUnderTest) -> None:
    rollouts = [subject.collect(subject.plan(seed=seed), steps=(1,))[0] for seed in (7, 8)]
    one, other = ({row.tobytes() for row in rollout.obs[0]} for rollout in rollouts)
    expect(not one & other, "two runs with different seeds begin with the same episode")


@COLLECTOR.add("The same plan gives the same transition hash again", needs=("deterministic",))
def _same_hash_again(subject: CollectorUnderTest) -> None:
    plan = subject.plan()
    hashes = {subject.collect(plan)[0].transition_hash() for _ in range(2)}
    expect(len(hashes) == 1, f"two runs of one plan gave the hashes {sorted(hashes)}")


@COLLECTOR.add("A new policy is used from the next collect on")
def _new_policy(subject: CollectorUnderTest) -> None:
    plan = subject.plan()
    first, second = RandomPolicy(ACTIONS, version=1), NetworkPolicy.initial(52, ACTIONS, 9)
    second.version = 2
    with subject.opened(plan) as collector:
        collector.collect(first, STEPS)
        rollout = collector.collect(second, STEPS)
        for _ in range(20):
            if subject.deterministic or rollout.policy_version.max() == 2:
                break
            rollout = collector.collect(second, STEPS)
    new = rollout.policy_version == 2
    expect(bool(new.any()), "the new policy never acted")
    if subject.deterministic:
        expect(bool(new.all()), f"policy_version is {rollout.policy_version.tolist()}, not all 2")
    for column in np.flatnonzero(new):
        seed = np.array([plan.env_seeds[rollout.env_id[column]]], dtype=np.uint64)
        steps = np.arange(len(rollout.obs), dtype=np.uint64) + np.uint64(rollout.first_step[column])
        acts = second.act(rollout.obs[:, column], uniform_draws(seed, steps))
        its_own = np.array_equal(acts.actions, rollout.actions[:, column])
        says = f"column {column} says that the new policy acted"
        expect(its_own, f"{says}, but these are not its actions")


@COLLECTOR.add("A rollout stays as it was after later collects and after close")
def _rollouts_stay(subject: CollectorUnderTest) -> None:
    with subject.opened() as collector:
        first = collector.collect(POLICY, STEPS)
        kept = {name: getattr(first, name).copy() for name in (*CELLS, "final_obs", "next_obs")}
        collector.collect(POLICY, STEPS)
    for name, before in kept.items():
        same = np.array_equal(getattr(first, name), before)
        expect(same, f"{name} of a rollout changed after it was delivered")


@COLLECTOR.add("The phases sum to the wall time")
def _phases(subject: CollectorUnderTest) -> None:
    with subject.opened() as collector:
        started = time.perf_counter()
        counters = collector.collect(POLICY, STEPS).counters
        took = time.perf_counter() - started
    parts = {name: getattr(counters, name) for name in ("env", "transport", "inference", "idle")}
    expect(min(parts.values()) >= 0, f"a phase is negative: {parts}")
    total, wall = sum(parts.values()), counters.wall
    exact = abs(total - wall) <= 1e-6 + 0.01 * wall
    expect(exact, f"the phases {parts} sum to {total:.6f} s, not to the wall time {wall:.6f} s")
    given = f"the wall time is given as {wall:.6f} s, but collect took {took:.6f} s"
    expect(0 < wall <= took, given)


@COLLECTOR.add("The layout changes nothing: workers, threads", limit=100.0)
def _layouts(subject: CollectorUnderTest) -> None:
    _equal_for(subject, {"workers": (1, 2, N_ENVS), "threads": (1, 2, N_ENVS)})


@COLLECTOR.add("The start method changes nothing: fork, forkserver, spawn", limit=240.0)
def _start_methods(subject: CollectorUnderTest) -> None:
    _equal_for(subject, {"start_method": ("fork", "forkserver", "spawn")})


def _equal_for(subject: CollectorUnderTest, variants: dict[str, tuple[Any, ...]]) -> None:
    options = [name for name in variants if subject.declares(name)]
    declared = [(name, value) for name in options for value in variants[name]]
    if not declared:
        raise DoesNotApply(f"it has no option {' or '.join(variants)}")
    for plan in (subject.plan(), subject.plan(subject.env(batched=True))):
        truth = subject.reference(plan)[0]
        for name, value in declared:
            rollout = subject.collect(plan, **{name: value})[0]
            if subject.deterministic:
                where = f"with {name}={value} the transitions of {plan.env.name}"
                expect_same_rollout(rollout, truth, f"{where} are not sequential's")
            else:
                _expect_real_stretches(subject, plan, POLICY, [rollout])
