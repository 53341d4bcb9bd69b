"""A replaced worker marks the sample; no row is delivered twice, halved or out of its place."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

from wfbench.contract import Plan, Rollout, WorkerError, WorkflowModel
from wfbench.orders.compliance import Shaper
from wfbench.policies import RandomPolicy
from wfbench_collectors.free_running import AsyncCollector
from wfbench_collectors.sequential import SequentialCollector
from wfbench_collectors.wire import ready

POLICY = RandomPolicy(4)
STEPS = 9
EPISODE = 3


def _reference(plan: Plan, calls: int) -> list[Rollout]:
    with SequentialCollector() as collector:
        collector.open(plan)
        return [collector.collect(POLICY, STEPS) for _ in range(calls)]


def _expect_whole_columns(rollout: Rollout, *, from_a_reset: bool) -> None:
    """Every column of `Quiet` counts its steps without a gap or a repetition."""
    for column in range(rollout.obs.shape[1]):
        seen = rollout.obs[:, column, 0].astype(int)
        first = 0 if from_a_reset else seen[0]
        assert seen.tolist() == [(first + step) % EPISODE for step in range(STEPS)]
    assert (rollout.final_obs[:, 0] == EPISODE).all()
    assert len(rollout.final_obs) == rollout.ended.sum()


def test_a_lost_worker_is_collected_again_as_a_whole(
    build_synchronous: Callable[..., Any], plan_of: Callable[..., Plan], tmp_path: Path
) -> None:
    marker = str(tmp_path / "died")
    plan = plan_of("DiesOnce", n_envs=6, marker=marker, env_index=0)
    with build_synchronous(on_worker_death="restart") as collector:
        collector.open(plan)
        workers = collector._tasks
        lost = next(task.rows for task in workers if 1 in task.envs)
        broken, clean = (collector.collect(POLICY, STEPS) for _ in range(2))
    assert broken.counters.restarts == 1
    assert len(broken.marks) == 1
    assert "SIGKILL" in broken.marks[0]
    assert f"env 1, seed {plan.env_seeds[1]}" in broken.marks[0]
    assert (clean.counters.restarts, clean.marks) == (0, ())

    truth = _reference(plan, 2)
    kept = np.ones(plan.n_envs, bool)
    kept[lost] = False
    for rollout, wanted in zip((broken, clean), truth, strict=True):
        assert rollout.transitions == STEPS * plan.n_envs
        assert rollout.first_step.tolist() == wanted.first_step.tolist()
        _expect_whole_columns(rollout, from_a_reset=True)
        for name in ("obs", "actions", "rewards", "terminated", "truncated"):
            assert np.array_equal(
                getattr(rollout, name)[:, kept], getattr(wanted, name)[:, kept]
            ), name
    assert not np.array_equal(broken.actions[:, lost], truth[0].actions[:, lost])
    assert np.array_equal(clean.obs[0], broken.next_obs)


def test_a_free_running_worker_that_dies_loses_whole_stretches_only(
    plan_of: Callable[..., Plan], tmp_path: Path
) -> None:
    plan = plan_of("DiesOnce", n_envs=6, marker=str(tmp_path / "died"), env_index=0)
    seen: set[tuple[int, int]] = set()
    marks: list[str] = []
    restarts = 0
    with AsyncCollector(workers=3, on_worker_death="restart") as collector:
        collector.open(plan)
        lost = next(task.envs for task in collector._tasks if 1 in task.envs)
        for _ in range(200):
            rollout = collector.collect(POLICY, STEPS)
            _expect_whole_columns(rollout, from_a_reset=True)
            for env, first in zip(rollout.env_id, rollout.first_step, strict=True):
                assert (int(env), int(first)) not in seen
                seen.add((int(env), int(first)))
            marks += rollout.marks
            restarts += rollout.counters.restarts
            if restarts and len({env for env, _ in seen}) == plan.n_envs:
                break
    assert restarts == len(marks) == 1
    assert "SIGKILL" in marks[0]
    for env in range(plan.n_envs):
        firsts = sorted(first for found, first in seen if found == env)
        if env in lost:
            assert firsts[0] >= 2 * STEPS  # the dead worker finished nothing; it may have begun it
        assert firsts == list(range(firsts[0], firsts[0] + len(firsts) * STEPS, STEPS))


def _worker_of(collector: AsyncCollector) -> psutil.Process:
    """The one worker of a collector: what its nursery has started."""
    assert len(collector._tasks) == 1
    started = psutil.Process().children(recursive=True)
    [worker] = [process for process in started if process.ppid() != os.getpid()]
    return worker


def test_an_episode_that_a_death_tore_is_not_mended_with_another(
    plan_of: Callable[..., Plan], tmp_path: Path
) -> None:
    """Stretches of five steps, episodes of three; the worker dies in its third stretch."""
    model = WorkflowModel(("a", "b"), ("a0", "b0"), (0, 1), (-1, 0, 1, -1))
    shaper, steps = Shaper(model, (0, 1)), 5
    plan = plan_of("DiesOnce", n_envs=1, marker=str(tmp_path / "died"), victim=0, at=12)
    lengths: list[int] = []
    firsts: list[int] = []
    restarts: list[int] = []
    incomplete = 0
    with AsyncCollector(workers=1, max_lag=2, on_worker_death="restart") as collector:
        collector.open(plan)
        worker = _worker_of(collector)
        for call in range(5):
            rollout = collector.collect(POLICY, steps)
            if call == 0:
                worker.wait(60)
                # The nursery tells of the death a moment after it.
                nursery = collector._supervisor.watch.nursery
                assert rollout.counters.restarts or ready(nursery.fileno(), 60.0)
            restarts.append(rollout.counters.restarts)
            shaped = shaper.shape(rollout)
            lengths += shaped.episodes.length.tolist()
            firsts += rollout.first_step.tolist()
            incomplete += shaped.incomplete
    assert set(lengths) == {EPISODE}
    # A busy machine may see the death in the first call, before an episode was going on.
    assert restarts[:2] in ([0, 1], [1, 0])
    assert incomplete == 1 + restarts[1]
    assert firsts[:2] == [0, 5]
    assert firsts[2] > 12
    assert np.diff(firsts[2:]).tolist() == [steps, steps]


@pytest.mark.parametrize("before_the_ring", [False, True])
def test_a_death_in_a_new_ring_does_not_restart_the_numbering(
    plan_of: Callable[..., Plan], tmp_path: Path, *, before_the_ring: bool
) -> None:
    armed = tmp_path / "armed"
    spans: list[tuple[int, int]] = []
    restarts = 0
    with AsyncCollector(workers=1, max_lag=0, on_worker_death="restart") as collector:
        collector.open(plan_of("DiesOnDemand", n_envs=1, armed=str(armed)))
        worker = _worker_of(collector)
        for steps in (5, 5, 3, 3, 4):
            if len(spans) == 2 and before_the_ring:
                worker.kill()
                worker.wait(60)
            elif len(spans) == 2:
                _wait_for_sleep(worker)
                armed.touch()
            rollout = collector.collect(POLICY, steps)
            restarts += rollout.counters.restarts
            spans.append((int(rollout.first_step[0]), int(rollout.first_step[0]) + steps))
    assert restarts == 1
    assert not armed.exists()
    for (_, end), (start, _) in pairwise(spans):
        assert start >= end
    assert spans[2][0] > spans[1][1]


def _wait_for_sleep(worker: psutil.Process) -> None:
    """Return once a worker waits, however busy the machine is."""
    deadline, idle = time.monotonic() + 60, 0
    while idle < 10:
        assert time.monotonic() < deadline
        idle = idle + 1 if worker.status() == psutil.STATUS_SLEEPING else 0
        time.sleep(0.02)


def test_a_worker_that_always_dies_is_an_error_in_the_end(
    build: Callable[..., Any], plan_of: Callable[..., Plan]
) -> None:
    with build(on_worker_death="restart", restarts=2) as collector:
        collector.open(plan_of("AlwaysDies", env_index=0))

        def collect_on() -> None:
            for _ in range(1000):
                collector.collect(POLICY, STEPS)

        with pytest.raises(WorkerError, match="2 dead workers were replaced before") as caught:
            collect_on()
    assert caught.value.env == 1
    assert caught.value.signal == "SIGKILL"


def test_an_exception_is_never_survived(
    build: Callable[..., Any], plan_of: Callable[..., Plan]
) -> None:
    with build(on_worker_death="restart") as collector:
        collector.open(plan_of(fault="raise@2", fault_env=0))

        def collect_on() -> None:
            for _ in range(1000):
                collector.collect(POLICY, STEPS)

        with pytest.raises(WorkerError, match="ValueError"):
            collect_on()
