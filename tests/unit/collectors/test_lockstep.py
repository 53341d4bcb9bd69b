"""A collector over a vector environment of a library, here a library of a few lines."""

# ruff: noqa: ARG002 (what a library of a few lines has no use for)

from __future__ import annotations

import multiprocessing
import pickle
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete

from wfbench.collecting.foreign_workers import death, kill
from wfbench.collecting.guarded import EnvFault, GuardedEnv, close_each
from wfbench.collecting.lockstep import LockstepCollector
from wfbench.contract import (
    CollectError,
    DeadlineError,
    Deadlines,
    Plan,
    StepArrays,
    WorkerError,
)
from wfbench.policies import RandomPolicy
from wfbench_collectors.sequential import SequentialCollector

POLICY = RandomPolicy(4)


class ListCollector(LockstepCollector):
    """Over a library whose vector environment is a list."""

    name = "list"
    in_process = True
    actions: Any = None

    def __init__(self) -> None:
        super().__init__()
        self.ends: list[bool] = []

    def _build(self, plan: Plan, makers: list[Callable[[], GuardedEnv]]) -> None:
        self._vector = []
        for make in makers:
            self._vector.append(make())

    def _describe(self, plan: Plan) -> tuple[Any, Any, Any]:
        env = self._vector[0]
        return env.observation_space, self.actions or env.action_space, env.workflow

    def _reset(self, plan: Plan) -> Any:
        return np.stack([env.reset(seed=row)[0] for row, env in enumerate(self._vector)])

    def _step(self, plan: Plan, actions: Any, out: StepArrays) -> None:
        for row, env in enumerate(self._vector):
            obs, out.rewards[row], out.terminated[row], out.truncated[row], info = env.step(
                actions[row]
            )
            out.compromised[row] = info["compromised_hosts"]
            out.ended_session[row] = info["ended_session"]
            if out.terminated[row] or out.truncated[row]:
                out.final_obs[row], obs = obs, env.reset()[0]
            out.obs[row] = obs

    def _end(self, vector: Any, limit: float, *, failed: bool) -> None:
        self.ends.append(failed)
        close_each(vector)


class FarCollector(ListCollector):
    """The same, as if its environments were in workers."""

    in_process = False


def test_it_delivers_what_the_sequential_collector_delivers(plan_of: Callable[..., Plan]) -> None:
    plan, collected = plan_of(), []
    for kind in (SequentialCollector, ListCollector):
        with kind() as collector:
            collector.open(plan)
            collected.append([collector.collect(POLICY, steps) for steps in (4, 1, 10)])
    for wanted, found in zip(*collected, strict=True):
        assert found.transition_hash() == wanted.transition_hash()
        for name in ("final_obs", "next_obs", "compromised", "ended_session", "first_step"):
            assert np.array_equal(getattr(found, name), getattr(wanted, name)), name
    assert sum(len(rollout.final_obs) for rollout in collected[1]) == 10


@pytest.mark.parametrize(("kind", "messages"), [(ListCollector, 0), (FarCollector, 30)])
def test_a_step_counts_as_the_environments_time_or_as_transport(
    plan_of: Callable[..., Plan], kind: Any, messages: int
) -> None:
    with kind() as collector:
        collector.open(plan_of(step=0.002))
        counters = collector.collect(POLICY, 3).counters
    here, there = counters.env, counters.transport
    assert (here if kind.in_process else there) >= 3 * 5 * 0.002
    assert (there if kind.in_process else here) == 0.0
    assert counters.wall == pytest.approx(here + there + counters.inference + counters.idle)
    assert counters.messages == messages


@pytest.mark.parametrize(("kind", "worker"), [(ListCollector, 0), (FarCollector, 2)])
def test_a_fault_names_its_environment(
    plan_of: Callable[..., Plan], kind: Any, worker: int
) -> None:
    plan = plan_of(fault="raise@3", fault_env=2, env_index=0)
    with kind() as collector:
        collector.open(plan)
        with pytest.raises(WorkerError, match="synthetic fault") as caught:
            collector.collect(POLICY, 9)
        with pytest.raises(CollectError, match="can only be closed"):
            collector.collect(POLICY, 1)
    error = caught.value
    assert (error.worker, error.env, error.seed) == (worker, 2, plan.env_seeds[2])
    assert "Traceback" in error.traceback


