"""What is made of a fault that one collector had."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from simulated_collector import Good, Options

from wfbench.contract import (
    CollectError,
    DeadlineError,
    EnvInfo,
    Plan,
    Policy,
    Rollout,
    WorkerError,
)
from wfbench.testing.fault_watch import FAULTS, FaultSeen
from wfbench.testing.harness.fault_child import observe


@pytest.mark.parametrize("fault", [fault for fault in FAULTS if fault != "restart"])
def test_the_cause_of_every_fault_is_told(fault: str, subject_of: Any, clock: Any) -> None:
    class Later(Good):
        when = clock.now - 3.5

    Good.log.clear()
    seen = observe(fault, subject_of(Later, "deterministic"))
    assert (seen.collector, seen.fault, seen.outcome) == ("subject", fault, "told")
    assert (seen.seconds, seen.close, seen.usable_again) == (3.5, "", True)
    assert Good.log[1].endswith(", 20/2/5 s")
    assert Good.log[-3].endswith("5 x synthetic (scalar), seed 13432090166537452992, 90/60/5 s")
    assert Good.log[-2:] == ["collect 12 by RandomPolicy 0 []", "close"]


def raising(make: Callable[[], BaseException]) -> type[Good]:
    return type("Raises", (Good,), {"error": lambda _: make()})


def worker(text: str = "synthetic fault", env: int | None = 2, code: int | None = None) -> Any:
    return raising(lambda: WorkerError(text, worker=0, env=env, exitcode=code))


@pytest.mark.parametrize(
    ("fault", "collector", "outcome"),
    [
        ("raise@3", worker(), "told"),
        ("raise@3", worker("SYNTHETIC  Fault"), "cause lost"),
        ("raise@3", worker("Synthetic Fault"), "told"),
        ("raise@3", worker("nan"), "cause lost"),
        ("raise@3", worker(env=None), "cause lost"),
        ("raise@3", worker(env=1), "cause lost"),
        ("raise@3", raising(lambda: CollectError("synthetic fault")), "cause lost"),
        ("raise@3", raising(lambda: ValueError("synthetic fault")), "wrong error"),
        ("nan@3", worker("it is NaN"), "told"),
        ("nan@3", worker(), "cause lost"),
        ("kill@3", worker(code=-9), "told"),
        ("kill@3", worker(code=-10), "cause lost"),
        ("segv@3", worker(code=-11), "told"),
        ("segv@3", worker(code=-9), "cause lost"),
        ("exit@3", worker(code=3), "told"),
        ("exit@3", worker(code=None), "cause lost"),
        ("ctor-exit", worker(code=3), "told"),
        ("ctor-exit", worker(code=1), "cause lost"),
        ("ctor-exit", raising(lambda: SystemExit(3)), "wrong error"),
        ("hang@3", raising(lambda: DeadlineError("late")), "told"),
        ("hang@3", worker(), "cause lost"),
        ("stop@3", worker(), "cause lost"),
        ("ctor-hang", worker(), "cause lost"),
    ],
)
def test_what_the_caller_got_to_know(
    fault: str, collector: type, outcome: str, subject_of: Any, clock: Any
) -> None:
    del clock
    assert observe(fault, subject_of(collector, "deterministic")).outcome == outcome


def test_the_error_is_told_in_one_line(subject_of: Any, clock: Any) -> None:
    del clock

    class Silent(Good):
        def happen(self) -> None:
            """Leave no mark."""

        def error(self) -> BaseException:
            return ValueError("two\n  lines")

    seen = observe("raise@3", subject_of(Silent, "deterministic"))
    assert (seen.detail, seen.seconds) == ("ValueError: two lines", None)


@pytest.mark.parametrize(
    ("declared", "marked", "collects"),
    [("deterministic", False, 12), ("deterministic", True, 2), ("async", True, 11)],
)
def test_a_collector_that_goes_on_is_watched_for_a_while(
    declared: str, marked: object, collects: int, subject_of: Any, clock: Any
) -> None:
    class GoesOn(Good):
        def open(self, plan: Plan) -> EnvInfo:
            info = super().open(plan)
            self.unheard, self.fault = self.fault, ""
            return info

        def deliver(self, policy: Policy, steps: int) -> Rollout:
            if self.unheard:
                clock.sleep(1.0)
                if marked:
                    self.happen()
            return super().deliver(policy, steps)

    Good.log.clear()
    seen = observe("raise@3", subject_of(GoesOn, declared))
    assert seen == FaultSeen("subject", "raise@3", "went on", usable_again=True)
    assert sum(line.startswith("collect") for line in Good.log) == collects + 1


@pytest.mark.parametrize(("took", "told"), [(7.0, ""), (7.25, "took 7.2 s")])
def test_a_slow_close_is_told(took: float, told: str, subject_of: Any, clock: Any) -> None:
    class Slow(Good):
        def close(self) -> None:
            clock.sleep(took)
            super().close()

    seen = observe("raise@3", subject_of(Slow, "deterministic"))
    assert (seen.close, seen.usable_again) == (told, True)


def test_a_collector_that_cannot_go_on_is_told(subject_of: Any, clock: Any) -> None:
    del clock

    class Closes(Good):
        def close(self) -> None:
            super().close()
            raise OSError("no")

    class OpensOnce(Good):
        def open(self, plan: Plan) -> EnvInfo:
            if "fault=" not in self.log[-1] and self.calls:
                raise CollectError("once is enough")
            return super().open(plan)

    seen = observe("raise@3", subject_of(Closes, "deterministic"))
    assert (seen.close, seen.usable_again) == ("raised OSError: no", False)
    seen = observe("raise@3", subject_of(OpensOnce, "deterministic"))
    assert (seen.outcome, seen.close, seen.usable_again) == ("told", "", False)


def test_a_restart_is_observed(subject_of: Any, clock: Any) -> None:
    class Restarts(Good):
        when = clock.now - 1.5

        def collect(self, policy: Policy, steps: int) -> Rollout:
            rollout = super().collect(policy, steps)
            return replace(rollout, marks=(*rollout.marks, "twice"))

    seen = observe("restart", subject_of(Restarts, "restart", options=Options))
    marks = "a worker was replaced; twice"
    assert seen == FaultSeen("subject", "restart", "recovered", 1.5, marks)
    seen = observe("restart", subject_of(Good, "restart"))
    assert seen == FaultSeen("subject", "restart", "not offered")


def test_a_restart_that_never_comes_is_waited_for(subject_of: Any, clock: Any) -> None:
    class Never(Good):
        def deliver(self, policy: Policy, steps: int) -> Rollout:
            clock.sleep(1.0)
            return super().deliver(policy, steps)

        def collect(self, policy: Policy, steps: int) -> Rollout:
            self.fault = ""
            return super().collect(policy, steps)

    Good.log.clear()
    seen = observe("restart", subject_of(Never, "restart", options=Options))
    assert seen == FaultSeen("subject", "restart", "went on")
    assert sum(line.startswith("collect") for line in Good.log) == 20
