"""What the promises about resets and replaced workers say of collectors that break them."""

from __future__ import annotations

import os
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from simulated_collector import Good, Options

from wfbench.contract import EnvInfo, Plan, Policy, Rollout

RESET = ("deterministic", "reset")
RESTART = ("deterministic", "restart", "reset", "workers")


class AfterReset(Good):
    """Delivers something else after a reset; `number` counts the rollouts since."""

    number: int | None = None

    def reset(self, plan: Plan) -> EnvInfo:
        self.number = 0
        return super().reset(plan)

    def deliver(self, policy: Policy, steps: int) -> Rollout:
        rollout = super().deliver(policy, steps)
        if self.number is None:
            return rollout
        self.number += 1
        return self.change(rollout, self.number)

    def change(self, rollout: Rollout, number: int) -> Rollout:
        raise NotImplementedError


def changing(change: Any) -> type[Good]:
    return type("Broken", (AfterReset,), {"change": lambda _, *given: change(*given)})


def counting(rollout: Rollout, **counts: Any) -> Rollout:
    return replace(rollout, counters=replace(rollout.counters, **counts))


@pytest.mark.parametrize(
    ("change", "detail"),
    [
        (lambda r, _: replace(r, marks=("odd",)), "marks of rollout 0 is ('odd',), not ()"),
        (
            lambda r, n: replace(r, marks=("odd",) if n == 2 else ()),
            "marks of rollout 1 is ('odd',), not ()",
        ),
        (lambda r, _: counting(r, messages=7), "what rollout 0 counts is {'messages': 7, "),
        (lambda r, _: counting(r, bytes_moved=7), "what rollout 0 counts is {'messages': 0, "),
        (lambda r, _: counting(r, restarts=1), "what rollout 0 counts is {'messages': 0, "),
        (lambda r, _: counting(r, dropped=1), "what rollout 0 counts is {'messages': 0, "),
        (lambda r, _: counting(r, lag=(1,)), "what rollout 0 counts is {'messages': 0, "),
    ],
)
def test_what_is_counted_after_a_reset_is_as_after_opening(
    change: Any, detail: str, judge: Any
) -> None:
    found = judge(changing(change), "reset-as-opened", *RESET)
    assert found.kept is False
    assert found.detail.startswith(detail)
    # An asynchronous one may have waited for something else; marks it must not have.
    kept = judge(changing(change), "reset-as-opened", "reset").kept
    assert kept is ("marks" not in detail)


def test_observations_are_of_one_form_after_a_reset_and_after_opening(judge: Any) -> None:
    other = changing(lambda r, n: replace(r, obs=r.obs.astype("i8")) if n == 1 else r)
    found = judge(other, "reset-as-opened", "reset")
    assert found.detail == ("the form of observations is ((52,), 'int64'), not ((52,), 'uint8')")

    class OtherShape(Good):
        def reset(self, plan: Plan) -> EnvInfo:
            return replace(super().reset(plan), obs_shape=(51,))

    found = judge(OtherShape, "reset-as-opened", *RESET)
    assert found.detail == "obs_shape, as reset returned it, is (51,), not (52,)"


def test_a_reset_must_not_leak(judge: Any) -> None:
    class Leaks(Good):
        held: list[Any]

        def open(self, plan: Plan) -> EnvInfo:
            self.held = []
            return super().open(plan)

        def reset(self, plan: Plan) -> EnvInfo:
            self.held.append(Path(os.devnull).open())  # noqa: SIM115 (the leak)
            return super().reset(plan)

        def close(self) -> None:
            for file in vars(self).get("held", []):
                file.close()
            super().close()

    found = judge(Leaks, "clean-resets", *RESET)
    assert found.detail == "resets took 7 more descriptors"


def test_a_reset_is_refused_where_it_makes_no_sense(judge: Any, clock: Any) -> None:
    del clock

    class Anytime(Good):
        def reset(self, plan: Plan) -> EnvInfo:
            if not self.failed:
                return EnvInfo((2,), "float32", 2)
            return super().reset(plan)

    class AfterFailure(Good):
        def reset(self, plan: Plan) -> EnvInfo:
            self.failed = False
            return super().reset(plan)

    class Fails(Good):
        def error(self) -> BaseException:
            return ValueError("no")

    told = {
        Anytime: "a reset before open was not refused",
        AfterFailure: "a reset after a failure was not refused",
        Fails: "an environment that raises was not reported",
    }
    for collector, detail in told.items():
        assert judge(collector, "misused-reset", *RESET).detail == detail


