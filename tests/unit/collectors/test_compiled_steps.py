"""Steps that policy and environment make in turn without Python are those that Python makes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from wfbench.collecting import draws
from wfbench.collecting.in_process import InProcessCollector
from wfbench.collecting.seeding import make_plan
from wfbench.contract import Acts, CollectError, EnvRef, Plan, PluginError, Policy, Rollout
from wfbench.contract.record import STEP_FIELDS
from wfbench.policies import NetworkPolicy, network
from wfbench_collectors.sequential import SequentialCollector
from wfbench_collectors.vector import VectorCollector

CALLS = (4, 1, 23)


def cage2(**options: Any) -> EnvRef:
    chosen = {"episode_steps": 9, **options}
    return EnvRef("cage2", "wfbench_cage2.env:Cage2Env", "wfbench_cage2.batch:Cage2Batch", chosen)


def policy_for(plan: Plan, seed: int = 3, *, more_actions: int = 0) -> NetworkPolicy:
    info = plan.env.make_batch(1).info
    return NetworkPolicy.initial(info.obs_shape[0], info.num_actions + more_actions, seed)


def collected(collector: Any, plan: Plan, policy: Policy) -> list[Rollout]:
    with collector:
        collector.open(plan)
        return [collector.collect(policy, steps) for steps in CALLS]


def expect_equal(found: list[Rollout], truth: list[Rollout]) -> None:
    for rollout, wanted in zip(found, truth, strict=True):
        assert rollout.transition_hash() == wanted.transition_hash()
        for name in (*STEP_FIELDS, *Acts._fields, "next_obs", "first_step"):
            assert np.array_equal(getattr(rollout, name), getattr(wanted, name)), name


@pytest.fixture
def never_act(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Refuse to act step by step, so that what is collected was played."""

    def refuse(*_: Any) -> Acts:
        raise AssertionError("the policy was asked for one step")

    monkeypatch.setattr(NetworkPolicy, "act", refuse)
    return monkeypatch


@pytest.mark.parametrize("n_envs", [1, 5, 70])
@pytest.mark.parametrize("threads", [1, 3])
def test_they_are_those_of_the_sequential_collector(n_envs: int, threads: int) -> None:
    plan = make_plan(cage2(), n_envs, 5)
    policy = policy_for(plan)
    truth = collected(SequentialCollector(), plan, policy)
    assert any(len(rollout.final_obs) for rollout in truth)
    expect_equal(collected(VectorCollector(threads), plan, policy_for(plan)), truth)


@pytest.mark.parametrize(
    "options",
    [
        {"memory": True},
        {"memory": True, "history": True},
        {"actions": "reduced"},
        {"red": "meander"},
    ],
)
def test_in_every_form_of_the_environment(
    options: dict[str, Any], never_act: pytest.MonkeyPatch
) -> None:
    plan = make_plan(cage2(**options), 6, 5)
    found = collected(VectorCollector(2), plan, policy_for(plan))
    never_act.undo()
    expect_equal(found, collected(SequentialCollector(), plan, policy_for(plan)))


@pytest.mark.parametrize("table_rows", [0, 3, 1 << 15])
def test_whatever_size_the_table_has(table_rows: int, never_act: pytest.MonkeyPatch) -> None:
    never_act.setattr(network, "_FIRST_TABLE_BYTES", 1)
    plan = make_plan(cage2(), 70, 5)
    policy = policy_for(plan)
    small = NetworkPolicy(policy.actor, policy.critic, table_rows=table_rows)
    found = collected(VectorCollector(1), plan, small)
    assert (small.distinct_rows > 3) == (table_rows > 3)
    never_act.undo()
    expect_equal(found, collected(SequentialCollector(), plan, policy))


def test_however_many_draws_are_made_at_once(never_act: pytest.MonkeyPatch) -> None:
    plan = make_plan(cage2(), 6, 5)
    whole = collected(VectorCollector(1), plan, policy_for(plan))
    never_act.setattr(draws, "_AT_ONCE", 13)
    expect_equal(collected(VectorCollector(1), plan, policy_for(plan)), whole)


def test_an_evaluation_that_checks_nothing_makes_them_too(never_act: pytest.MonkeyPatch) -> None:
    plan = make_plan(cage2(), 6, 5)
    unchecked = Plan(plan.env, plan.n_envs, plan.env_seeds, check=False)
    found = collected(InProcessCollector(), unchecked, policy_for(plan))
    never_act.undo()
    expect_equal(found, collected(InProcessCollector(), plan, policy_for(plan)))


@pytest.mark.usefixtures("never_act")
def test_their_time_is_counted_by_phase() -> None:
    plan = make_plan(cage2(), 50, 5)
    for rollout in collected(VectorCollector(1), plan, policy_for(plan)):
        counters = rollout.counters
        assert counters.env > 0
        assert counters.inference > 0
        assert counters.env + counters.inference <= counters.wall


def test_weights_that_are_not_finite_are_refused() -> None:
    plan = make_plan(cage2(), 6, 5)
    good = policy_for(plan)
    bad = NetworkPolicy([(w * np.nan, b) for w, b in good.actor], good.critic, version=4)
    with VectorCollector(1) as collector:
        collector.open(plan)
        with pytest.raises(CollectError, match="policy version 4"):
            collector.collect(bad, 3)


def test_a_policy_with_actions_that_do_not_exist_is_asked_step_by_step() -> None:
    plan = make_plan(cage2(), 50, 5)
    policy = policy_for(plan, more_actions=2000)
    with VectorCollector(1) as collector:
        collector.open(plan)
        with pytest.raises(PluginError, match="chose action"):
            collector.collect(policy, 3)
