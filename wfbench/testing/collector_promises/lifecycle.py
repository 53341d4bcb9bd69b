"""Promises about `open`, `collect` and `close` in any order."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from wfbench.contract import EnvRef, WfbenchError
from wfbench.testing.harness.failing_policy import COMPLAINT, FailingPolicy
from wfbench.testing.harness.subject import COLLECTOR, POLICY, STEPS, CollectorUnderTest
from wfbench.testing.promise import BrokenPromiseError, expect


def expect_refused(action: Callable[[], object], what: str) -> WfbenchError:
    """Expect that an action is refused with an error a user can act on; return the error."""
    try:
        action()
    except WfbenchError as error:
        return error
    except BaseException as error:
        raise BrokenPromiseError(
            f"{what} raised {type(error).__name__} ({error}), not a WfbenchError"
        ) from error
    raise BrokenPromiseError(f"{what} was not refused")


@COLLECTOR.add("Misuse is refused with a clear error")
def _misuse(subject: CollectorUnderTest) -> None:
    collector, plan = subject.build(), subject.plan()
    try:
        expect_refused(lambda: collector.collect(POLICY, STEPS), "collect before open")
        collector.open(plan)
        expect_refused(lambda: collector.open(plan), "a second open without a close")
        expect_refused(lambda: collector.collect(POLICY, 0), "a collect of 0 steps")
        collector.close()
        expect_refused(lambda: collector.collect(POLICY, STEPS), "collect after close")
    finally:
        collector.close()


@COLLECTOR.add("A refused call does no harm")
def _misuse_is_harmless(subject: CollectorUnderTest) -> None:
    plan = subject.plan()
    with subject.opened(plan) as collector:
        expect_refused(lambda: collector.open(plan), "a second open without a close")
        rollout = collector.collect(POLICY, STEPS)
    subject.expect_reference(rollout, plan, "it collects something else afterwards")


@COLLECTOR.add("An error of the policy ends the collect and is named")
def _failing_policy(subject: CollectorUnderTest) -> None:
    with subject.closed_in_time("after an error of the policy") as collector:
        collector.open(subject.plan())
        try:
            collector.collect(FailingPolicy(), STEPS)
        except Exception as error:  # noqa: BLE001 - the subject may raise anything
            expect(COMPLAINT in str(error), f"the policy's error is not in {error!r}")
        else:
            raise BrokenPromiseError("it collected with a policy that always fails")


@COLLECTOR.add("Close ends in time in any state, and twice")
def _close_in_any_state(subject: CollectorUnderTest) -> None:
    large = subject.env(obs_size=20_000, obs_dtype="float32")
    with subject.closed_in_time("of a collector that was never opened", twice=True):
        pass
    states = (
        ("after open", None, 0),
        ("after collect", None, STEPS),
        ("after large results", large, 2),
    )
    for state, env, steps in states:
        with subject.closed_in_time(state, twice=True) as collector:
            collector.open(subject.plan(env))
            if steps:
                collector.collect(POLICY, steps)


@COLLECTOR.add("It can be opened again after close")
def _open_again(subject: CollectorUnderTest) -> None:
    collector, plan = subject.build(), subject.plan()
    hashes = set()
    for _ in range(2):
        try:
            collector.open(plan)
            rollout = collector.collect(POLICY, STEPS)
        finally:
            collector.close()
        hashes.add(rollout.transition_hash())
    if subject.deterministic:
        expect(len(hashes) == 1, "opened again, it collects something else than the first time")


@COLLECTOR.add("As a context manager it closes, also when the body raises")
def _context_manager(subject: CollectorUnderTest) -> None:
    collector = subject.build()
    with suppress(_BodyError), collector as entered:
        expect(entered is collector, "`with` gives something else than the collector")
        collector.open(subject.plan())
        raise _BodyError
    expect_refused(lambda: collector.collect(POLICY, STEPS), "collect after the with block")


class _BodyError(Exception):
    pass


@COLLECTOR.add("An environment that cannot be imported is reported by open")
def _missing_environment(subject: CollectorUnderTest) -> None:
    missing = "wfbench_no_such_module:Env"
    plan = subject.plan(EnvRef("missing", missing, missing))
    with subject.closed_in_time("after a failed open") as collector:
        error = expect_refused(lambda: collector.open(plan), "an environment that does not exist")
        expect("wfbench_no_such_module" in str(error), f"the error does not name it: {error}")
