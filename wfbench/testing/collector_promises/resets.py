"""Promises about `reset`: an open collector goes on as a freshly opened one would."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

import psutil

from wfbench.contract import CollectError, Counters, EnvInfo, Plan, ResettableCollector
from wfbench.testing.harness import footprint
from wfbench.testing.harness.subject import COLLECTOR, POLICY, STEPS, CollectorUnderTest
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
    if not subject.declares("on_worker_death"):
        raise DoesNotApply("it has no option on_worker_death=restart")
    fault = subject.faulty("kill@3")
    with subject.opened(fault.plan, on_worker_death="restart") as opened:
        collector = cast("ResettableCollector", opened)
        until = time.monotonic() + 30.0
        while not collector.collect(POLICY, STEPS).counters.restarts and time.monotonic() < until:
            pass
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
