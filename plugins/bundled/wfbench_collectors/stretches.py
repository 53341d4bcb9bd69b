"""Stretches: the shared ring that free-running workers fill with them, and how they make them.

A stretch is a fixed number of consecutive steps of all environments of one worker, made by one
policy. Each worker has its own slots; it fills them in turn, and the collector frees them in turn.
"""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wfbench.collecting.buffer import RolloutBuffer, buffer_shapes
from wfbench.collecting.phases import Phases
from wfbench.collecting.playing import play
from wfbench.contract import EnvInfo, Policy, PolicySnapshot
from wfbench.processes.segments import Segment

from .shared import ArrayLayout, Board, Note
from .tasks import WorkerTask
from .wire import Kind, WorkerEnd
from .worker import Handler

HALT, DEMAND, CONSUMED = 0, 1, 2
"""Control words: stop running; a `collect` waits; from here, slots freed so far per worker."""


class Notice(NamedTuple):
    """What a worker says of a stretch it has finished."""

    worker: int
    number: int
    """How many stretches this worker had finished before; its slot follows from it."""
    policy: str
    """Name of the segment its policy came from."""
    version: int
    first_step: int


@dataclass(frozen=True)
class RingShape:
    """Everything that fixes where things are; it crosses to workers."""

    info: EnvInfo
    steps: int
    slots: int
    envs: tuple[int, ...]
    """How many environments each worker has."""

    @property
    def size(self) -> int:
        """Return the bytes of the whole ring."""
        return self._offset(len(self.envs))

    def control(self, segment: Segment) -> NDArray[np.int64]:
        """Return the control words."""
        words: NDArray[np.int64] = self._control().arrays(segment.view())["control"]
        return words

    def slot(self, segment: Segment, worker: int, number: int) -> RolloutBuffer:
        """Return the slot of a worker's stretch."""
        layout = self._stretch(self.envs[worker])
        offset = self._offset(worker) + (number % self.slots) * layout.size
        arrays = layout.arrays(segment.view(), offset)
        return RolloutBuffer(self.steps, self.envs[worker], self.info, arrays)

    def _offset(self, worker: int) -> int:
        before = sum(self._stretch(envs).size for envs in self.envs[:worker])
        return self._control().size + self.slots * before

    def _control(self) -> ArrayLayout:
        return ArrayLayout({"control": ((CONSUMED + len(self.envs),), "i8")})

    def _stretch(self, envs: int) -> ArrayLayout:
        return ArrayLayout(buffer_shapes(self.steps, envs, self.info))


class RunOrder(NamedTuple):
    """A request to run freely."""

    run: int
    """Its number, which tells its stretches from those of earlier runs."""
    ring: str
    shape: RingShape
    max_lag: int
    number: int
    """The number of its next stretch."""
    first_step: int
    """The number of its environments' next step."""


class Halted(NamedTuple):
    """Where a worker stopped."""

    begun: int
    """How many stretches it had begun."""
    next_step: int
    """The number of its environments' next step."""


class StretchHandler(Handler):
    """Makes stretch after stretch with the newest policy it knows of.

    It waits when all its slots are full, and when nobody waits for data and as many finished
    stretches are unread as the policy may be updates behind.
    """

    def __init__(self, task: WorkerTask, board: Board, end: WorkerEnd) -> None:
        super().__init__(task, board, end)
        self._newest = ""
        """Name of the segment with the newest policy."""
        self._held = ""
        """Name of the segment the policy at hand came from."""
        self._policy: Policy

    def reset(self, body: bytes) -> bytes:
        """Start from the given seeds and keep the first observations."""
        seeds = pickle.loads(body)  # noqa: S301 - our collector's
        self.envs.reseed(seeds)
        self._seeds = np.array(seeds, np.uint64)
        self._phases = Phases()
        self._obs = self.envs.first_obs()
        return b""

    def wake(self, body: bytes) -> bytes:
        """Take down where the newest policy is; a wake-up without news is empty."""
        if body:
            self._newest = body.decode()
        return b""

    def run(self, body: bytes) -> bytes:
        """Run freely until halted or asked for something else; return where it `Halted`."""
        order: RunOrder = pickle.loads(body)  # noqa: S301 - our collector's
        self._first_step = order.first_step
        ring = Segment.attach(order.ring)
        try:
            begun = self._run(order, ring)
        finally:
            ring.close()
        return pickle.dumps(Halted(begun, self._first_step))

    def _run(self, order: RunOrder, ring: Segment) -> int:
        """Make stretches; return how many were begun."""
        shape, control = order.shape, order.shape.control(ring)
        slots = [shape.slot(ring, self.task.worker, slot) for slot in range(shape.slots)]
        number = order.number
        while not control[HALT]:
            unread = number - int(control[CONSUMED + self.task.worker])
            free = unread < shape.slots and (control[DEMAND] or unread < order.max_lag)
            if not self._listen(block=not free):
                break
            if not free or not self._take_policy():
                continue
            first_step = self._first_step
            made = self._stretch(slots[number % shape.slots], control)
            self._first_step += made
            if made < shape.steps:
                return number + (made > 0)
            notice = Notice(self.task.worker, number, self._held, self._policy.version, first_step)
            self._end.send(order.run, Kind.STRETCH, pickle.dumps(notice))
            number += 1
        return number

    def _listen(self, *, block: bool) -> bool:
        """Take in wake-ups; return False on another request, which is left to be answered."""
        while block or self._end.waiting():
            self._notes[Note.WAITING] = block
            message = self._end.receive()
            self._notes[Note.WAITING] = 0
            if message.kind != Kind.WAKE:
                self._end.put_back(message)
                return False
            self.wake(message.body)
            block = False
        return True

    def _take_policy(self) -> bool:
        """Hold the newest policy; return False if news of its replacement had to be awaited."""
        if self._held != self._newest:
            try:
                segment = Segment.attach(self._newest)
            except FileNotFoundError:
                self._listen(block=True)
                return False
            snapshot: PolicySnapshot = pickle.loads(segment.view())  # noqa: S301 - our collector's
            segment.close()
            self._held, self._policy = self._newest, snapshot.policy()
        return True

    def _stretch(self, slot: RolloutBuffer, control: NDArray[np.int64]) -> int:
        """Fill a slot, unless the run is halted; return how many steps were made."""
        notes, phases = self._notes, self._phases
        slot.obs[0] = self._obs
        made = 0
        if not control[HALT]:
            steps = play(
                self._policy,
                slot,
                self._seeds,
                self._first_step,
                phases,
                num_actions=self.envs.info.num_actions,
                check=self.task.check,
            )
            for actions, out in steps:
                self.envs.step(actions, out)
                made += 1
                notes[Note.BEAT] += 1
                if control[HALT]:
                    break
        notes[Note.ENV_NS] = phases.env * 1e9
        notes[Note.POLICY_NS] = phases.inference * 1e9
        notes[Note.ENV] = 0
        self._obs[:] = slot.obs[made]
        return made
