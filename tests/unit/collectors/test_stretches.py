"""How a free-running worker makes stretches, in this process and one message at a time."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from wfbench.contract import Plan, Rollout
from wfbench.policies import RandomPolicy
from wfbench.processes.segments import Segment
from wfbench_collectors.free_runs import Publisher
from wfbench_collectors.options import ProcessOptions
from wfbench_collectors.sequential import SequentialCollector
from wfbench_collectors.shared import Board, Note
from wfbench_collectors.stretches import (
    CONSUMED,
    DEMAND,
    HALT,
    Halted,
    Notice,
    RingShape,
    RunOrder,
    StretchHandler,
)
from wfbench_collectors.tasks import divide
from wfbench_collectors.wire import Kind, Message

STEPS, SLOTS, RUN = 3, 3, 6
WORKER = 1
"""Of two workers this one is looked at; it has environments 2, 3 and 4."""
POLICY = RandomPolicy(4, 8)


class Collector:
    """The collector's end: it says what is next whenever the worker waits for it."""

    def __init__(self, board: Board) -> None:
        self.board = board
        self.notices: list[Notice] = []
        self.script: list[Callable[[], bytes | None]] = []
        """What to do at each wait: it returns the body of a wake-up, or None to ask for else."""
        self.early = 0
        """How many messages come before anybody waits."""
        self.waits: list[int] = []
        """How many stretches were finished at each wait."""
        self.returned: list[Message] = []
        self._asked = 0

    def waiting(self) -> bool:
        self._asked += 1
        assert self._asked < 100, "it asks in a loop"
        return self.early > 0

    def receive(self) -> Message:
        assert self.board.row(WORKER)[Note.WAITING] == (not self.early), "it says that it waits"
        self.early = max(0, self.early - 1)
        self.waits.append(len(self.notices))
        body = self.script.pop(0)()
        return Message(7, Kind.RESET, b"") if body is None else Message(0, Kind.WAKE, body)

    def put_back(self, message: Message) -> None:
        self.returned.append(message)

    def send(self, sequence: int, kind: Kind, body: bytes) -> None:
        assert (sequence, kind) == (RUN, Kind.STRETCH)
        assert self.board.row(WORKER)[Note.WAITING] == 0
        self.notices.append(pickle.loads(body))  # noqa: S301 - the handler's in this process


