"""Promises about environments and workers that fail."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from wfbench.contract import (
    CollectError,
    Collector,
    DeadlineError,
    Deadlines,
    EnvRef,
    WfbenchError,
    WorkerError,
)
from wfbench.testing.harness.subject import (
    COLLECTOR,
    EPISODE,
    POLICY,
    SLACK,
    STEPS,
    CollectorUnderTest,
    InjectedFault,
    close_in_time,
)
from wfbench.testing.promise import BrokenPromiseError, DoesNotApply, expect, expect_equal

from .lifecycle import expect_refused

_REPORTED_WITHIN = 2.0
"""Seconds from a worker's death until the caller knows."""

_HASTY = Deadlines(start=50.0, step=2.0, close=5.0)

E = TypeVar("E", bound=WfbenchError)


def _expect_failure(
    subject: CollectorUnderTest,
    fault: InjectedFault,
    examine: Callable[[InjectedFault, CollectError, float], object],
) -> None:
    """Let a fault happen, examine the error, and expect that only close is left, and works."""
    with subject.closed_in_time(f"after {fault.name}", twice=True) as collector:
        collector.open(fault.plan)
        examine(fault, *_error_of(collector, fault))
        expect_refused(lambda: collector.collect(POLICY, 1), f"collect after {fault.name}")


def _error_of(collector: Collector, fault: InjectedFault) -> tuple[CollectError, float]:
    """Return the caller's error and when it came."""
    error, when = fault.error_in(collector, 40), time.time()
    if error is None:
        raise BrokenPromiseError(f"{fault.name}: collect went on as if nothing had happened")
    if not isinstance(error, CollectError):
        raise BrokenPromiseError(
            f"{fault.name}: collect raised {type(error).__name__} ({error}), not a CollectError"
        ) from error
    return error, when


def _open_error(subject: CollectorUnderTest, fault: InjectedFault, expected: type[E]) -> E:
    """Return the error with which open fails because of the fault."""
    with subject.closed_in_time(f"after {fault.name}", twice=True) as collector:
        error = expect_refused(lambda: collector.open(fault.plan), f"open with {fault.name}")
        return _expect_kind(fault, error, expected)


def _expect_kind(fault: InjectedFault, error: WfbenchError, expected: type[E]) -> E:
    if not isinstance(error, expected):
        told = f"{type(error).__name__} ({error}), not as a {expected.__name__}"
        raise BrokenPromiseError(f"{fault.name} is reported as {told}")
    if isinstance(error, WorkerError):
        expect(error.env == fault.env, f"{fault.name}: it blames env {error.env}, not {fault.env}")
    return error


def _expect_named(fault: InjectedFault, error: CollectError, _when: float = 0.0) -> WorkerError:
    found = _expect_kind(fault, error, WorkerError)
    expect(found.worker >= 0, f"{fault.name}: the error names no worker: {found}")
    seed = fault.plan.env_seeds[fault.env]
    expect(found.seed == seed, f"{fault.name}: it gives seed {found.seed}, not {seed}")
    return found


def _expect_raised(fault: InjectedFault, error: CollectError, when: float) -> None:
    found = _expect_named(fault, error)
    expect("synthetic fault" in str(found), f"{fault.name}: the cause is not given: {found}")
    expect("\n" not in str(found), f"{fault.name}: the message is not one line: {found}")
    traced = "synthetic fault" in found.traceback and "Traceback" in found.traceback
    expect(traced, f"{fault.name}: the error carries no traceback")
    _expect_prompt(fault, when)


def _expect_died(fault: InjectedFault, error: CollectError, when: float) -> None:
    found = _expect_named(fault, error)
    wanted = {"kill@3": -9, "segv@3": -11, "exit@3": 3}[fault.name]
    expect_equal(f"{fault.name}: the exit code", found.exitcode, wanted)
    cause = found.signal or str(found.exitcode)
    expect(cause in str(found), f"{fault.name}: the message does not say {cause}: {found}")
    _expect_prompt(fault, when)


def _expect_prompt(fault: InjectedFault, when: float) -> None:
    late, limit = when - fault.happened(), _REPORTED_WITHIN
    detail = f"{fault.name} was reported {late:.1f} s after it happened, not within {limit} s"
    expect(late <= limit + SLACK, detail)


def _expect_deadline(fault: InjectedFault, error: CollectError, when: float) -> None:
    _expect_kind(fault, error, DeadlineError)
    late, limit = when - fault.happened(), fault.plan.deadlines.step
    detail = f"{fault.name} was reported after {late:.1f} s; the deadline of a step is {limit:g} s"
    expect(late <= limit + SLACK + _REPORTED_WITHIN, detail)


@COLLECTOR.add("An environment that raises is reported with env, seed and traceback")
def _raising(subject: CollectorUnderTest) -> None:
    _expect_failure(subject, subject.faulty("raise@3"), _expect_raised)


@COLLECTOR.add("Exceptions that cannot be pickled or rebuilt are reported all the same")
def _hostile_exceptions(subject: CollectorUnderTest) -> None:
    for name in ("raise-2arg", "raise-kwonly", "raise-unpicklable"):
        _expect_failure(subject, subject.faulty(f"{name}@3"), _expect_raised)


@COLLECTOR.add("A BaseException in a worker is reported", needs=("workers",))
def _base_exception(subject: CollectorUnderTest) -> None:
    _expect_failure(subject, subject.faulty("raise-base@3"), _expect_raised)


