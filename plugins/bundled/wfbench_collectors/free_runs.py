"""The collector's side of a free run: the ring, the stretches in it, and their delivery."""

from __future__ import annotations

import pickle
from collections import deque
from collections.abc import Mapping, Sequence
from time import monotonic

import numpy as np
from numpy.typing import NDArray

from wfbench.collecting.buffer import RolloutBuffer
from wfbench.contract import EnvInfo, Policy
from wfbench.processes.segments import Segment

from .shared import Note
from .stretches import CONSUMED, HALT, Halted, Notice, RingShape, RunOrder
from .supervisor import Supervisor
from .tasks import WorkerTask
from .wire import Kind, encode


class Delivery:
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
        """Return how many columns are still to come."""
        return self.buffer.columns - self.filled

    def take(self, notice: Notice, slot: RolloutBuffer, envs: Sequence[int], first: int) -> int:
        """Copy the columns of a stretch from `first` on, as many as are missing; return bytes."""
        source = slice(first, min(len(envs), first + self.missing))
        target = slice(self.filled, self.filled + source.stop - first)
        self.env_id[target] = envs[source]
        self.first_step[target] = notice.first_step
        self.version[target] = notice.version
        self.filled = target.stop
        columns = {name: array[:, source] for name, array in slot.arrays.items()}
        return self.buffer.put_columns(target, columns)


class Publisher:
    """Keeps the newest policy where workers find it."""

    def __init__(self) -> None:
        self.version = 0
        self._segment: Segment | None = None

    @property
    def name(self) -> str:
        """Return the name of the segment with the policy; empty without one."""
        return self._segment.name if self._segment is not None else ""

    def publish(self, policy: Policy) -> int:
        """Publish a policy unless it is the one published last; return the bytes written."""
        data = pickle.dumps(policy.snapshot())
        self.version = policy.version
        if self._segment is not None and self._segment.view()[:] == data:
            return 0
        segment = Segment.create(len(data))
        segment.view()[:] = data
        # A worker that misses the policy before waits for news.
        self.close()
        self._segment = segment
        return len(data)

    def close(self) -> None:
        """Remove the policy."""
        if self._segment is not None:
            self._segment.close()
            self._segment = None


class Pulse:
    """Notices a worker that does nothing although it should, also between calls."""

    def __init__(self, supervisor: Supervisor) -> None:
        self._supervisor = supervisor
        self._beats = supervisor.board.column(Note.BEAT)
        self._felt = np.full(len(self._beats), monotonic())

    def check(self, limit: float, *, excuse_waiting: bool) -> None:
        """Raise DeadlineError if a worker made no step for `limit` seconds."""
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


class FreeRun:
    """A run of all workers with a ring for stretches of one length.

    `next_step` is the number of the next step of each worker's environments. No number is ever used
    twice, so no draw of a policy is.
    """

    def __init__(
        self,
        number: int,
        info: EnvInfo,
        steps: int,
        max_lag: int,
        tasks: Sequence[WorkerTask],
        next_step: Sequence[int],
    ) -> None:
        self.number = number
        self.steps = steps
        self.ready: deque[Notice] = deque()
        self._taken = 0
        """Columns of the oldest stretch that were delivered."""
        self._max_lag = max_lag
        self._envs = [task.envs for task in tasks]
        self._shape = RingShape(info, steps, max_lag + 1, tuple(map(len, self._envs)))
        self._ring = Segment.create(self._shape.size)
        self.control = self._shape.control(self._ring)
        self._finished = [0] * len(tasks)
        self.next_step = list(next_step)

    def order(self, worker: int) -> bytes:
        """Return the request to run."""
        order = RunOrder(
            run=self.number,
            ring=self._ring.name,
            shape=self._shape,
            max_lag=self._max_lag,
            number=self._finished[worker],
            first_step=self.next_step[worker],
        )
        return encode(self.number, Kind.RUN, pickle.dumps(order))

    def finish(self, notice: Notice) -> None:
        """Take down that a worker has finished a stretch."""
        self._finished[notice.worker] = notice.number + 1
        self.next_step[notice.worker] = notice.first_step + self.steps
        self.ready.append(notice)

    def skip(self, worker: int) -> None:
        """Go on counting beyond every step that a worker that died can have made.

        It can have begun as many stretches as it has slots. The gap tells readers of its columns
        that the episode it was in is torn, and that the next row begins another one.
        """
        self.next_step[worker] += self._shape.slots * self.steps

    def deliver(self, delivery: Delivery, newest: Publisher) -> tuple[int, int | None]:
        """Deliver of the oldest stretch what is missing, or drop it if it is too old.

        Return the bytes moved and, if that freed a slot, its worker.
        """
        notice, moved, filled = self.ready[0], 0, delivery.filled
        worker, envs = notice.worker, self._envs[notice.worker]
        left = len(envs) - self._taken
        if self._too_old(notice, newest):
            delivery.dropped += left
        else:
            slot = self._shape.slot(self._ring, worker, notice.number)
            moved = delivery.take(notice, slot, envs, self._taken)
            if delivery.filled - filled < left:
                self._taken += delivery.filled - filled
                return moved, None
        self.ready.popleft()
        self._taken = 0
        self.control[CONSUMED + worker] += 1
        return moved, worker

    def stop(self, halted: Mapping[int, Halted]) -> int:
        """Take down where workers stopped, or died; return how many columns are lost with it."""
        lost = -self._taken
        for worker, envs in enumerate(self._envs):
            if worker in halted:
                begun, self.next_step[worker] = halted[worker]
                lost += len(envs) * (begun - int(self.control[CONSUMED + worker]))
            else:
                self.skip(worker)
        return lost

    def close(self) -> None:
        """Have workers stop as soon as they notice, and remove the ring."""
        self.control[HALT] = 1
        del self.control
        self._ring.close()

    def _too_old(self, notice: Notice, newest: Publisher) -> bool:
        lag = newest.version - notice.version
        replaced = notice.policy != newest.name and lag == 0
        return replaced or not 0 <= lag <= self._max_lag
