"""Workers that run freely with their own copy of the policy."""

from __future__ import annotations

import pickle
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from time import monotonic, perf_counter

import numpy as np
from numpy.typing import NDArray

from wfbench.collecting.buffer import RolloutBuffer
from wfbench.collecting.lifecycle import Lifecycle
from wfbench.collecting.phases import Phases
from wfbench.contract import EnvInfo, Plan, Policy, Rollout, UsageError, WorkerError

from .board import Note
from .processes import ProcessSettings, common_info, cores
from .revival import Revival
from .ring import CONSUMED, DEMAND, HALT, Notice, RingShape, RunResult
from .segments import Segment
from .stretches import RunOrder, publish_body
from .supervisor import Supervisor
from .wire import Kind, encode
from .worker import Task


@dataclass
class _Stretch:
    """A finished stretch of one worker, of which `taken` columns were delivered."""

    worker: int
    notice: Notice
    taken: int = 0


class _Delivery:
    """The columns of one rollout as they are filled."""

    def __init__(self, steps: int, columns: int, info: EnvInfo) -> None:
        self.buffer = RolloutBuffer(steps, columns, info)
        self.env_id: NDArray[np.int64] = np.zeros(columns, np.int64)
        self.first_step: NDArray[np.int64] = np.zeros(columns, np.int64)
        self.version: NDArray[np.int64] = np.zeros(columns, np.int64)
        self.filled = 0
        self.dropped = 0
        self.marks: list[str] = []

    @property
    def missing(self) -> int:
        """How many columns are still to come."""
        return self.buffer.columns - self.filled


class _Pulse:
    """Notices a worker that does nothing although it should, also between calls."""

    def __init__(self, supervisor: Supervisor) -> None:
        self._supervisor = supervisor
        self._beats = supervisor.board.column(Note.BEAT)
        self._felt = np.full(len(self._beats), monotonic())

    def feel(self, limit: float, *, excuse_waiting: bool) -> None:
        """DeadlineError if a worker made no step for `limit` seconds.

        One that waits is excused as long as nobody has asked it for anything.
        """
        board, now = self._supervisor.board, monotonic()
        beats = board.column(Note.BEAT)
        self._felt[beats != self._beats] = now
        self._beats = beats
        if excuse_waiting:
            self._felt[board.column(Note.WAITING) == 1] = now
        late = np.flatnonzero(now - self._felt > limit)
        if len(late):
            raise self._supervisor.late(late.tolist())

    def restart(self, worker: int) -> None:
        """Begin again with a worker that was replaced."""
        self._felt[worker] = monotonic()