class Worker:
    """A worker's handler, its ring and the collector's end."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        [_, task] = divide(plan, ProcessOptions(workers=2), "a:B", default=1)
        self.board = Board.create(2)
        self.end = Collector(self.board)
        self.publisher = Publisher()
        self.handler = StretchHandler(task, self.board, self.end)  # type: ignore[arg-type]
        assert not self.board.row(WORKER).any(), "nothing runs once all is built"
        assert self.handler.handle(Kind.RESET, pickle.dumps(task.seeds)) == b""
        self.shape = RingShape(self.handler.envs.info, STEPS, SLOTS, (2, 3))
        self.ring = Segment.create(self.shape.size)
        self.control = self.shape.control(self.ring)

    def publish(self, policy: RandomPolicy = POLICY) -> bytes:
        self.publisher.publish(policy)
        return self.publisher.name.encode()

    def run(self, *, max_lag: int, number: int = 0, first_step: int = 0) -> Halted:
        order = RunOrder(RUN, self.ring.name, self.shape, max_lag, number, first_step)
        halted: Halted = pickle.loads(self.handler.run(pickle.dumps(order)))  # noqa: S301
        return halted

    def close(self) -> None:
        del self.control
        self.ring.close()
        self.publisher.close()
        self.handler.close()


@pytest.fixture
def worker(plan_of: Callable[..., Plan]) -> Iterator[Worker]:
    made = Worker(plan_of(n_envs=5, check=True))
    made.handler.wake(made.publish())
    yield made
    made.close()


def _truth(plan: Plan, steps: int) -> Rollout:
    with SequentialCollector() as collector:
        collector.open(plan)
        return collector.collect(POLICY, steps)


@pytest.mark.parametrize(
    ("demand", "max_lag", "made"),
    [(0, 0, 0), (0, 1, 1), (0, 2, 2), (0, 9, SLOTS), (1, 0, SLOTS), (1, 2, SLOTS)],
)
def test_it_waits_with_full_slots_and_without_demand_when_it_is_ahead(
    worker: Worker, demand: int, max_lag: int, made: int
) -> None:
    worker.control[DEMAND] = demand
    worker.end.script = [lambda: None]
    assert worker.run(max_lag=max_lag) == Halted(made, made * STEPS)
    assert worker.end.waits == [made]
    assert [message.kind for message in worker.end.returned] == [Kind.RESET]
    assert [notice.number for notice in worker.end.notices] == list(range(made))
    notes = worker.board.row(WORKER)
    assert notes[Note.BEAT] == made * STEPS
    assert (notes[Note.ENV], notes[Note.WAITING]) == (0, 0)
    assert (notes[[Note.ENV_NS, Note.POLICY_NS]] > 0).all() == (made > 0)
    assert not worker.board.row(0).any()


def test_stretches_lie_in_slots_in_turn_and_follow_each_other(worker: Worker) -> None:
    def free(slots: int) -> bytes:
        worker.control[CONSUMED + WORKER] += slots
        return b""

    worker.end.script = [lambda: free(1), lambda: free(0), lambda: free(2), lambda: None]
    worker.control[CONSUMED] = 50
    assert worker.run(max_lag=2) == Halted(5, 5 * STEPS)
    assert worker.end.waits == [2, 3, 3, 5]
    name = worker.publisher.name
    assert worker.end.notices == [
        Notice(WORKER, number, name, POLICY.version, STEPS * number) for number in range(5)
    ]
    truth = _truth(worker.plan, 5 * STEPS)
    for number in (2, 3, 4):
        slot = worker.shape.slot(worker.ring, WORKER, number)
        rows = slice(number * STEPS, (number + 1) * STEPS)
        for field in ("actions", "rewards", "terminated", "truncated"):
            wanted = getattr(truth, field)[rows, 2:]
            assert np.array_equal(slot.arrays[field], wanted), (number, field)
        assert np.array_equal(slot.obs[:-1], truth.obs[rows, 2:])
    assert np.array_equal(slot.obs[-1], truth.next_obs[2:])


def test_a_later_run_goes_on_with_its_numbers(worker: Worker) -> None:
    worker.control[CONSUMED + WORKER] = 4
    worker.end.script = [lambda: None]
    assert worker.run(max_lag=1, number=4, first_step=100) == Halted(5, 100 + STEPS)
    assert [(one.number, one.first_step) for one in worker.end.notices] == [(4, 100)]


@pytest.mark.parametrize(
    ("halted_at", "begun", "steps"), [(0, 1, 1), (1, 1, 2), (2, 1, 3), (3, 2, 4)]
)
def test_it_halts_after_the_step_in_which_it_was_told_to(
    worker: Worker, monkeypatch: pytest.MonkeyPatch, halted_at: int, begun: int, steps: int
) -> None:
    step, made = worker.handler.envs.step, []

    def halting(actions: Any, out: Any) -> None:
        step(actions, out)
        if len(made) == halted_at:
            worker.control[HALT] = 1
        made.append(actions)

    monkeypatch.setattr(worker.handler.envs, "step", halting)
    assert worker.run(max_lag=2) == Halted(begun, steps)
    assert len(made) == steps
    assert len(worker.end.notices) == steps // STEPS
    assert not worker.end.waits
    monkeypatch.undo()
    worker.control[HALT] = 0
    worker.control[CONSUMED + WORKER] = begun
    worker.end.script = [lambda: None]
    assert worker.run(max_lag=1, number=begun, first_step=steps).next_step == steps + STEPS
    truth = _truth(worker.plan, steps + STEPS)
    slot = worker.shape.slot(worker.ring, WORKER, begun)
    assert np.array_equal(slot.obs[:-1], truth.obs[steps:, 2:]), "no step is lost or made twice"


def test_a_stretch_that_is_halted_before_its_first_step_was_not_begun(worker: Worker) -> None:
    def halt() -> bytes:
        worker.control[HALT] = 1
        return b""

    worker.end.script, worker.end.early = [halt], 1
    assert worker.run(max_lag=2) == Halted(0, 0)
    assert worker.board.row(WORKER)[Note.BEAT] == 0
    assert worker.run(max_lag=2, number=2, first_step=9) == Halted(2, 9), "it was halted before"
    assert not worker.end.script


def test_news_that_came_early_is_taken_in_without_waiting(worker: Worker) -> None:
    """Both are read before the first stretch: the newer policy makes it."""
    old = worker.publisher.name
    later = RandomPolicy(2, 9)
    worker.end.script = [old.encode, lambda: worker.publish(later), lambda: None]
    worker.end.early = 2
    assert worker.run(max_lag=1).begun == 1
    assert worker.end.waits == [0, 0, 1]
    [notice] = worker.end.notices
    assert (notice.policy, notice.version) == (worker.publisher.name, 9)
    assert worker.publisher.name != old


def test_a_policy_that_is_gone_already_is_followed_by_another(worker: Worker) -> None:
    worker.handler.wake(b"wfbench_0_gone")
    worker.handler.wake(b"")
    worker.end.script = [worker.publish, lambda: None]
    assert worker.run(max_lag=1).begun == 1
    assert worker.end.waits == [0, 1]
    assert worker.end.notices[0].policy == worker.publisher.name


def test_another_request_instead_of_that_ends_the_run(worker: Worker) -> None:
    worker.handler.wake(b"wfbench_0_gone")
    worker.end.script, worker.end.early = [lambda: None], 1
    assert worker.run(max_lag=1) == Halted(0, 0)
    assert len(worker.end.returned) == 1
