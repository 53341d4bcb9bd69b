"""Promises about replacing dead workers."""

from __future__ import annotations

import time
from itertools import pairwise

import numpy as np

from wfbench.contract import CollectError
from wfbench.policies import RandomPolicy
from wfbench.testing.ground import ACTIONS, N_ENVS, STEPS, Ground, close_in_time
from wfbench.testing.verdict import BrokenPromiseError, DoesNotApply, expect

from .catalogue import COLLECTOR

POLICY = RandomPolicy(ACTIONS)
SWITCH = {"on_worker_death": "restart"}
"""The option by which a collector that declares "restart" is told to."""


def _require_switch(ground: Ground) -> None:
    if not ground.declares("on_worker_death"):
        raise DoesNotApply("it has no option on_worker_death=restart")


@COLLECTOR.promise(needs=("restart",))
def replaced_worker(ground: Ground) -> None:
    """A replaced worker marks the sample and nothing is delivered twice."""
    _require_switch(ground)
    fault = ground.faulty("kill@3")
    collector = ground.build(**SWITCH)
    try:
        collector.open(fault.plan)
        rollouts = [collector.collect(POLICY, STEPS) for _ in range(4)]
        deadline = time.monotonic() + 30
        while not any(r.counters.restarts for r in rollouts) and time.monotonic() < deadline:
            rollouts.append(collector.collect(POLICY, STEPS))
    finally:
        close_in_time(collector, fault.plan.deadlines.close, "after a restart")
    restarted = [r for r in rollouts if r.counters.restarts]
    expect(fault.marker.exists(), "the fault never happened")
    expect(restarted, "a worker was killed and no rollout counts a restart")
    expect(all(r.marks for r in restarted), "a rollout that counts a restart is not marked")
    for rollout in rollouts:
        expect(
            rollout.transitions == STEPS * N_ENVS,
            f"a rollout has {rollout.transitions} transitions, not {STEPS * N_ENVS}",
        )
        expect(bool((rollout.obs <= 1).all()), "rows were delivered that no environment wrote")
        expect(bool(np.isfinite(rollout.rewards).all()), "a reward is not finite")
    for env in range(N_ENVS):
        spans = sorted(
            (int(first), int(first) + rollout.actions.shape[0])
            for rollout in rollouts
            for owner, first in zip(rollout.env_id, rollout.first_step, strict=True)
            if owner == env
        )
        for (_, end), (start, _) in pairwise(spans):
            expect(start >= end, f"step {start} of env {env} was delivered twice")


@COLLECTOR.promise(needs=("restart",), limit=100.0)
def bounded_restarts(ground: Ground) -> None:
    """A worker that dies again and again ends in an error."""
    _require_switch(ground)
    ref = ground.env(fault="kill@2", fault_env=2)
    collector = ground.build(**SWITCH)
    plan = ground.plan(ref)
    try:
        collector.open(plan)
        deadline = time.monotonic() + 80
        while time.monotonic() < deadline:
            collector.collect(POLICY, STEPS)
    except CollectError:
        return
    finally:
        close_in_time(collector, plan.deadlines.close, "after too many restarts")
    raise BrokenPromiseError("it goes on for ever replacing a worker that dies at its second step")