def test_the_end_is_told_whether_the_library_can_still_be_asked(
    plan_of: Callable[..., Plan],
) -> None:
    collector = ListCollector()
    collector.open(plan_of())
    collector.collect(POLICY, 2)
    collector.close()
    with pytest.raises(WorkerError, match=r"env 1.*synthetic fault"):
        collector.open(plan_of(fault="ctor-raise", fault_env=1, env_index=0))
    collector.open(plan_of(fault="nan@1"))
    with pytest.raises(WorkerError, match="NaN"):
        collector.collect(POLICY, 2)
    collector.close()
    collector.close()
    assert collector.ends == [False, True, True]


def test_what_comes_late_is_refused(plan_of: Callable[..., Plan]) -> None:
    plan = plan_of(n_envs=1, step=0.05)
    with ListCollector() as collector:
        collector.open(replace(plan, deadlines=Deadlines(step=0.01)))
        with pytest.raises(DeadlineError, match="a step of all environments took"):
            collector.collect(POLICY, 1)
        collector.close()
        with pytest.raises(DeadlineError, match="opening took"):
            collector.open(replace(plan, deadlines=Deadlines(start=0.0)))


@pytest.mark.parametrize("actions", [Box(0.0, 1.0), Discrete(4, start=1)])
def test_a_space_that_cannot_be_collected_is_refused(
    plan_of: Callable[..., Plan], actions: Any
) -> None:
    collector = ListCollector()
    collector.actions = actions
    with pytest.raises(CollectError, match="list: "):
        collector.open(plan_of())
    assert collector.ends == [True]


def test_a_fault_survives_the_ways_libraries_carry_it() -> None:
    error = WorkerError("it broke", worker=1, env=2, seed=3, traceback="where")
    carried = pickle.loads(pickle.dumps(EnvFault(error)))  # noqa: S301 (our own)
    again = type(carried)(carried).error
    assert (again.cause, again.worker, again.env, again.seed) == ("it broke", 1, 2, 3)
    assert again.traceback == "where"
    assert str(carried) == str(error)


def test_only_a_worker_takes_every_exception_for_a_fault(
    plan_of: Callable[..., Plan], monkeypatch: pytest.MonkeyPatch
) -> None:
    class StrangeError(BaseException):
        pass

    def faulty(kind: type[BaseException], *, in_process: bool) -> GuardedEnv:
        env = GuardedEnv(plan_of(), 0, in_process=in_process)

        def step(_: Any) -> Any:
            raise kind

        monkeypatch.setattr(env.env, "step", step)
        return env

    with pytest.raises(EnvFault, match="StrangeError"):
        faulty(StrangeError, in_process=False).step(0)
    with pytest.raises(StrangeError):
        faulty(StrangeError, in_process=True).step(0)
    for in_process in (False, True):
        with pytest.raises(EnvFault, match="SystemExit"):
            faulty(SystemExit, in_process=in_process).step(0)
        with pytest.raises(KeyboardInterrupt):
            faulty(KeyboardInterrupt, in_process=in_process).step(0)


def test_workers_of_a_library_are_told_dead_and_ended(plan_of: Callable[..., Plan]) -> None:
    context, plan = multiprocessing.get_context("fork"), plan_of()
    ours, theirs = context.Pipe()
    workers = [context.Process(target=time.sleep, args=(600,)) for _ in range(2)]
    for worker in workers:
        worker.start()
    try:
        assert death(workers, plan, "some library", wait=0.0) is None
        workers[1].kill()
        found = death(workers, plan, "some library", wait=60.0)
        assert found is not None
        assert (found.worker, found.env, found.signal) == (1, 1, "SIGKILL")
        assert "some library left it on standard error" in str(found)
    finally:
        kill(workers, [ours, None, theirs], 60.0)
    assert [worker.exitcode for worker in workers] == [-9, -9]
    assert ours.closed
    assert theirs.closed
    kill(workers, [ours, theirs], 60.0)
