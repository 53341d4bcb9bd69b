"""The same plan and seed give the same transitions, whoever collects them and how."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from wfbench.contract import Plan, Policy, Rollout
from wfbench.policies import NetworkPolicy, RandomPolicy
from wfbench_collectors.pipe import PipeCollector
from wfbench_collectors.sequential import SequentialCollector
from wfbench_collectors.shm import ShmCollector

CALLS = (4, 1, 10)


def _collected(collector: Any, plan: Plan, policy: Policy) -> list[Rollout]:
    with collector:
        collector.open(plan)
        return [collector.collect(policy, steps) for steps in CALLS]


def _expect_equal(found: list[Rollout], truth: list[Rollout]) -> None:
    for rollout, wanted in zip(found, truth, strict=True):
        assert rollout.transition_hash() == wanted.transition_hash()
        for name in ("final_obs", "next_obs", "compromised", "ended_session", "first_step"):
            assert np.array_equal(getattr(rollout, name), getattr(wanted, name)), name
        assert np.allclose(rollout.log_probs, wanted.log_probs)
        assert np.allclose(rollout.values, wanted.values)


@pytest.mark.parametrize("start_method", ["fork", "forkserver", "spawn"])
@pytest.mark.parametrize("workers", [1, 2, 5])
@pytest.mark.parametrize("kind", [PipeCollector, ShmCollector])
def test_every_start_method_and_layout(
    plan_of: Callable[..., Plan], kind: Any, workers: int, start_method: str
) -> None:
    plan, policy = plan_of(), RandomPolicy(4)
    truth = _collected(SequentialCollector(), plan, policy)
    assert any(len(rollout.final_obs) for rollout in truth)
    found = _collected(kind(workers=workers, start_method=start_method), plan, policy)
    _expect_equal(found, truth)


@pytest.mark.parametrize("kind", [PipeCollector, ShmCollector])
@pytest.mark.parametrize("options", [{}, {"batched": False}])
def test_batched_and_scalar_forms(
    plan_of: Callable[..., Plan], kind: Any, options: dict[str, Any]
) -> None:
    plan, policy = plan_of(batched=True), RandomPolicy(4)
    truth = _collected(SequentialCollector(), plan, policy)
    collector = kind(workers=2, **options)
    with collector:
        assert collector.open(plan).batched is (options == {})
    _expect_equal(_collected(collector, plan, policy), truth)


@pytest.mark.parametrize("kind", [PipeCollector, ShmCollector])
@pytest.mark.parametrize("workers", [2, 5])
def test_the_payload_changes_what_is_moved_and_nothing_else(
    plan_of: Callable[..., Plan], kind: Any, workers: int
) -> None:
    plan, policy = plan_of(true_state_bytes=5000), RandomPolicy(4)
    truth = _collected(SequentialCollector(), plan, policy)
    mask = _collected(kind(workers=workers), plan, policy)
    full = _collected(kind(workers=workers, payload="true-state"), plan, policy)
    _expect_equal(mask, truth)
    _expect_equal(full, truth)
    for small, large, steps in zip(mask, full, CALLS, strict=True):
        states = 2 * steps * plan.n_envs
        assert large.counters.bytes_moved - small.counters.bytes_moved > 0.9 * 5000 * states
        assert large.counters.messages == 3 * small.counters.messages


def test_a_network_policy(plan_of: Callable[..., Plan]) -> None:
    plan, policy = plan_of(), NetworkPolicy.initial(52, 4, 3)
    truth = _collected(SequentialCollector(), plan, policy)
    _expect_equal(_collected(ShmCollector(workers=2), plan, policy), truth)


@pytest.mark.parametrize("obs_dtype", ["uint8", "float32"])
def test_a_reused_observation_buffer_is_copied(
    plan_of: Callable[..., Plan], obs_dtype: str
) -> None:
    policy = RandomPolicy(4)
    options = {"obs_dtype": obs_dtype, "episode_length": 2}
    truth = _collected(SequentialCollector(), plan_of(**options), policy)
    reused = plan_of(**options, reuse_buffer=True)
    for collector in (SequentialCollector(), PipeCollector(workers=2), ShmCollector(workers=2)):
        _expect_equal(_collected(collector, reused, policy), truth)


def test_the_sign_of_a_zero_reward_makes_no_difference(plan_of: Callable[..., Plan]) -> None:
    [rollout, *_] = _collected(SequentialCollector(), plan_of(), RandomPolicy(4))
    zeros = np.zeros_like(rollout.rewards)
    hashes = [replace(rollout, rewards=one).transition_hash() for one in (zeros, -zeros, zeros + 1)]
    assert hashes[0] == hashes[1] != hashes[2]
