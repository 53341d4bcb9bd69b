"""Promises about environments and workers that fail."""

from __future__ import annotations

import time
from collections.abc import Callable

from wfbench.contract import (
    CollectError,
    Collector,
    DeadlineError,
    Deadlines,
    EnvRef,
    WorkerError,
)
from wfbench.policies import RandomPolicy
from wfbench.testing.ground import ACTIONS, PATIENT, SLACK, STEPS, Fault, Ground, close_in_time
from wfbench.testing.verdict import BrokenPromiseError, expect

from .catalogue import COLLECTOR
from .life import refused

POLICY = RandomPolicy(ACTIONS)
REPORTED_WITHIN = 2.0
"""Seconds from a worker's death until the caller knows."""

HASTY = Deadlines(start=50.0, step=2.0, close=5.0)


def failing(
    ground: Ground, fault: Fault, examine: Callable[[Fault, CollectError, float], None]
) -> None:
    """Let a fault happen, examine the error, and expect that only close is left, and works."""
    collector = ground.build()
    try:
        collector.open(fault.plan)
        error, when = _error_of(collector, fault)
        examine(fault, error, when)
        refused(lambda: collector.collect(POLICY, 1), f"collect after {fault.name}")
    finally:
        close_in_time(collector, fault.plan.deadlines.close, f"after {fault.name}")
        close_in_time(collector, fault.plan.deadlines.close, f"after {fault.name}, a second time,")


def _error_of(collector: Collector, fault: Fault) -> tuple[CollectError, float]:
    """What the caller is told, and when. An asynchronous collector may deliver good rows first."""
    deadline = time.monotonic() + 40
    while time.monotonic() < deadline:
        try:
            collector.collect(POLICY, STEPS)
        except CollectError as error:
            return error, time.time()
        except BaseException as error:
            raise BrokenPromiseError(
                f"{fault.name}: collect raised {type(error).__name__} ({error}), not a CollectError"
            ) from error
        if fault.marker.exists() and time.time() - fault.happened() > 10:
            break
    raise BrokenPromiseError(f"{fault.name}: collect went on as if nothing had happened")


def _expect_named(fault: Fault, error: CollectError) -> WorkerError:
    if not isinstance(error, WorkerError):
        raise BrokenPromiseError(
            f"{fault.name} is reported as {type(error).__name__} ({error}), not as a WorkerError"
        )
    expect(error.worker >= 0, f"{fault.name}: the error names no worker: {error}")
    expect(error.env == fault.env, f"{fault.name}: it blames env {error.env}, not {fault.env}")
    expect(error.seed == fault.seed, f"{fault.name}: it gives seed {error.seed}, not {fault.seed}")
    return error


def _raised(fault: Fault, error: CollectError, when: float) -> None:
    found = _expect_named(fault, error)
    expect("synthetic fault" in str(found), f"{fault.name}: the cause is not told: {found}")
    expect("\n" not in str(found), f"{fault.name}: the message is not one line: {found}")
    expect(
        "synthetic fault" in found.traceback and "Traceback" in found.traceback,
        f"{fault.name}: the error carries no traceback",
    )
    _in_time(fault, when)


def _died(fault: Fault, error: CollectError, when: float) -> None:
    found = _expect_named(fault, error)
    wanted = {"kill@3": -9, "segv@3": -11, "exit@3": 3}[fault.name]
    expect(
        found.exitcode == wanted,
        f"{fault.name}: the exit code is given as {found.exitcode}, not {wanted}",
    )
    told = found.signal or str(found.exitcode)
    expect(told in str(found), f"{fault.name}: the message does not say {told}: {found}")
    _in_time(fault, when)


def _in_time(fault: Fault, when: float) -> None:
    late = when - fault.happened()
    expect(
        late <= REPORTED_WITHIN + SLACK,
        f"{fault.name} was reported {late:.1f} s after it happened, not within {REPORTED_WITHIN} s",
    )


def _missed_deadline(fault: Fault, error: CollectError, when: float) -> None:
    expect(
        isinstance(error, DeadlineError),
        f"{fault.name} is reported as {type(error).__name__} ({error}), not as a DeadlineError",
    )
    late = when - fault.happened()
    limit = fault.plan.deadlines.step
    expect(
        late <= limit + SLACK + REPORTED_WITHIN,
        f"{fault.name} was reported after {late:.1f} s; the deadline of a step is {limit:g} s",
    )


@COLLECTOR.promise()
def raising(ground: Ground) -> None:
    """An environment that raises is reported with env, seed and traceback."""
    failing(ground, ground.faulty("raise@3"), _raised)


@COLLECTOR.promise()
def hostile_exceptions(ground: Ground) -> None:
    """Exceptions that cannot be pickled or rebuilt are reported all the same."""
    for name in ("raise-2arg", "raise-kwonly", "raise-unpicklable"):
        failing(ground, ground.faulty(f"{name}@3"), _raised)


@COLLECTOR.promise(needs=("workers",))
def base_exception(ground: Ground) -> None:
    """A BaseException in a worker is reported."""
    failing(ground, ground.faulty("raise-base@3"), _raised)


@COLLECTOR.promise()
def bad_values(ground: Ground) -> None:
    """NaN and values of the wrong shape are refused where they enter."""
    for name, dtype in (("nan@3", "uint8"), ("nan@3", "float32"), ("bad-shape@3", "uint8")):
        fault = ground.faulty(name, obs_dtype=dtype)
        failing(ground, fault, lambda fault, error, _when: _named_only(fault, error))


