"""What a free-running worker does."""

from __future__ import annotations

import pickle
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wfbench.collecting.buffer import RolloutBuffer
from wfbench.collecting.phases import Phases
from wfbench.collecting.playing import play
from wfbench.contract import Policy, PolicySnapshot
from wfbench.processes.segments import Segment

from .ring import CONSUMED, DEMAND, HALT, Notice, RingShape
from .shared import Board, Note
from .tasks import WorkerTask
from .wire import Kind, WorkerEnd
from .worker import Handler


class RunOrder(NamedTuple):
    """A request to run freely."""

    run: int
    """Its number, which tells its stretches from those of earlier runs."""
    ring: str
    shape: RingShape
    max_lag: int
    number: int
    """The number of its next stretch."""
    first_step: int | None
    """The number of its environments' next step; None: go on counting."""


class StretchHandler(Handler):
    """Makes stretch after stretch with the newest policy it knows of.

    It waits when all its slots are full, and when nobody waits for data and as many finished
    stretches are unread as the policy may be updates behind.
    """

    def __init__(self, task: WorkerTask, board: Board, end: WorkerEnd) -> None:
        super().__init__(task, board, end)
        self._seeds = np.array(task.seeds, np.uint64)
        self._first_step = 0
        self._phases = Phases()
        self._newest = ""
        """Name of the segment with the newest policy."""
        self._held = ""
        """Name of the segment the policy at hand came from."""
        self._policy: Policy

    def reset(self, body: bytes) -> bytes:  # noqa: ARG002 - seeds came with the task
        """Keep the first observations."""
        self._obs = self.envs.first_obs()
        return b""

    def wake(self, body: bytes) -> bytes:
        """Take down where the newest policy is; a wake-up without news is empty."""
        if body:
            self._newest = body.decode()
        return b""

    def run(self, body: bytes) -> bytes:
        """Run freely until halted or asked for something else; return the stretches begun."""
        order: RunOrder = pickle.loads(body)  # noqa: S301 - our collector's
        return pickle.dumps(self._run(order))

    def _run(self, order: RunOrder) -> int:
        shape, segment = order.shape, Segment.attach(order.ring)
        control = shape.control(segment)
        slots = [shape.slot(segment, self.task.worker, slot) for slot in range(shape.slots)]
        number = order.number
        if order.first_step is not None:
            self._first_step = order.first_step
        while not control[HALT]:
            unread = number - int(control[CONSUMED + self.task.worker])
            free = unread < shape.slots and (control[DEMAND] or unread < order.max_lag)
            if not self._listen(block=not free):
                break
            if not free:
                continue
            if not self._take_policy():
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
