"""What an asynchronous collector delivers is real, whole, fresh enough, and delivered once."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import numpy as np
import psutil
import pytest

from wfbench.contract import DeadlineError, Deadlines, Plan, Rollout
from wfbench.policies import RandomPolicy
from wfbench_collectors.free_running import AsyncCollector
from wfbench_collectors.sequential import SequentialCollector
from wfbench_collectors.stretches import DEMAND

STEPS = 5


def _truth(plan: Plan, steps: int) -> Rollout:
    with SequentialCollector() as collector:
        collector.open(plan)
        return collector.collect(RandomPolicy(4), steps)


def _wait_for_idle_workers() -> None:
    """Return once every worker has gone as far ahead as it may, however busy the machine is."""
    deadline, idle = time.monotonic() + 60, 0
    while idle < 10:
        assert time.monotonic() < deadline
        states = {process.status() for process in psutil.Process().children(recursive=True)}
        idle = idle + 1 if states == {psutil.STATUS_SLEEPING} else 0
        time.sleep(0.02)


@pytest.mark.parametrize("batched", [False, True])
@pytest.mark.parametrize("workers", [1, 2, 5])
def test_every_column_is_a_real_stretch_and_comes_once(
    plan_of: Callable[..., Plan], *, workers: int, batched: bool
) -> None:
    plan = plan_of(batched=batched)
    with AsyncCollector(workers=workers, max_lag=2) as collector:
        assert collector.open(plan).batched is (batched and workers < 5)
        rollouts = [collector.collect(RandomPolicy(4, version), STEPS) for version in range(6)]
    longest = max(int(rollout.first_step.max()) for rollout in rollouts) + STEPS
    truth = _truth(plan, longest)
    seen = set()
    for version, rollout in enumerate(rollouts):
        assert rollout.actions.shape == (STEPS, plan.n_envs)
        assert rollout.counters.lag == tuple((version - rollout.policy_version).tolist())
        assert set(rollout.counters.lag) <= {0, 1, 2}
        assert len(rollout.final_obs) == rollout.ended.sum()
        for column, (env, first) in enumerate(zip(rollout.env_id, rollout.first_step, strict=True)):
            assert (env, first) not in seen
            seen.add((env, first))
            rows = slice(first, first + STEPS)
            for name in ("obs", "actions", "rewards", "terminated", "truncated", "compromised"):
                wanted = getattr(truth, name)[rows, env]
                assert np.array_equal(getattr(rollout, name)[:, column], wanted), name


def test_a_worker_waits_rather_than_run_ahead(plan_of: Callable[..., Plan]) -> None:
    with AsyncCollector(workers=1, max_lag=2) as collector:
        collector.open(plan_of(n_envs=3))
        collector.collect(RandomPolicy(4, 0), STEPS)
        _wait_for_idle_workers()
        first, second, third = (
            collector.collect(RandomPolicy(4, version), STEPS) for version in (1, 2, 3)
        )
    assert first.counters.lag == (1, 1, 1)
    assert second.counters.lag == (2, 2, 2)
    assert max(third.counters.lag) <= 2
    assert first.counters.dropped == second.counters.dropped == 0


def test_no_demand_outlasts_a_call_and_nothing_is_asked_for_in_a_loop(
    plan_of: Callable[..., Plan], monkeypatch: pytest.MonkeyPatch
) -> None:
    with AsyncCollector(workers=1) as collector:
        collector.open(plan_of(n_envs=2, step=0.02, busy=False))
        poll, polls = collector._supervisor.poll, []
        monkeypatch.setattr(
            collector._supervisor, "poll", lambda until: polls.append(until) or poll(until)
        )
        rollout = collector.collect(RandomPolicy(4), STEPS)
        assert rollout.counters.dropped == 0
        # One for a message that comes, one for each half second without, and a few to begin with.
        assert len(polls) <= 5 + 2 * rollout.counters.messages + 2 * rollout.counters.wall
        assert collector._run is not None
        assert collector._run.control[DEMAND] == 0


def test_a_long_pause_is_no_workers_fault(plan_of: Callable[..., Plan]) -> None:
    with AsyncCollector(workers=2) as collector:
        collector.open(plan_of())
        collector.collect(RandomPolicy(4), STEPS)
        _wait_for_idle_workers()
        collector._pulse._felt -= 1e6
        assert collector.collect(RandomPolicy(4), STEPS).transitions == 5 * STEPS


def test_a_waiting_worker_that_does_not_wake_up_is_late(plan_of: Callable[..., Plan]) -> None:
    plan = plan_of(n_envs=1)
    with AsyncCollector(workers=1, max_lag=0) as collector:
        collector.open(plan)
        collector.collect(RandomPolicy(4, 0), 1)
        _wait_for_idle_workers()
        [worker] = psutil.Process(collector._supervisor.watch.nursery.pid).children()
        worker.suspend()
        collector._plan = replace(plan, deadlines=Deadlines(step=0.2, close=0.2))
        with pytest.raises(DeadlineError, match="no answer in time from worker 0"):
            collector.collect(RandomPolicy(4, 1), 1)


@pytest.mark.parametrize("changes", [{}, {"obs_size": 3}, {"n_envs": 3}])
def test_a_reset_goes_on_as_if_freshly_opened(
    plan_of: Callable[..., Plan], changes: dict[str, int]
) -> None:
    plan = plan_of(**changes)
    with AsyncCollector(workers=1, max_lag=0) as collector:
        collector.open(plan_of())
        collector.collect(RandomPolicy(4), STEPS)
        before = {child.pid for child in psutil.Process().children(recursive=True)}
        assert collector.reset(plan).obs_shape == (changes.get("obs_size", 52),)
        after = {child.pid for child in psutil.Process().children(recursive=True)}
        assert (after == before) == ("n_envs" not in changes)
        rollout = collector.collect(RandomPolicy(4), STEPS)
        assert collector.reset(plan)
        again = collector.collect(RandomPolicy(4), STEPS)
    truth = _truth(plan, STEPS)
    for found in (rollout, again):
        assert found.transition_hash() == truth.transition_hash()


def test_what_is_too_old_is_dropped_and_counted(plan_of: Callable[..., Plan]) -> None:
    with AsyncCollector(workers=1, max_lag=1) as collector:
        collector.open(plan_of(n_envs=3))
        collector.collect(RandomPolicy(4, 0), STEPS)
        _wait_for_idle_workers()
        rollout = collector.collect(RandomPolicy(4, 7), STEPS)
    assert rollout.counters.lag == (0, 0, 0)
    assert rollout.policy_version.tolist() == [7, 7, 7]
    assert rollout.counters.dropped >= 3
    assert rollout.counters.dropped % 3 == 0


def test_without_lag_only_the_given_policy_acts(plan_of: Callable[..., Plan]) -> None:
    with AsyncCollector(workers=2, max_lag=0) as collector:
        collector.open(plan_of())
        for version in range(5):
            rollout = collector.collect(RandomPolicy(4, version), STEPS)
            assert set(rollout.policy_version.tolist()) == {version}


def test_another_policy_of_the_same_version_is_another_policy(
    plan_of: Callable[..., Plan],
) -> None:
    with AsyncCollector(workers=2) as collector:
        collector.open(plan_of())
        collector.collect(RandomPolicy(4), 40)
        _wait_for_idle_workers()
        rollout = collector.collect(RandomPolicy(1), 40)
    assert (rollout.actions == 0).all()


def test_an_older_version_is_not_taken_for_a_newer_one(plan_of: Callable[..., Plan]) -> None:
    with AsyncCollector(workers=2) as collector:
        collector.open(plan_of())
        collector.collect(RandomPolicy(4, 9), STEPS)
        _wait_for_idle_workers()
        rollout = collector.collect(RandomPolicy(4, 0), STEPS)
    assert set(rollout.policy_version.tolist()) == {0}


def test_stretches_of_another_length_can_be_asked_for(plan_of: Callable[..., Plan]) -> None:
    plan = plan_of()
    seen: list[tuple[int, int, int]] = []
    with AsyncCollector(workers=2) as collector:
        collector.open(plan)
        for steps in (5, 5, 3, 11, 3):
            rollout = collector.collect(RandomPolicy(4), steps)
            assert rollout.actions.shape == (steps, plan.n_envs)
            for env, first in zip(rollout.env_id, rollout.first_step, strict=True):
                seen.append((int(env), int(first), steps))
    for env in range(plan.n_envs):
        stretches = sorted((first, steps) for found, first, steps in seen if found == env)
        for (first, steps), (following, _) in pairwise(stretches):
            assert first + steps <= following