def _named_only(fault: Fault, error: CollectError) -> None:
    _expect_named(fault, error)


@COLLECTOR.promise()
def constructor_raises(ground: Ground) -> None:
    """An environment that cannot be built is reported by open."""
    fault = ground.faulty("ctor-raise")
    error = _open_error(ground, fault)
    found = _expect_built_error(fault, error)
    expect("synthetic fault" in str(found), f"the cause is not told: {found}")


@COLLECTOR.promise(needs=("workers",))
def constructor_exits(ground: Ground) -> None:
    """A worker that dies while building is reported by open."""
    fault = ground.faulty("ctor-exit")
    found = _expect_built_error(fault, _open_error(ground, fault))
    expect(found.exitcode == 3, f"the exit code is given as {found.exitcode}, not 3")


@COLLECTOR.promise(needs=("workers",))
def constructor_hangs(ground: Ground) -> None:
    """An environment that never gets built ends open at its deadline."""
    deadlines = Deadlines(start=4.0, step=2.0, close=5.0)
    fault = ground.faulty("ctor-hang", deadlines=deadlines)
    started = time.monotonic()
    error = _open_error(ground, fault)
    took = time.monotonic() - started
    expect(
        isinstance(error, DeadlineError),
        f"it is reported as {type(error).__name__} ({error}), not as a DeadlineError",
    )
    limit = deadlines.start + deadlines.close + SLACK
    expect(took <= limit, f"open took {took:.1f} s; its deadline is {deadlines.start:g} s")


def _open_error(ground: Ground, fault: Fault) -> CollectError:
    collector = ground.build()
    try:
        error = refused(lambda: collector.open(fault.plan), f"open with {fault.name}")
        if not isinstance(error, CollectError):
            raise BrokenPromiseError(
                f"{fault.name} is reported as {type(error).__name__} ({error}), not a CollectError"
            )
        return error
    finally:
        close_in_time(collector, fault.plan.deadlines.close, f"after {fault.name}")
        close_in_time(collector, fault.plan.deadlines.close, f"after {fault.name}, a second time,")


def _expect_built_error(fault: Fault, error: CollectError) -> WorkerError:
    if not isinstance(error, WorkerError):
        raise BrokenPromiseError(
            f"{fault.name} is reported as {type(error).__name__} ({error}), not as a WorkerError"
        )
    expect(error.env == fault.env, f"{fault.name}: it blames env {error.env}, not {fault.env}")
    return error


@COLLECTOR.promise(needs=("workers",))
def killed(ground: Ground) -> None:
    """A killed worker is reported within 2 s with its signal."""
    failing(ground, ground.faulty("kill@3"), _died)


@COLLECTOR.promise(needs=("workers",))
def crashed(ground: Ground) -> None:
    """A worker that crashes or exits is reported within 2 s."""
    for name in ("segv@3", "exit@3"):
        failing(ground, ground.faulty(name), _died)


@COLLECTOR.promise(needs=("workers",))
def hanging(ground: Ground) -> None:
    """A worker that hangs ends collect at its deadline."""
    failing(ground, ground.faulty("hang@3", deadlines=HASTY), _missed_deadline)


@COLLECTOR.promise(needs=("workers",))
def stopped(ground: Ground) -> None:
    """A stopped worker ends collect at its deadline."""
    failing(ground, ground.faulty("stop@3", deadlines=HASTY), _missed_deadline)


@COLLECTOR.promise(needs=("workers",))
def late_answers(ground: Ground) -> None:
    """Nothing that comes after the deadline is ever delivered."""
    fault = ground.faulty("slow@3", deadlines=HASTY, fault_seconds=4.0)
    collector = ground.build()
    try:
        collector.open(fault.plan)
        error, when = _error_of(collector, fault)
        _missed_deadline(fault, error, when)
        time.sleep(2.5)
        refused(lambda: collector.collect(POLICY, 1), "collect after a missed deadline")
        close_in_time(collector, HASTY.close, "after a missed deadline")
        plan = ground.plan()
        collector.open(plan)
        rollout = collector.collect(POLICY, STEPS)
    finally:
        collector.close()
    if ground.deterministic:
        expect(
            rollout.transition_hash() == ground.reference(plan)[0].transition_hash(),
            "opened again, it delivers other transitions than sequential",
        )


@COLLECTOR.promise()
def straggler(ground: Ground) -> None:
    """An environment slower than the others loses nothing."""
    fault = ground.faulty("slow@3", fault_seconds=0.5)
    rollout = ground.collect(fault.plan)[0]
    if ground.deterministic:
        expect(
            rollout.transition_hash() == ground.reference(ground.plan())[0].transition_hash(),
            "its transitions are not sequential's",
        )


@COLLECTOR.promise(needs=("workers",))
def unpicklable_option(ground: Ground) -> None:
    """An option that cannot cross to a worker is refused by open."""
    ref = ground.env()
    hostile = EnvRef(ref.name, ref.factory, None, {**ref.options, "costs": lambda: "none"})
    collector = ground.build()
    try:
        refused(lambda: collector.open(ground.plan(hostile)), "an option that is a function")
    finally:
        close_in_time(collector, PATIENT.close, "after a failed open")
