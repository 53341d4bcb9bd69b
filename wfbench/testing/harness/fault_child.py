"""What came of a fault, observed in a process of its own for `wfbench.testing.fault_watch`."""

from __future__ import annotations

import time
from dataclasses import replace

from wfbench.contract import Collector, DeadlineError, Deadlines, WfbenchError, WorkerError
from wfbench.testing.fault_watch import STEP_DEADLINE, FaultOutcome, FaultSeen

from .subject import LATE, POLICY, SLACK, STEPS, CollectorUnderTest, InjectedFault

_DEADLINES = Deadlines(start=20.0, step=STEP_DEADLINE, close=5.0)
_EXITS = {"kill@3": -9, "segv@3": -11, "exit@3": 3, "ctor-exit": 3}
_HANGS = frozenset({"hang@3", "stop@3", "ctor-hang"})


def observe(name: str, subject: CollectorUnderTest) -> FaultSeen:
    """Let a fault happen, and return what came of it."""
    if name == "restart":
        return _observe_restart(subject)
    fault = subject.faulty(name, deadlines=_DEADLINES)
    collector = subject.build()
    seen = _classify(subject.spec.name, fault, _error_of(collector, fault))
    return _try_again(seen, collector, subject)


def _error_of(collector: Collector, fault: InjectedFault) -> BaseException | None:
    """Return the error the caller gets; None if there is none for long enough."""
    try:
        collector.open(fault.plan)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever it is, it is what is seen
        return error
    return fault.error_in(collector, _DEADLINES.step + LATE)


def _classify(collector: str, fault: InjectedFault, error: BaseException | None) -> FaultSeen:
    when = time.time()
    if error is None:
        return FaultSeen(collector, fault.name, "went on")
    outcome: FaultOutcome = "wrong error"
    if isinstance(error, WfbenchError):
        outcome = "told" if _names_the_cause(fault, error) else "cause lost"
    seconds = when - fault.happened() if fault.marker.exists() else None
    detail = f"{type(error).__name__}: {' '.join(str(error).split())}"
    return FaultSeen(collector, fault.name, outcome, seconds, detail)


def _names_the_cause(fault: InjectedFault, error: WfbenchError) -> bool:
    if fault.name in _HANGS:
        return isinstance(error, DeadlineError)
    if not isinstance(error, WorkerError) or error.env != fault.env:
        return False
    if fault.name in _EXITS:
        return error.exitcode == _EXITS[fault.name]
    cause = "nan" if fault.name == "nan@3" else "synthetic fault"
    return cause in str(error).lower()


def _try_again(seen: FaultSeen, collector: Collector, subject: CollectorUnderTest) -> FaultSeen:
    started = time.monotonic()
    try:
        collector.close()
    except Exception as error:  # noqa: BLE001 - as above
        return replace(seen, close=f"raised {type(error).__name__}: {error}", usable_again=False)
    took = time.monotonic() - started
    late = f"took {took:.1f} s" if took > _DEADLINES.close + SLACK else ""
    try:
        collector.open(subject.plan())
        collector.collect(POLICY, STEPS)
        again = True
    except WfbenchError:
        again = False
    finally:
        collector.close()
    return replace(seen, close=late, usable_again=again)


def _observe_restart(subject: CollectorUnderTest) -> FaultSeen:
    """Return whether a collector that can replace a dead worker does so and goes on."""
    name = subject.spec.name
    if not subject.declares("on_worker_death"):
        return FaultSeen(name, "restart", "not offered")
    fault = subject.faulty("kill@3")
    with subject.opened(fault.plan, on_worker_death="restart") as collector:
        until = time.monotonic() + 2 * LATE
        while time.monotonic() < until:
            rollout = collector.collect(POLICY, STEPS)
            if rollout.counters.restarts:
                seconds = time.time() - fault.happened()
                return FaultSeen(name, "restart", "recovered", seconds, "; ".join(rollout.marks))
    return FaultSeen(name, "restart", "went on")
