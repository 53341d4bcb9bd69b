"""Promises about replacing dead workers."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise

import numpy as np

from wfbench.contract import CollectError, Collector
from wfbench.testing.harness.subject import COLLECTOR, N_ENVS, POLICY, STEPS, CollectorUnderTest
from wfbench.testing.promise import BrokenPromiseError, DoesNotApply, expect, expect_equal


@contextmanager
def _restarting(subject: CollectorUnderTest, state: str) -> Iterator[Collector]:
    """Yield a collector that replaces dead workers."""
    if not subject.declares("on_worker_death"):
        raise DoesNotApply("it has no option on_worker_death=restart")
    with subject.closed_in_time(state, on_worker_death="restart") as collector:
        yield collector


@COLLECTOR.add(
    "A replaced worker marks the sample and nothing is delivered twice", needs=("restart",)
)
def _replaced_worker(subject: CollectorUnderTest) -> None:
    fault = subject.faulty("kill@3")
    with _restarting(subject, "after a restart") as collector:
        collector.open(fault.plan)
        rollouts = [collector.collect(POLICY, STEPS) for _ in range(4)]
        deadline = time.monotonic() + 30
        while not any(r.counters.restarts for r in rollouts) and time.monotonic() < deadline:
            rollouts.append(collector.collect(POLICY, STEPS))
    restarted = [r for r in rollouts if r.counters.restarts]
    expect(fault.marker.exists(), "the fault never happened")
    expect(restarted, "a worker was killed and no rollout counts a restart")
    expect(all(r.marks for r in restarted), "a rollout that counts a restart is not marked")
    for rollout in rollouts:
        expect_equal("the number of transitions", rollout.transitions, STEPS * N_ENVS)
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


@COLLECTOR.add(
    "A worker that dies again and again ends in an error", needs=("restart",), limit=100.0
)
def _bounded_restarts(subject: CollectorUnderTest) -> None:
    plan = subject.plan(subject.env(fault="kill@2", fault_env=2))
    with _restarting(subject, "after too many restarts") as collector:
        try:
            collector.open(plan)
            deadline = time.monotonic() + 80
            while time.monotonic() < deadline:
                collector.collect(POLICY, STEPS)
        except CollectError:
            return
    raise BrokenPromiseError("it goes on for ever replacing a worker that dies at its second step")
