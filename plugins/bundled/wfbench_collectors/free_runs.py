"""The collector's side of a free run: the ring, the stretches in it, and their delivery."""

from __future__ import annotations

import pickle
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from time import monotonic

import numpy as np
from numpy.typing import NDArray

from wfbench.collecting.buffer import RolloutBuffer
from wfbench.contract import EnvInfo, Policy
from wfbench.processes.segments import Segment

from .board import Note
from .ring import CONSUMED, HALT, Notice, RingShape, RunResult
from .stretches import Publication, RunOrder
from .supervisor import Supervisor
from .tasks import WorkerTask


@dataclass
class Stretch:
    """A finished stretch of one worker, of which `taken` columns were delivered."""

    worker: int
    notice: Notice
    taken: int = 0


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

    def take(self, stretch: Stretch, slot: RolloutBuffer, envs: range) -> int:
        """Copy as many columns of a stretch as are missing; return the bytes moved."""
        count = min(len(envs) - stretch.taken, self.missing)
        source = slice(stretch.taken, stretch.taken + count)
        target = slice(self.filled, self.filled + count)
        self.env_id[target] = envs[source]
        self.first_step[target] = stretch.notice.first_step
        self.version[target] = stretch.notice.version
        self.filled += count
        stretch.taken += count
        columns = {name: array[:, source] for name, array in slot.arrays.items()}
        return self.buffer.put_columns(target, columns)


class Publisher:
    """Keeps the newest policy where workers find it."""

    def __init__(self) -> None:
        self.number = 0
        self.version = 0
        self._segment: Segment | None = None
        self._old: Segment | None = None

    def publish(self, policy: Policy) -> int:
        """Publish a policy unless it is the one published last; return the bytes written.

        The policy before stays until `discard_old`, so that workers can be told first.
        """
        data = pickle.dumps(policy.snapshot())
        self.version = policy.version
        if self._segment is not None and self._segment.view()[:] == data:
            return 0
        self._old = self._segment
        self._segment = Segment.create(len(data))
        self._segment.view()[:] = data
        self.number += 1
        return len(data)

    def news(self) -> bytes:
        """Return the body of a wake-up that says where the policy is; empty without a policy."""
        if self._segment is None:
            return b""
        return pickle.dumps(Publication(self.number, self._segment.name))

    def discard_old(self) -> None:
        """Remove the policy before the newest one."""
        if self._old is not None:
            self._old.close()
            self._old = None

    def close(self) -> None:
        """Remove every policy."""
        self.discard_old()
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
        """Raise DeadlineError if a worker made no step for `limit` seconds.

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


class FreeRun:
    """A run of all workers with a ring for stretches of one length."""

    def __init__(
        self, number: int, info: EnvInfo, steps: int, max_lag: int, tasks: Sequence[WorkerTask]
    ) -> None:
        self.number = number
        self.steps = steps
        self.ready: deque[Stretch] = deque()
        self._max_lag = max_lag
        self._envs = [task.envs for task in tasks]
        self._shape = RingShape(info, steps, max_lag + 1, tuple(map(len, self._envs)))
        self._ring = Segment.create(self._shape.size)
        self.control = self._shape.control(self._ring)
        self._finished = [0] * len(tasks)
        self._next_step = [0] * len(tasks)

    def order(self, worker: int, *, resume: bool) -> bytes:
        """Return the request that lets a worker run.

        With `resume` it continues the numbering of the predecessor that it replaces.
        """
        order = RunOrder(
            run=self.number,
            ring=self._ring.name,
            shape=self._shape,
            max_lag=self._max_lag,
            number=self._finished[worker],
            first_step=self._next_step[worker] if resume else None,
        )
        return pickle.dumps(order)

    def finish(self, worker: int, notice: Notice) -> None:
        """Take down that a worker has finished a stretch."""
        self._finished[worker] = notice.number + 1
        self._next_step[worker] = notice.first_step + self.steps
        self.ready.append(Stretch(worker, notice))

    def deliver(self, delivery: Delivery, newest: Publisher) -> tuple[int, int | None]:
        """Deliver of the oldest stretch what is missing, or drop it if it is too old.

        Return the bytes moved and, if that freed a slot, its worker.
        """
        stretch, moved = self.ready[0], 0
        envs = self._envs[stretch.worker]
        if self._too_old(stretch.notice, newest):
            delivery.dropped += len(envs) - stretch.taken
            stretch.taken = len(envs)
        else:
            slot = self._shape.slot(self._ring, stretch.worker, stretch.notice.number)
            moved = delivery.take(stretch, slot, envs)
        if stretch.taken < len(envs):
            return moved, None
        self.ready.popleft()
        self.control[CONSUMED + stretch.worker] += 1
        return moved, stretch.worker

    def count_dropped(self, results: Mapping[int, RunResult]) -> int:
        """Return how many columns are lost if nothing more is delivered."""
        dropped = -sum(stretch.taken for stretch in self.ready)
        for worker, result in results.items():
            unread = result.finished - int(self.control[CONSUMED + worker])
            dropped += len(self._envs[worker]) * (unread + (result.abandoned > 0))
        return dropped

    def halt(self) -> None:
        """Have workers stop as soon as they notice."""
        self.control[HALT] = 1

    def close(self) -> None:
        """Remove the ring."""
        del self.control
        self._ring.close()

    def _too_old(self, notice: Notice, newest: Publisher) -> bool:
        lag = newest.version - notice.version
        replaced = notice.publication != newest.number and lag == 0
        return replaced or not 0 <= lag <= self._max_lag
