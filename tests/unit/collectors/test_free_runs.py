"""The collector's side of a free run, without workers: which stretches count, and what is lost."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from wfbench.contract import DeadlineError, EnvInfo, Plan
from wfbench.policies import RandomPolicy
from wfbench_collectors.free_runs import Delivery, FreeRun, Publisher, Pulse
from wfbench_collectors.options import ProcessOptions
from wfbench_collectors.shared import Board, Note
from wfbench_collectors.stretches import CONSUMED, Halted, Notice
from wfbench_collectors.supervisor import Supervisor
from wfbench_collectors.tasks import divide
from wfbench_collectors.wire import Kind, encode

INFO = EnvInfo((3,), "float32", 4)
STEPS, LAG = 4, 2


@pytest.fixture
def run(plan_of: Callable[..., Plan]) -> Iterator[FreeRun]:
    """A run of two workers with two and three environments."""
    tasks = divide(plan_of(n_envs=5), ProcessOptions(workers=2), "a:B", default=1)
    made = FreeRun(9, INFO, STEPS, LAG, tasks, [0, 40])
    yield made
    made.close()


@pytest.fixture
def newest() -> Iterator[Publisher]:
    made = Publisher()
    yield made
    made.close()


def stretch(run: FreeRun, newest: Publisher, worker: int, number: int, *, version: int) -> Notice:
    """Have a worker finish a stretch, whose rewards tell where they come from."""
    first_step = run.next_step[worker]
    notice = Notice(worker, number, newest.name, version, first_step)
    slot = run._shape.slot(run._ring, worker, number)
    envs = np.array(run._envs[worker])
    slot.rewards[:] = 100 * envs + np.arange(first_step, first_step + STEPS)[:, None]
    run.finish(notice)
    return notice


def test_the_oldest_stretch_is_delivered_as_far_as_it_is_wanted(
    run: FreeRun, newest: Publisher
) -> None:
    newest.publish(RandomPolicy(4, 6))
    stretch(run, newest, 1, 0, version=6)
    stretch(run, newest, 0, 0, version=5)
    stretch(run, newest, 1, 1, version=4)
    assert run.next_step == [4, 48]
    first, second = Delivery(STEPS, 4, INFO), Delivery(STEPS, 5, INFO)
    moved, freed = run.deliver(first, newest)
    assert (freed, first.missing, first.filled) == (1, 1, 3)
    assert moved > 0
    assert run.deliver(first, newest)[1] is None
    assert (first.missing, len(run.ready)) == (0, 2)
    assert [run.deliver(second, newest)[1] for _ in range(2)] == [0, 1]
    assert first.env_id.tolist() == [2, 3, 4, 0]
    assert first.first_step.tolist() == [40, 40, 40, 0]
    assert first.version.tolist() == [6, 6, 6, 5]
    assert first.buffer.rewards[:, 3].tolist() == [0, 1, 2, 3]
    assert second.env_id[:4].tolist() == [1, 2, 3, 4]
    assert second.first_step[:4].tolist() == [0, 44, 44, 44]
    assert second.version[:4].tolist() == [5, 4, 4, 4]
    assert second.buffer.rewards[0, :4].tolist() == [100, 244, 344, 444]
    assert (second.filled, second.missing, second.dropped) == (4, 1, 0)
    assert run.control[CONSUMED:].tolist() == [1, 2]
    assert first.dropped == 0


@pytest.mark.parametrize(
    ("version", "renamed", "dropped"),
    [(7, False, 0), (5, False, 0), (4, False, 3), (8, False, 3), (7, True, 3), (6, True, 0)],
)
def test_what_another_policy_or_too_old_a_one_has_made_is_dropped(
    run: FreeRun, newest: Publisher, version: int, *, renamed: bool, dropped: int
) -> None:
    newest.publish(RandomPolicy(4, 7))
    stretch(run, newest, 1, 0, version=version)
    if renamed:
        newest.publish(RandomPolicy(3, 7))
    delivery = Delivery(STEPS, 5, INFO)
    moved, freed = run.deliver(delivery, newest)
    assert (delivery.dropped, delivery.filled, freed) == (dropped, 3 - dropped, 1)
    assert bool(moved) == (not dropped)
    assert not run.ready


def test_what_was_not_delivered_is_lost_when_workers_stop(run: FreeRun, newest: Publisher) -> None:
    stretch(run, newest, 1, 0, version=0)
    stretch(run, newest, 1, 1, version=0)
    delivery = Delivery(STEPS, 4, INFO)
    run.deliver(delivery, newest)
    run.deliver(delivery, newest)
    assert delivery.missing == 0
    lost = run.stop({0: Halted(begun=2, next_step=7), 1: Halted(begun=3, next_step=50)})
    assert lost == 2 * 2 + 3 * (3 - 1) - 1
    assert run.next_step == [7, 50]


def test_a_dead_worker_cannot_have_gone_beyond_its_slots(run: FreeRun, newest: Publisher) -> None:
    stretch(run, newest, 0, 0, version=0)
    run.skip(0)
    assert run.next_step == [4 + (LAG + 1) * STEPS, 40]
    assert run.stop({0: Halted(begun=1, next_step=17)}) == 2
    assert run.next_step == [17, 40 + (LAG + 1) * STEPS]


def test_a_worker_is_told_to_go_on_where_it_stopped(run: FreeRun, newest: Publisher) -> None:
    stretch(run, newest, 1, 0, version=0)
    stretch(run, newest, 1, 1, version=0)
    for worker, number, first_step in ((0, 0, 0), (1, 2, 48)):
        data = run.order(worker)
        body = pickle.dumps(order := pickle.loads(data[-_body_size(data) :]))  # noqa: S301
        assert data == encode(9, Kind.RUN, body)
        assert (order.run, order.max_lag, order.number) == (9, LAG, number)
        assert order.first_step == first_step
        assert (order.shape.slots, order.shape.steps, order.shape.envs) == (LAG + 1, STEPS, (2, 3))


def _body_size(data: bytes) -> int:
    return len(data) - len(encode(9, Kind.RUN))


def test_a_policy_is_published_once(newest: Publisher) -> None:
    assert (newest.name, newest.version) == ("", 0)
    assert newest.publish(RandomPolicy(4, 3)) > 0
    name = newest.name
    assert name
    assert newest.publish(RandomPolicy(4, 3)) == 0
    assert (newest.name, newest.version) == (name, 3)
    assert newest.publish(RandomPolicy(4, 4)) > 0
    assert (newest.name != name, newest.version) == (True, 4)


def test_a_worker_without_a_pulse_is_late_unless_it_may_wait(
    plan_of: Callable[..., Plan],
) -> None:
    plan, options = plan_of(n_envs=3), ProcessOptions(workers=3)
    supervisor = Supervisor(plan, options, divide(plan, options, "a:B", default=1))
    supervisor.board = board = Board.create(3)
    try:
        pulse = Pulse(supervisor)
        pulse.check(60.0, excuse_waiting=False)
        board.row(0)[Note.BEAT] += 1
        board.row(1)[Note.WAITING] = 1
        with pytest.raises(DeadlineError, match="no answer in time from worker 2;"):
            pulse.check(0.0, excuse_waiting=True)
        with pytest.raises(DeadlineError, match="from worker 0, worker 1, worker 2;"):
            pulse.check(0.0, excuse_waiting=False)
        pulse.restart(2)
        pulse.check(60.0, excuse_waiting=False)
    finally:
        board.close()
