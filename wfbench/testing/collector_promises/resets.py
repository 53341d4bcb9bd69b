"""Promises about going on: with another plan after a reset, with a new worker after a death."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any, cast

import numpy as np
import psutil

from wfbench.contract import (
    CollectError,
    Collector,
    Counters,
    EnvInfo,
    Plan,
    ResettableCollector,
    Rollout,
)
from wfbench.testing.harness import footprint
from wfbench.testing.harness.subject import COLLECTOR, N_ENVS, POLICY, STEPS, CollectorUnderTest
from wfbench.testing.promise import BrokenPromiseError, DoesNotApply, expect, expect_equal

from .delivery import expect_delivered
from .lifecycle import expect_refused

_RESET = ("reset",)
_MIDDLE = 7
"""Steps that end in the middle of an episode."""
_RESETS = 8


@contextmanager
def _used(subject: CollectorUnderTest) -> Iterator[ResettableCollector]:
    """Yield a collector that is in the middle of an episode."""
    with subject.opened() as collector:
        collector.collect(POLICY, _MIDDLE)
        yield cast("ResettableCollector", collector)


@contextmanager
def _restarting(subject: CollectorUnderTest, state: str) -> Iterator[Collector]:
    """Yield a collector that replaces dead workers."""
    if not subject.declares("on_worker_death"):
        raise DoesNotApply("it has no option on_worker_death=restart")
    with subject.closed_in_time(state, on_worker_death="restart") as collector:
        yield collector


def _collect_until_restart(collector: Collector) -> list[Rollout]:
    """Collect until a rollout counts a restart, for at most 30 s."""
    rollouts, deadline = [collector.collect(POLICY, STEPS)], time.monotonic() + 30.0
    while not rollouts[-1].counters.restarts and time.monotonic() < deadline:
        rollouts.append(collector.collect(POLICY, STEPS))
    return rollouts


def _expect_fresh(
    subject: CollectorUnderTest, collector: ResettableCollector, plan: Plan, info: EnvInfo
) -> None:
    """Expect of a collector that was reset what one gives that is opened with the same plan."""
    steps = (STEPS, 3)
    delivered = [collector.collect(POLICY, count) for count in steps]
    expect_delivered(subject, plan, delivered, steps)
    with subject.opened(plan) as fresh:
        opened = [fresh.collect(POLICY, count) for count in steps]
    same_envs = [(one.obs.shape[2:], str(one.obs.dtype)) for one in (delivered[0], opened[0])]
    expect_equal("the form of observations", same_envs[0], same_envs[1])
    expect_equal("obs_shape, as reset returned it,", info.obs_shape, opened[0].obs.shape[2:])
    for number, (found, wanted) in enumerate(zip(delivered, opened, strict=True)):
        expect_equal(f"marks of rollout {number}", found.marks, ())
        if subject.deterministic:
            counted = _counts(found.counters), _counts(wanted.counters)
            expect_equal(f"what rollout {number} counts", *counted)


def _counts(counters: Counters) -> dict[str, Any]:
    names = ("messages", "bytes_moved", "restarts", "dropped", "lag")
    return {name: getattr(counters, name) for name in names}


@COLLECTOR.add("A reset gives the same transitions as opening", needs=_RESET)
def _reset_as_opened(subject: CollectorUnderTest) -> None:
    with _used(subject) as collector:
        for seed in (8, 7):
            plan = subject.plan(seed=seed)
            _expect_fresh(subject, collector, plan, collector.reset(plan))
            collector.collect(POLICY, _MIDDLE)


@COLLECTOR.add("Of several resets the last one counts", needs=_RESET)
def _several_resets(subject: CollectorUnderTest) -> None:
    with subject.opened(subject.plan(subject.env(batched=True), n_envs=11)) as opened:
        collector = cast("ResettableCollector", opened)
        for seed in (8, 9, 10):
            plan = subject.plan(subject.env(batched=True), n_envs=11, seed=seed)
            info = collector.reset(plan)
        _expect_fresh(subject, collector, plan, info)


@COLLECTOR.add("A reset serves any plan: other forms, environments and numbers", needs=_RESET)
def _reset_to_another_plan(subject: CollectorUnderTest) -> None:
    plans = (
        subject.plan(subject.env(orders="all", hold="1-3", hold_share=0.5)),
        subject.plan(subject.env(obs_dtype="float32", obs_size=7)),
        subject.plan(n_envs=3),
        subject.plan(subject.env(batched=True), n_envs=3),
    )
    with _used(subject) as collector:
        for plan in plans:
            _expect_fresh(subject, collector, plan, collector.reset(plan))


@COLLECTOR.add("A reset forgets that workers were replaced", needs=(*_RESET, "restart"))
def _reset_after_restart(subject: CollectorUnderTest) -> None:
    fault = subject.faulty("kill@3")
    with _restarting(subject, "after a restart") as restarting:
        collector = cast("ResettableCollector", restarting)
        collector.open(fault.plan)
        _collect_until_restart(collector)
        expect(fault.marker.exists(), "the fault never happened")
        collector.collect(POLICY, _MIDDLE)
        plan = subject.plan(fault.plan.env, seed=8)
        _expect_fresh(subject, collector, plan, collector.reset(plan))


@COLLECTOR.add("A reset replaces a worker that died in between", needs=(*_RESET, "workers"))
def _reset_after_death(subject: CollectorUnderTest) -> None:
    with _used(subject) as collector:
        workers = [pid for pid in footprint.children() if not psutil.Process(pid).children()]
        if not workers:
            raise DoesNotApply("its workers are not processes of this machine")
        os.kill(workers[0], signal.SIGKILL)
        footprint.wait_for(lambda: not footprint.living(workers[:1]), 5.0)
        plan = subject.plan(seed=8)
        _expect_fresh(subject, collector, plan, collector.reset(plan))


@COLLECTOR.add("A reset is refused before open, after close and after a failure", needs=_RESET)
def _misused_reset(subject: CollectorUnderTest) -> None:
    plan, collector = subject.plan(), cast("ResettableCollector", subject.build())
    try:
        expect_refused(lambda: collector.reset(plan), "a reset before open")
        collector.open(plan)
        collector.close()
        expect_refused(lambda: collector.reset(plan), "a reset after close")
    finally:
        collector.close()
    fault = subject.faulty("raise@3")
    with subject.closed_in_time("after a failure") as opened:
        failed = cast("ResettableCollector", opened)
        failed.open(fault.plan)
        if not isinstance(fault.error_in(failed, 30.0), CollectError):
            raise BrokenPromiseError("an environment that raises was not reported")
        expect_refused(lambda: failed.reset(plan), "a reset after a failure")


@COLLECTOR.add("Resets leave no process, no descriptor and no shared memory", needs=_RESET)
def _clean_resets(subject: CollectorUnderTest) -> None:
    with _used(subject) as collector:
        before: dict[str, int] = {}
        for seed in range(_RESETS):
            collector.reset(subject.plan(seed=seed))
            collector.collect(POLICY, STEPS)
            taken = _taken()
            before = before or taken
    for name, first in before.items():
        expect(taken[name] <= first, f"resets took {taken[name] - first} more {name}")


def _taken() -> dict[str, int]:
    pids = footprint.tree()
    return {
        "processes": len(pids),
        "descriptors": sum(psutil.Process(pid).num_fds() for pid in pids),
        "segments": len(footprint.segments(pids)),
    }


@COLLECTOR.add(
    "A replaced worker marks the sample and nothing is delivered twice", needs=("restart",)
)
def _replaced_worker(subject: CollectorUnderTest) -> None:
    fault = subject.faulty("kill@3")
    with _restarting(subject, "after a restart") as collector:
        collector.open(fault.plan)
        rollouts = _collect_until_restart(collector)
        rollouts += [collector.collect(POLICY, STEPS) for _ in range(3)]
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