@COLLECTOR.add(
    "NaN, infinities and values of the wrong shape or type are refused where they enter", limit=90.0
)
def _bad_values(subject: CollectorUnderTest) -> None:
    end = f"@{EPISODE}"
    for name in ("nan@3", "inf-reward@3", "bad-shape@3", "bad-dtype@3"):
        _expect_failure(subject, subject.faulty(name, obs_dtype="uint8"), _expect_named)
    for name in ("nan-obs@3", f"nan-obs{end}", f"nan-reset{end}", "inf-obs@3", "bad-dtype@3"):
        _expect_failure(subject, subject.faulty(name, obs_dtype="float32"), _expect_named)


@COLLECTOR.add("An environment that cannot be built is reported by open")
def _constructor_raises(subject: CollectorUnderTest) -> None:
    error = _open_error(subject, subject.faulty("ctor-raise"), WorkerError)
    expect("synthetic fault" in str(error), f"the cause is not given: {error}")


@COLLECTOR.add("A worker that dies while building is reported by open", needs=("workers",))
def _constructor_exits(subject: CollectorUnderTest) -> None:
    error = _open_error(subject, subject.faulty("ctor-exit"), WorkerError)
    expect_equal("the exit code", error.exitcode, 3)


@COLLECTOR.add("An environment that never gets built ends open at its deadline", needs=("workers",))
def _constructor_hangs(subject: CollectorUnderTest) -> None:
    deadlines = Deadlines(start=4.0, step=2.0, close=5.0)
    fault = subject.faulty("ctor-hang", deadlines=deadlines)
    started = time.monotonic()
    _open_error(subject, fault, DeadlineError)
    took = time.monotonic() - started
    limit = deadlines.start + deadlines.close + SLACK
    expect(took <= limit, f"open took {took:.1f} s; its deadline is {deadlines.start:g} s")


@COLLECTOR.add("A killed worker is reported within 2 s with its signal", needs=("workers",))
def _killed(subject: CollectorUnderTest) -> None:
    _expect_failure(subject, subject.faulty("kill@3"), _expect_died)


@COLLECTOR.add("A worker that crashes or exits is reported within 2 s", needs=("workers",))
def _crashed(subject: CollectorUnderTest) -> None:
    for name in ("segv@3", "exit@3"):
        _expect_failure(subject, subject.faulty(name), _expect_died)


@COLLECTOR.add("A worker that hangs ends collect at its deadline", needs=("workers",))
def _hanging(subject: CollectorUnderTest) -> None:
    _expect_failure(subject, subject.faulty("hang@3", deadlines=_HASTY), _expect_deadline)


@COLLECTOR.add("A stopped worker ends collect at its deadline", needs=("workers",))
def _stopped(subject: CollectorUnderTest) -> None:
    _expect_failure(subject, subject.faulty("stop@3", deadlines=_HASTY), _expect_deadline)


@COLLECTOR.add("Building that takes longer than the start deadline is an error")
def _late_start(subject: CollectorUnderTest) -> None:
    if "workers" in subject.spec.capabilities or subject.batched_only:
        raise DoesNotApply("building in workers has a promise of its own, batches cost nothing")
    deadlines = Deadlines(start=1.0, step=2.0, close=5.0)
    slow = subject.env(construct=0.25, reset=0.05, busy=False)
    plan = subject.plan(slow, deadlines=deadlines)
    with subject.closed_in_time("after a late open") as collector:
        late = f"open that takes longer than its deadline of {deadlines.start:g} s"
        error = expect_refused(lambda: collector.open(plan), late)
        expect(isinstance(error, DeadlineError), f"{late} raised {error!r}, not a DeadlineError")


@COLLECTOR.add("Nothing that comes after the deadline is ever delivered")
def _late_answers(subject: CollectorUnderTest) -> None:
    slow = 2 * _HASTY.step
    fault = subject.faulty("slow@3", deadlines=_HASTY, fault_seconds=slow)
    plan = subject.plan()
    with subject.opened(fault.plan) as collector:
        _expect_deadline(fault, *_error_of(collector, fault))
        # Until the late answer has come; a collector that steps in this process has waited for it.
        time.sleep(max(0.5, fault.happened() + slow + 0.5 - time.time()))
        expect_refused(lambda: collector.collect(POLICY, 1), "collect after a missed deadline")
        close_in_time(collector, "after a missed deadline")
        collector.open(plan)
        rollout = collector.collect(POLICY, STEPS)
    again = "opened again, it delivers other transitions than sequential"
    subject.expect_reference(rollout, plan, again)


@COLLECTOR.add("An environment slower than the others loses nothing")
def _straggler(subject: CollectorUnderTest) -> None:
    rollout = subject.collect(subject.faulty("slow@3", fault_seconds=0.5).plan)[0]
    subject.expect_reference(rollout, subject.plan(), "its transitions are not sequential's")


@COLLECTOR.add("An option that cannot cross to a worker is refused by open", needs=("workers",))
def _unpicklable_option(subject: CollectorUnderTest) -> None:
    ref = subject.env()
    hostile = EnvRef(ref.name, ref.factory, None, {**ref.options, "costs": lambda: "none"})
    plan = subject.plan(hostile)
    with subject.closed_in_time("after a failed open") as collector:
        expect_refused(lambda: collector.open(plan), "an option that is a function")
