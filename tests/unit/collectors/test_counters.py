"""Phases sum to the wall time, and traffic is what was really moved."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from wfbench.collecting.phases import Phases
from wfbench.contract import Plan, Rollout
from wfbench.contract.record import PLAIN_FIELDS
from wfbench.policies import RandomPolicy
from wfbench_collectors.free_running import AsyncCollector
from wfbench_collectors.pipe import PipeCollector
from wfbench_collectors.sequential import SequentialCollector
from wfbench_collectors.shared import Board, Note
from wfbench_collectors.shm import ShmCollector

POLICY = RandomPolicy(4)
STEPS = 6


@pytest.mark.parametrize("kind", [SequentialCollector, PipeCollector, ShmCollector, AsyncCollector])
def test_phases_sum_to_the_wall_time(kind: Any, plan_of: Callable[..., Plan]) -> None:
    with kind() as collector:
        collector.open(plan_of(step=0.002, busy=False))
        for _ in range(2):
            before = perf_counter()
            counters = collector.collect(POLICY, STEPS).counters
            assert counters.wall <= perf_counter() - before, "no phase is counted twice"
            parts = (counters.env, counters.transport, counters.inference, counters.idle)
            assert min(parts) >= 0
            assert sum(parts) == pytest.approx(counters.wall, abs=1e-9)
            assert counters.env > 0
            assert (counters.transport > 0) == (kind is not SequentialCollector)


def test_time_in_the_environment_is_where_it_was_spent(plan_of: Callable[..., Plan]) -> None:
    plan = plan_of(step=0.01, busy=False, n_envs=4)
    with SequentialCollector() as collector:
        collector.open(plan)
        assert collector.collect(POLICY, STEPS).counters.env >= 0.01 * STEPS * 4
    with ShmCollector(workers=2) as collector:
        collector.open(plan)
        assert collector.collect(POLICY, STEPS).counters.env >= 0.01 * STEPS * 2


def test_messages_and_bytes_are_counted(plan_of: Callable[..., Plan]) -> None:
    plan = plan_of(n_envs=4, episode_length=STEPS // 2)
    with SequentialCollector() as collector:
        collector.open(plan)
        counters = collector.collect(POLICY, STEPS).counters
        assert (counters.messages, counters.bytes_moved) == (0, 0)
    rows = STEPS * 4 * 52 * 4
    for kind, workers in ((PipeCollector, 4), (PipeCollector, 2), (ShmCollector, 2)):
        with kind(workers=workers) as collector:
            collector.open(plan)
            watch = collector._supervisor.watch
            assert watch.traffic[0] == 4 * workers, "to build and to reset"
            before = watch.traffic[1]
            for _ in range(2):
                rollout = collector.collect(POLICY, STEPS)
                counters = rollout.counters
                assert counters.messages == 2 * workers * STEPS
                assert rows < counters.bytes_moved < 4 * rows
                shared = _shared_bytes(rollout) if kind is ShmCollector else 0
                assert counters.bytes_moved == watch.traffic[1] - before + shared
                before = watch.traffic[1]


def _shared_bytes(rollout: Rollout) -> int:
    """What lay in shared arrays: each cell once, and the last observations of episodes."""
    assert len(rollout.final_obs)
    arrays = (getattr(rollout, name) for name in ("actions", *PLAIN_FIELDS))
    return sum(array.nbytes for array in arrays) + rollout.final_obs.nbytes


def test_an_asynchronous_collector_counts_what_it_delivers(plan_of: Callable[..., Plan]) -> None:
    with AsyncCollector(workers=2) as collector:
        collector.open(plan_of(n_envs=4))
        counters = collector.collect(POLICY, STEPS).counters
        assert counters.messages >= 4
        assert counters.bytes_moved > STEPS * 4 * 52 * 4


def test_phases_count_from_0_and_the_rest_of_the_time_is_idle() -> None:
    nothing = Phases().counters()
    counts = (nothing.messages, nothing.bytes_moved, nothing.restarts, nothing.dropped)
    assert (*counts, nothing.lag) == (0, 0, 0, 0, ())
    assert nothing.idle == nothing.wall > 0
    phases = Phases(env=4e6, transport=2e6, inference=1e6)
    phases.add_traffic((3, 100), (5, 130))
    phases.add_traffic((5, 130), (6, 131))
    found = phases.counters(restarts=2, dropped=3, lag=(1,))
    assert (found.messages, found.bytes_moved, found.restarts, found.dropped) == (3, 31, 2, 3)
    assert (found.env, found.transport, found.inference) == (4e6, 2e6, 1e6)
    assert (found.wall, found.idle) == (7e6, 0.0), "phases are never longer than the wall time"


def test_blocked_time_is_divided_as_the_workers_own_time_was() -> None:
    board = Board.create(2)
    try:
        collector = AsyncCollector()
        collector._supervisor = SimpleNamespace(board=board)  # type: ignore[assignment]
        for worker, times in enumerate(((5, 1), (10, 4))):
            board.row(worker)[[Note.ENV_NS, Note.POLICY_NS]] = times
        collector._spent = np.array([3, 1])
        phases = Phases(env=8.0)
        collector._divide_blocked_time(phases)
        assert (phases.env, phases.inference) == (6.0, 2.0)
        later = Phases(env=8.0)
        collector._divide_blocked_time(later)
        assert (later.env, later.inference) == (0.0, 0.0), "nobody has worked since"
    finally:
        board.close()
