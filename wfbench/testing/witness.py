"""The process in which a fault happens. Started by `wfbench.testing.faults_seen`."""

from __future__ import annotations

import shutil
import time
from dataclasses import replace

from wfbench.contract import Collector, DeadlineError, WfbenchError, WorkerError
from wfbench.policies import RandomPolicy

from .faults_seen import (
    CAUSE_LOST,
    DEADLINES,
    NOT_OFFERED,
    RECOVERED,
    TOLD,
    WENT_ON,
    WRONG_ERROR,
    Seen,
)
from .ground import ACTIONS, SLACK, STEPS, Fault, Ground
from .judge import serve

_POLICY = RandomPolicy(ACTIONS)
_RESTART = {"on_worker_death": "restart"}
_LATE = 10.0
"""Seconds after which a fault that nobody was told of counts as not noticed."""

_EXITS = {"kill@3": -9, "segv@3": -11, "exit@3": 3, "ctor-exit": 3}
_HANGS = frozenset({"hang@3", "stop@3", "ctor-hang"})


def main(descriptor: str) -> None:
    """Let faults happen until the connection is closed."""
    serve(descriptor, witnessed)


def witnessed(name: str, ground: Ground) -> Seen:
    """What a caller sees of a fault, in this process."""
    try:
        if name == "restart":
            return _restarting(ground)
        fault = ground.faulty(name, deadlines=DEADLINES)
        collector = ground.build()
        seen = _seen(ground.spec.name, fault, _raised(collector, fault))
        return _afterwards(seen, collector, ground)
    finally:
        shutil.rmtree(ground.scratch, ignore_errors=True)


def _raised(collector: Collector, fault: Fault) -> BaseException | None:
    """What the caller is told; None if it was told nothing for long enough."""
    try:
        collector.open(fault.plan)
        until = time.monotonic() + DEADLINES.step + _LATE
        while time.monotonic() < until:
            collector.collect(_POLICY, STEPS)
            if fault.marker.exists() and time.time() - fault.happened() > _LATE:
                break
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever it is, it is what is seen
        return error
    return None


def _seen(collector: str, fault: Fault, error: BaseException | None) -> Seen:
    when = time.time()
    if error is None:
        return Seen(collector, fault.name, WENT_ON)
    outcome = WRONG_ERROR
    if isinstance(error, WfbenchError):
        outcome = TOLD if _names_the_cause(fault, error) else CAUSE_LOST
    seconds = when - fault.happened() if fault.marker.exists() else None
    detail = f"{type(error).__name__}: {' '.join(str(error).split())}"
    return Seen(collector, fault.name, outcome, seconds, detail)


def _names_the_cause(fault: Fault, error: WfbenchError) -> bool:
    if fault.name in _HANGS:
        return isinstance(error, DeadlineError)
    if not isinstance(error, WorkerError) or error.env != fault.env:
        return False
    if fault.name in _EXITS:
        return error.exitcode == _EXITS[fault.name]
    cause = "nan" if fault.name == "nan@3" else "synthetic fault"
    return cause in str(error).lower()


def _afterwards(seen: Seen, collector: Collector, ground: Ground) -> Seen:
    started = time.monotonic()
    try:
        collector.close()
    except Exception as error:  # noqa: BLE001 - as above
        return replace(seen, close=f"raised {type(error).__name__}: {error}", usable_again=False)
    took = time.monotonic() - started
    late = f"took {took:.1f} s" if took > DEADLINES.close + SLACK else ""
    try:
        collector.open(ground.plan())
        collector.collect(_POLICY, STEPS)
        again = True
    except WfbenchError:
        again = False
    finally:
        collector.close()
    return replace(seen, close=late, usable_again=again)


def _restarting(ground: Ground) -> Seen:
    """Whether a collector that can replace a dead worker goes on without losing or mixing rows."""
    name = ground.spec.name
    if not ground.declares("on_worker_death"):
        return Seen(name, "restart", NOT_OFFERED)
    fault = ground.faulty("kill@3")
    with ground.build(**_RESTART) as collector:
        collector.open(fault.plan)
        until = time.monotonic() + 2 * _LATE
        while time.monotonic() < until:
            rollout = collector.collect(_POLICY, STEPS)
            if rollout.counters.restarts:
                told = time.time() - fault.happened()
                return Seen(name, "restart", RECOVERED, told, "; ".join(rollout.marks))
    return Seen(name, "restart", WENT_ON)
