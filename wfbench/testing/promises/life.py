"""Promises about `open`, `collect` and `close` in any order."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from wfbench.contract import Collector, EnvRef, WfbenchError
from wfbench.policies import RandomPolicy
from wfbench.testing.ground import ACTIONS, PATIENT, STEPS, Ground, close_in_time
from wfbench.testing.verdict import BrokenPromiseError, expect

from .catalogue import COLLECTOR

POLICY = RandomPolicy(ACTIONS)


def refused(action: Callable[[], object], what: str) -> WfbenchError:
    """Expect that an action is refused with an error a user can act on."""
    try:
        action()
    except WfbenchError as error:
        return error
    except BaseException as error:
        raise BrokenPromiseError(
            f"{what} raised {type(error).__name__} ({error}), not a WfbenchError"
        ) from error
    raise BrokenPromiseError(f"{what} was not refused")


@COLLECTOR.promise()
def misuse(ground: Ground) -> None:
    """Misuse is refused with a clear error."""
    collector, plan = ground.build(), ground.plan()
    try:
        refused(lambda: collector.collect(POLICY, STEPS), "collect before open")
        collector.open(plan)
        refused(lambda: collector.open(plan), "a second open without a close")
        refused(lambda: collector.collect(POLICY, 0), "a collect of 0 steps")
        collector.close()
        refused(lambda: collector.collect(POLICY, STEPS), "collect after close")
    finally:
        collector.close()


@COLLECTOR.promise()
def misuse_is_harmless(ground: Ground) -> None:
    """A refused call does no harm."""
    collector, plan = ground.build(), ground.plan()
    try:
        collector.open(plan)
        refused(lambda: collector.open(plan), "a second open without a close")
        rollout = collector.collect(POLICY, STEPS)
    finally:
        collector.close()
    if ground.deterministic:
        truth = ground.reference(plan)[0].transition_hash()
        expect(rollout.transition_hash() == truth, "it collects something else afterwards")


@COLLECTOR.promise()
def close_in_any_state(ground: Ground) -> None:
    """Close ends in time in any state, and twice."""
    for state, prepare in _STATES.items():
        collector = ground.build()
        try:
            prepare(ground, collector)
        finally:
            close_in_time(collector, PATIENT.close, state)
            close_in_time(collector, PATIENT.close, f"{state}, the second time,")


def _opened(ground: Ground, collector: Collector) -> None:
    collector.open(ground.plan())


def _collected(ground: Ground, collector: Collector) -> None:
    collector.open(ground.plan())
    collector.collect(POLICY, STEPS)


def _large_results(ground: Ground, collector: Collector) -> None:
    collector.open(ground.plan(ground.env(obs_size=20_000, obs_dtype="float32")))
    collector.collect(POLICY, 2)


_STATES: dict[str, Callable[[Ground, Collector], None]] = {
    "of a collector that was never opened": lambda _ground, _collector: None,
    "after open": _opened,
    "after collect": _collected,
    "after large results": _large_results,
}


@COLLECTOR.promise()
def open_again(ground: Ground) -> None:
    """It can be opened again after close."""
    collector, plan = ground.build(), ground.plan()
    hashes = set()
    for _ in range(2):
        try:
            collector.open(plan)
            rollout = collector.collect(POLICY, STEPS)
        finally:
            collector.close()
        hashes.add(rollout.transition_hash())
    if ground.deterministic:
        expect(len(hashes) == 1, "the second life collects something else than the first")


@COLLECTOR.promise()
def context_manager(ground: Ground) -> None:
    """As a context manager it closes, also when the body raises."""
    collector = ground.build()
    with suppress(_BodyError), collector as entered:
        expect(entered is collector, "`with` gives something else than the collector")
        collector.open(ground.plan())
        raise _BodyError
    refused(lambda: collector.collect(POLICY, STEPS), "collect after the with block")


class _BodyError(Exception):
    pass


@COLLECTOR.promise()
def missing_environment(ground: Ground) -> None:
    """An environment that cannot be imported is reported by open."""
    missing = "wfbench_no_such_module:Env"
    ref = EnvRef("missing", missing, missing)
    collector = ground.build()
    try:
        error = refused(
            lambda: collector.open(ground.plan(ref)), "an environment that does not exist"
        )
        expect("wfbench_no_such_module" in str(error), f"the error does not name it: {error}")
    finally:
        close_in_time(collector, PATIENT.close, "after a failed open")