class AsyncCollector(Lifecycle):
    """Delivers the stretches that finish first; there is no step barrier.

    Workers hold the policy as plain arrays and make stretches of `steps` rows, also between calls.
    A call delivers as many columns as there are environments: a fast environment can be there more
    than once, a slow one not at all. A column is one environment's unbroken stretch, made by one
    version of the policy, and is delivered whole and once.

    `max_lag` bounds how many versions behind the given policy a column may be. A worker that is
    ahead of demand waits rather than finish more than `max_lag` unread stretches. A stretch that is
    too old all the same when its turn comes is dropped and counted, as is one whose length is not
    what is asked for any more.

    The time a call is blocked is divided into env and inference as the workers' own time was.

    A dead worker's finished stretches stay good. With `on_worker_death="restart"` its environments
    are built again with new seeds; the stretch it was making is lost as a whole, the numbering of
    steps goes on after the last finished one, and the rollout is marked.
    """

    name = "async"

    def __init__(
        self,
        *,
        workers: int = 0,
        max_lag: int = 1,
        start_method: str = "forkserver",
        batched: bool = True,
        on_worker_death: str = "fail",
        restarts: int = 3,
    ) -> None:
        super().__init__()
        if max_lag < 0:
            raise UsageError(f"max_lag is {max_lag}; it must be at least 0")
        self._max_lag = max_lag
        self._settings = ProcessSettings(workers, start_method, batched, on_worker_death, restarts)
        self._supervisor: Supervisor
        self._ring: Segment | None = None
        self._snapshot: Segment | None = None

    def _open(self, plan: Plan) -> EnvInfo:
        until = monotonic() + plan.deadlines.start
        self._supervisor = Supervisor(plan, self._settings.start_method)
        handler = "wfbench_collectors.stretches:StretchHandler"
        self._tasks = self._settings.tasks(plan, handler, default=cores())
        built = self._supervisor.start(self._tasks, until)
        self._supervisor.ask(Kind.RESET, dict.fromkeys(range(len(self._tasks)), b""), until)
        self._revival = Revival(plan, self._settings, self._supervisor, self._tasks)
        self._shape: RingShape | None = None
        self._ready: deque[_Stretch] = deque()
        self._run = 0
        self._published = 0
        self._version = 0
        self._spent = self._worker_time()
        self._pulse = _Pulse(self._supervisor)
        return common_info([answer.info for answer in built])

    def _collect(self, plan: Plan, info: EnvInfo, policy: Policy, steps: int) -> Rollout:
        phases = Phases()
        supervisor, restarts = self._supervisor, self._revival.count
        traffic = supervisor.messages, supervisor.bytes_moved
        delivery = _Delivery(steps, plan.n_envs, info)
        self._pulse.feel(plan.deadlines.step, excuse_waiting=True)
        self._publish(plan, policy, phases)
        if self._shape is None or self._shape.steps != steps:
            self._begin(plan, info, steps, delivery)
        self._take_news(monotonic(), delivery)
        self._control[DEMAND] = 1
        self._wake(range(len(self._tasks)), b"", plan)
        phases.transport = perf_counter() - phases.started
        self._fill(plan, delivery, phases)
        self._control[DEMAND] = 0
        self._divide_blocked_time(phases)
        phases.messages = supervisor.messages - traffic[0]
        phases.bytes_moved += supervisor.bytes_moved - traffic[1]
        return delivery.buffer.rollout(
            env_id=delivery.env_id,
            first_step=delivery.first_step,
            policy_version=delivery.version,
            counters=phases.counters(
                restarts=self._revival.count - restarts,
                dropped=delivery.dropped,
                lag=tuple((policy.version - delivery.version).tolist()),
            ),
            marks=tuple(delivery.marks),
        )

    def _close(self, plan: Plan) -> None:
        if self._ring is not None:
            self._control[HALT] = 1
        if hasattr(self, "_supervisor"):
            self._supervisor.close(plan.deadlines.close)
        self._drop_ring()
        if self._snapshot is not None:
            self._snapshot.close()
            self._snapshot = None

    def _publish(self, plan: Plan, policy: Policy, phases: Phases) -> None:
        """Let workers know of a policy, unless it is the one they have."""
        data = pickle.dumps(policy.snapshot())
        self._version = policy.version
        old = self._snapshot
        if old is not None and old.view()[:] == data:
            return
        self._snapshot = Segment.create(len(data))
        self._snapshot.view()[:] = data
        self._published += 1
        phases.bytes_moved += len(data) * len(self._tasks)
        news = publish_body(self._published, self._snapshot.name)
        self._wake(range(len(self._tasks)), news, plan)
        if old is not None:
            old.close()

    def _begin(self, plan: Plan, info: EnvInfo, steps: int, delivery: _Delivery) -> None:
        """Have all workers run with a ring for stretches of this length."""
        dead = self._halt(plan, delivery) if self._ring is not None else []
        envs = tuple(len(task.envs) for task in self._tasks)
        self._shape = RingShape(info, steps, self._max_lag + 1, envs)
        ring = Segment.create(self._shape.size)
        self._ring, self._control = ring, self._shape.control(ring)
        self._finished = [0] * len(self._tasks)
        self._next_step = [0] * len(self._tasks)
        self._run = self._supervisor.next_sequence()
        until = monotonic() + plan.deadlines.step
        for worker in range(len(self._tasks)):
            if worker not in {death.worker for death in dead}:
                self._order_run(worker, until, first_step=None)
        for death in dead:
            delivery.marks.append(self._revival.revive(death, self._prepare))

    def _halt(self, plan: Plan, delivery: _Delivery) -> list[WorkerError]:
        """Stop every worker and drop what was not delivered; the deaths that this survived."""
        self._control[HALT] = 1
        everyone = range(len(self._tasks))
        self._wake(everyone, b"", plan)
        replies, deaths = self._supervisor.gather(
            self._run,
            everyone,
            monotonic() + plan.deadlines.step,
            survive=self._settings.survives_deaths,
        )
        for worker, reply in replies.items():
            result, envs = RunResult.decoded(reply), len(self._tasks[worker].envs)
            unread = result.finished - int(self._control[CONSUMED + worker])
            delivery.dropped += envs * (unread + (result.abandoned > 0))
        delivery.dropped -= sum(stretch.taken for stretch in self._ready)
        self._ready.clear()
        self._drop_ring()
        return deaths

    def _drop_ring(self) -> None:
        if self._ring is not None:
            del self._control
            self._ring.close()
            self._ring = None

    def _order_run(self, worker: int, until: float, *, first_step: int | None) -> None:
        if self._ring is None or self._shape is None:
            raise ValueError("there is no ring to run with")
        order = RunOrder(
            run=self._run,
            ring=self._ring.name,
            shape=self._shape,
            max_lag=self._max_lag,
            number=self._finished[worker],
            first_step=first_step,
        )
        message = encode(self._run, Kind.RUN, pickle.dumps(order))
        self._supervisor.post(worker, message, until)

    def _prepare(self, task: Task, until: float) -> None:
        """Have a replaced worker run where its predecessor stopped."""
        worker = task.worker
        self._supervisor.ask(Kind.RESET, {worker: b""}, until)
        if self._snapshot is not None:
            news = publish_body(self._published, self._snapshot.name)
            self._supervisor.post(worker, encode(0, Kind.WAKE, news), until)
        self._order_run(worker, until, first_step=self._next_step[worker])

    def _wake(self, workers: Iterable[int], body: bytes, plan: Plan) -> None:
        message, until = encode(0, Kind.WAKE, body), monotonic() + plan.deadlines.step
        for worker in workers:
            self._supervisor.post(worker, message, until)

    def _fill(self, plan: Plan, delivery: _Delivery, phases: Phases) -> None:
        while delivery.missing:
            started = perf_counter()
            if self._ready:
                self._deliver(self._ready[0], delivery, phases, plan)
                phases.transport += perf_counter() - started
            else:
                self._await_stretch(plan, delivery)
                phases.env += perf_counter() - started

    def _await_stretch(self, plan: Plan, delivery: _Delivery) -> None:
        """Wait until a stretch is finished; DeadlineError if a worker makes no step in time."""
        limit = plan.deadlines.step
        while not self._ready:
            self._take_news(monotonic() + min(limit / 4, 0.5), delivery)
            self._pulse.feel(limit, excuse_waiting=False)

    def _take_news(self, until: float, delivery: _Delivery) -> None:
        """Wait for finished stretches and deaths; there may be none until then."""
        messages, died = self._supervisor.poll(until)
        for worker, message in messages:
            if message.kind == Kind.STRETCH and message.sequence == self._run:
                self._finish(worker, Notice.decoded(message.body))
        for worker in died:
            death = self._supervisor.death(worker)
            delivery.marks.append(self._revival.revive(death, self._prepare))
            self._pulse.restart(worker)

    def _finish(self, worker: int, notice: Notice) -> None:
        if self._shape is not None:
            self._finished[worker] = notice.number + 1
            self._next_step[worker] = notice.first_step + self._shape.steps
            self._ready.append(_Stretch(worker, notice))

    def _deliver(self, stretch: _Stretch, delivery: _Delivery, phases: Phases, plan: Plan) -> None:
        """Copy as many columns of a stretch as are missing; free its slot once all are taken."""
        if self._ring is None or self._shape is None:
            raise ValueError("there is no ring to deliver from")
        task, notice = self._tasks[stretch.worker], stretch.notice
        left = len(task.envs) - stretch.taken
        if self._too_old(notice):
            delivery.dropped += left
            stretch.taken += left
        else:
            count = min(left, delivery.missing)
            source = slice(stretch.taken, stretch.taken + count)
            target = slice(delivery.filled, delivery.filled + count)
            slot = self._shape.slot(self._ring, stretch.worker, notice.number)
            phases.bytes_moved += slot.copy(source, delivery.buffer, target)
            delivery.env_id[target] = task.envs[source]
            delivery.first_step[target] = notice.first_step
            delivery.version[target] = notice.version
            delivery.filled += count
            stretch.taken += count
        if stretch.taken == len(task.envs):
            self._ready.popleft()
            self._control[CONSUMED + stretch.worker] += 1
            self._wake([stretch.worker], b"", plan)

    def _too_old(self, notice: Notice) -> bool:
        lag = self._version - notice.version
        replaced = notice.publication != self._published and lag == 0
        return replaced or not 0 <= lag <= self._max_lag

    def _worker_time(self) -> NDArray[np.int64]:
        board = self._supervisor.board
        return np.array([board.column(Note.ENV_NS).sum(), board.column(Note.POLICY_NS).sum()])

    def _divide_blocked_time(self, phases: Phases) -> None:
        now = self._worker_time()
        env, policy = (now - self._spent).tolist()
        self._spent = now
        blocked = phases.env
        phases.env = blocked * env / max(1, env + policy)
        phases.inference = blocked * policy / max(1, env + policy)
