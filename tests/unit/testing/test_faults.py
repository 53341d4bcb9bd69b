"""What the promises about faults say of collectors that break them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from simulated_collector import Good

from wfbench.contract import (
    CollectError,
    DeadlineError,
    EnvInfo,
    Plan,
    Policy,
    Rollout,
    WorkerError,
)

WORKERS = ("deterministic", "workers")


def telling(**changed: Any) -> type[Good]:
    """Return a collector that reports failures otherwise."""

    class Tells(Good):
        def error(self) -> BaseException:
            told = super().error()
            for name, value in changed.items():
                setattr(told, name, value)
            return told

    return Tells


def raising(make: Callable[[], BaseException]) -> type[Good]:
    """Return a collector that fails with another error."""
    return type("Raises", (Good,), {"error": lambda _: make()})


@pytest.mark.parametrize(
    ("slug", "collector", "detail"),
    [
        (
            "raising",
            raising(lambda: ValueError("no")),
            "raise@3: collect raised ValueError (no), not a CollectError",
        ),
        (
            "raising",
            raising(lambda: DeadlineError("late")),
            "raise@3 is reported as DeadlineError (late), not as a WorkerError",
        ),
        ("raising", telling(env=1), "raise@3: it blames env 1, not 2"),
        ("raising", telling(worker=-1), "raise@3: the error names no worker: "),
        ("raising", telling(seed=7), "raise@3: it gives seed 7, not 18031072282051627120"),
        ("raising", telling(args=("bad",)), "raise@3: the cause is not given: bad"),
        (
            "raising",
            telling(args=("synthetic fault\nhere",)),
            "raise@3: the message is not one line: synthetic fault\nhere",
        ),
        ("raising", telling(traceback=""), "raise@3: the error carries no traceback"),
        ("raising", telling(traceback="Traceback"), "raise@3: the error carries no traceback"),
        ("raising", telling(traceback="synthetic fault"), "raise@3: the error carries no trace"),
        ("hostile-exceptions", telling(seed=7), "raise-2arg@3: it gives seed 7, not "),
        ("base-exception", telling(env=4), "raise-base@3: it blames env 4, not 2"),
        ("bad-values", telling(worker=-1), "nan@3: the error names no worker: "),
        ("killed", telling(exitcode=None), "kill@3: the exit code is None, not -9"),
        ("killed", telling(exitcode=-15), "kill@3: the exit code is -15, not -9"),
        ("killed", telling(args=("died",)), "kill@3: the message does not say SIGKILL: died"),
        ("killed", telling(args=("died, -9",)), "kill@3: the message does not say SIGKILL"),
        ("crashed", telling(exitcode=-9), "segv@3: the exit code is -9, not -11"),
        ("hanging", telling(__class__=CollectError), "hang@3 is reported as CollectError"),
        ("stopped", telling(__class__=CollectError), "stop@3 is reported as CollectError"),
        ("constructor-raises", telling(args=("bad",)), "the cause is not given: bad"),
        ("constructor-raises", telling(env=0), "ctor-raise: it blames env 0, not 2"),
        ("constructor-exits", telling(exitcode=4), "the exit code is 4, not 3"),
        (
            "constructor-hangs",
            telling(__class__=CollectError),
            "ctor-hang is reported as CollectError (it came too late), not as a DeadlineError",
        ),
        ("late-answers", telling(__class__=CollectError), "slow@3 is reported as CollectError"),
    ],
)
def test_a_failure_told_otherwise_is_noticed(
    slug: str, collector: type, detail: str, judge: Any, clock: Any
) -> None:
    del clock
    assert judge(Good, slug, *WORKERS).kept is True
    found = judge(collector, slug, *WORKERS)
    assert found.kept is False
    assert found.detail.startswith(detail)


def test_the_exit_code_of_a_worker_without_a_signal_is_said(judge: Any, clock: Any) -> None:
    del clock

    class Exits(Good):
        def error(self) -> BaseException:
            told = super().error()
            if self.fault == "exit":
                told.args = ("ended",)
            return told

    found = judge(Exits, "crashed", *WORKERS)
    assert found.detail == "exit@3: the message does not say 3: ended"


@pytest.mark.parametrize(
    ("slug", "latest", "detail"),
    [
        ("raising", 4.0, "raise@3 was reported 4.2 s after it happened, not within 2.0 s"),
        ("killed", 4.0, "kill@3 was reported 4.2 s after it happened, not within 2.0 s"),
        ("hanging", 6.0, "hang@3 was reported after 6.2 s; the deadline of a step is 2 s"),
        ("late-answers", 6.0, "slow@3 was reported after 6.2 s; the deadline of a step is 2 s"),
    ],
)
def test_a_failure_must_be_told_in_time(
    slug: str, latest: float, detail: str, judge: Any, clock: Any
) -> None:
    for late in (latest, latest + 0.25):

        class Late(Good):
            when = clock.now - late

        found = judge(Late, slug, *WORKERS)
        assert (found.kept, found.detail) == ((True, "") if late == latest else (False, detail))


def test_open_must_fail_in_time(judge: Any, clock: Any) -> None:
    for took in (11.0, 11.25):

        class Slow(Good):
            def open(self, plan: Plan) -> EnvInfo:
                clock.sleep(took)  # noqa: B023 (called at once)
                return super().open(plan)

        found = judge(Slow, "constructor-hangs", *WORKERS)
        said = "open took 11.2 s; its deadline is 4 s"
        assert (found.kept, found.detail) == ((True, "") if took == 11.0 else (False, said))


class Unmoved(Good):
    """Never gets to a fault; each collect takes a second."""

    def open(self, plan: Plan) -> EnvInfo:
        info = super().open(plan)
        self.plan_asked, self.fault = self.fault, ""
        return info

    def deliver(self, policy: Policy, steps: int) -> Rollout:
        self.clock.sleep(1.0)
        return super().deliver(policy, steps)


class Deaf(Unmoved):
    """Goes on after the fault."""

    def deliver(self, policy: Policy, steps: int) -> Rollout:
        if self.plan_asked:
            self.happen()
        return super().deliver(policy, steps)


@pytest.mark.parametrize(
    ("collector", "declared", "collects"),
    [
        (Unmoved, ("deterministic",), 40),
        (Unmoved, ("batched",), 40),
        (Deaf, ("deterministic",), 2),
        (Deaf, ("batched",), 11),
    ],
)
def test_a_fault_that_nobody_tells_of_is_waited_for(
    collector: type, declared: tuple[str, ...], collects: int, judge: Any, clock: Any
) -> None:
    Good.log.clear()
    waiting = type("Waiting", (collector,), {"clock": clock})
    found = judge(waiting, "raising", *declared)
    assert found.detail == "raise@3: collect went on as if nothing had happened"
    assert sum(line.startswith("collect") for line in Good.log) == collects


def test_after_a_failure_only_close_is_left_and_it_works(judge: Any, clock: Any) -> None:
    del clock

    class GoesOn(Good):
        def error(self) -> BaseException:
            self.failed = False
            fault, error = self.fault, super().error()
            self.fault = "" if fault == "raise" else fault
            return error

    assert judge(GoesOn, "raising").detail == "collect after raise@3 was not refused"

    for number, said in ((1, "after raise@3"), (2, "after raise@3, the second time,")):

        class Fails(Good):
            closes = 0

            def close(self) -> None:
                super().close()
                self.closes += 1
                if self.closes == number:  # noqa: B023 (called at once)
                    raise OSError("no")

        assert judge(Fails, "raising").detail == f"close() {said} raised OSError: no"


def test_close_must_end_in_time(judge: Any, clock: Any) -> None:
    for took in (7.0, 7.25):

        class Slow(Good):
            def close(self) -> None:
                super().close()
                clock.sleep(took)  # noqa: B023 (called at once)

        found = judge(Slow, "close-in-any-state")
        said = "close() of a collector that was never opened took 7.2 s; its deadline is 5 s"
        assert (found.kept, found.detail) == ((True, "") if took == 7.0 else (False, said))


def test_a_late_start_must_be_an_error_of_its_kind(judge: Any) -> None:
    class NeverLate(Good):
        def open(self, plan: Plan) -> EnvInfo:
            del plan
            return EnvInfo((2,), "float32", 2)

    class OtherError(Good):
        def open(self, plan: Plan) -> EnvInfo:
            del plan
            raise CollectError("no")

    late = "open that takes longer than its deadline of 1 s"
    assert judge(NeverLate, "late-start").detail == f"{late} was not refused"
    told = f"{late} raised CollectError('no'), not a DeadlineError"
    assert judge(OtherError, "late-start").detail == told
    for declared in (("workers",), ("batched-only",)):
        assert judge(OtherError, "late-start", *declared).kept is None


@pytest.mark.parametrize(("ago", "slept"), [(0.0, 4.5), (3.0, 1.5), (4.0, 0.5), (5.0, 0.5)])
def test_a_late_answer_is_waited_for(ago: float, slept: float, judge: Any, clock: Any) -> None:
    class Late(Good):
        when = clock.now - ago

    assert judge(Late, "late-answers").kept is True
    assert clock.slept == [slept]


def test_what_comes_after_a_late_answer_must_be_right(judge: Any, clock: Any) -> None:
    del clock

    class Stale(Good):
        def deliver(self, policy: Policy, steps: int) -> Rollout:
            super().deliver(policy, 1)
            return super().deliver(policy, steps)

    found = judge(Stale, "late-answers")
    again = "opened again, it delivers other transitions than sequential: first_step of column 0"
    assert found.detail.startswith(again)
    assert judge(Stale, "late-answers", "batched").kept is True
    found = judge(Stale, "straggler")
    assert found.detail.startswith("its transitions are not sequential's: first_step of column 0")


def test_an_option_that_is_a_function_must_be_refused(judge: Any) -> None:
    class Takes(Good):
        def open(self, plan: Plan) -> EnvInfo:
            del plan
            return EnvInfo((2,), "float32", 2)

    found = judge(Takes, "unpicklable-option", *WORKERS)
    assert found.detail == "an option that is a function was not refused"


def test_the_error_of_a_worker_needs_no_environment(judge: Any, clock: Any) -> None:
    del clock
    lost = raising(lambda: WorkerError("synthetic fault", worker=0))
    assert judge(lost, "raising").detail == "raise@3: it blames env None, not 2"