class Sleepers(Good):
    """Has processes that do nothing, as a collector has workers; one that died is replaced."""

    count = 2

    def open(self, plan: Plan) -> EnvInfo:
        self.workers = [self.start() for _ in range(self.count)]
        return super().open(plan)

    def start(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(["/bin/sleep", "100"])

    def reset(self, plan: Plan) -> EnvInfo:
        dead = [worker for worker in self.workers if worker.poll() is not None]
        self.log.append(f"{len(dead)} died")
        return super().reset(plan)

    def close(self) -> None:
        for worker in vars(self).pop("workers", []):
            worker.kill()
            worker.wait()
        super().close()


class Sleeper(Sleepers):
    count = 1


@pytest.mark.parametrize("collector", [Sleeper, Sleepers])
def test_one_worker_is_killed_before_a_reset(collector: type, judge: Any) -> None:
    Good.log.clear()
    assert judge(collector, "reset-after-death", *RESTART).kept is True
    assert Good.log.count("1 died") == 1
    resets = [line for line in Good.log if line.startswith("reset")]
    assert [line.split(", ")[1] for line in resets] == ["seed 15186500694463568195"]


def test_without_processes_no_worker_can_be_killed(judge: Any) -> None:
    found = judge(Good, "reset-after-death", *RESTART)
    assert (found.kept, found.detail) == (None, "its workers are not processes of this machine")


class Restarted(Good):
    """What it delivers once a worker was replaced is changed."""

    def collect(self, policy: Policy, steps: int) -> Rollout:
        return self.change(super().collect(policy, steps))

    def change(self, rollout: Rollout) -> Rollout:
        raise NotImplementedError


def restarted(change: Any) -> type[Good]:
    return type("Broken", (Restarted,), {"change": lambda _, given: change(given)})


def at(array: Any, place: tuple[int, ...], value: float) -> Any:
    changed = array.copy()
    changed[place] = value
    return changed


@pytest.mark.parametrize(
    ("change", "detail"),
    [
        (lambda r: replace(r, marks=()), "a rollout that counts a restart is not marked"),
        (
            lambda r: replace(r, actions=r.actions[1:]),
            "the number of transitions is 55, not 60",
        ),
        (
            lambda r: replace(r, obs=at(r.obs, (3, 2, 1), 2)),
            "rows were delivered that no environment wrote",
        ),
        (
            lambda r: replace(r, rewards=at(r.rewards, (3, 2), np.inf)),
            "a reward is not finite",
        ),
        (
            lambda r: replace(r, first_step=np.maximum(r.first_step - 1, 0)),
            "step 11 of env 0 was delivered twice",
        ),
        (
            lambda r: replace(r, first_step=at(r.first_step, (4,), 0)),
            "step 0 of env 4 was delivered twice",
        ),
    ],
)
def test_what_is_wrong_after_a_restart_is_told(
    change: Any, detail: str, judge: Any, clock: Any
) -> None:
    del clock
    assert judge(Good, "replaced-worker", *RESTART, options=Options).kept is True
    found = judge(restarted(change), "replaced-worker", *RESTART, options=Options)
    assert (found.kept, found.detail) == (False, detail)


class Patient(Good):
    """Never has a worker that dies; each collect takes a second."""

    def open(self, plan: Plan) -> EnvInfo:
        info = super().open(plan)
        self.fault = ""
        return info

    def deliver(self, policy: Policy, steps: int) -> Rollout:
        self.clock.sleep(1.0)
        return super().deliver(policy, steps)


@pytest.mark.parametrize(
    ("slug", "collects", "detail"),
    [
        ("replaced-worker", 31 + 3, "the fault never happened"),
        ("reset-after-restart", 31, "the fault never happened"),
        (
            "bounded-restarts",
            80,
            "it goes on for ever replacing a worker that dies at its second step",
        ),
    ],
)
def test_a_restart_is_waited_for(
    slug: str, collects: int, detail: str, judge: Any, clock: Any
) -> None:
    Good.log.clear()
    waiting = type("Waiting", (Patient,), {"clock": clock})
    found = judge(waiting, slug, *RESTART, options=Options)
    assert found.detail == detail
    assert sum(line.startswith("collect") for line in Good.log) == collects


def test_a_death_that_is_not_counted_is_told(judge: Any, clock: Any) -> None:
    class Silent(Good):
        def collect(self, policy: Policy, steps: int) -> Rollout:
            clock.sleep(10.0)
            return counting(super().collect(policy, steps), restarts=0)

    found = judge(Silent, "replaced-worker", *RESTART, options=Options)
    assert found.detail == "a worker was killed and no rollout counts a restart"


@pytest.mark.parametrize("slug", ["replaced-worker", "bounded-restarts", "reset-after-restart"])
def test_without_the_option_nothing_is_replaced(slug: str, judge: Any) -> None:
    found = judge(Good, slug, *RESTART)
    assert (found.kept, found.detail) == (None, "it has no option on_worker_death=restart")
