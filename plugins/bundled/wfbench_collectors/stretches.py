"""What a free-running worker does."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wfbench.collecting.buffer import RolloutBuffer
from wfbench.collecting.phases import Phases
from wfbench.collecting.playing import play
from wfbench.contract import Policy, PolicySnapshot
from wfbench.processes.segments import Segment

from .board import Board, Note
from .ring import CONSUMED, DEMAND, HALT, Notice, RingShape, RunResult
from .tasks import WorkerTask
from .wire import Kind, WorkerEnd
from .worker import Handler


@dataclass(frozen=True)
class RunOrder:
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


class Publication(NamedTuple):
    """Where the newest policy is; the body of a wake-up, whose body is empty without news."""

    number: int
    segment: str


class _Held(NamedTuple):
    """The policy a worker acts with."""

    publication: int
    version: int
    policy: Policy


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
        self._published = Publication(0, "")
        self._held: _Held | None = None

    def handle(self, kind: int, body: bytes) -> bytes:
        """Reset, take news of a policy, or run until told to stop."""
        if kind == Kind.RESET:
            self._obs = self.envs.first_obs()
            self._notes[Note.ENV] = 0
        elif kind == Kind.WAKE:
            self._take_news(body)
        elif kind == Kind.RUN:
            return pickle.dumps(self._run(pickle.loads(body)))  # noqa: S301 - our collector's
        else:
            raise ValueError(f"request {kind} is not known")
        return b""

    def _run(self, order: RunOrder) -> RunResult:
        """Run freely until halted or asked for something else."""
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
            found = self._policy()
            if found is None:
                continue
            first_step = self._first_step
            made = self._stretch(found.policy, slots[number % shape.slots], control)
            self._first_step += made
            if made < shape.steps:
                return RunResult(number, made)
            notice = Notice(number, found.publication, found.version, first_step)
            self._end.send(order.run, Kind.STRETCH, pickle.dumps(notice))
            number += 1
        return RunResult(number, 0)

    def _listen(self, *, block: bool) -> bool:
        """Take in wake-ups; return False on another request, which is left to be answered."""
        while block or self._end.waiting():
            self._notes[Note.WAITING] = block
            message = self._end.receive()
            self._notes[Note.WAITING] = 0
            if message.kind != Kind.WAKE:
                self._end.put_back(message)
                return False
            self._take_news(message.body)
            block = False
        return True

    def _take_news(self, body: bytes) -> None:
        if body:
            self._published = pickle.loads(body)  # noqa: S301 - our collector's

    def _policy(self) -> _Held | None:
        """Return the newest policy; None if it was replaced and news of that is on its way."""
        publication, name = self._published
        if self._held is None or self._held.publication != publication:
            try:
                segment = Segment.attach(name)
            except FileNotFoundError:
                self._listen(block=True)
                return None
            snapshot: PolicySnapshot = pickle.loads(segment.view())  # noqa: S301 - as above
            segment.close()
            self._held = _Held(publication, snapshot.version, snapshot.policy())
        return self._held

    def _stretch(self, policy: Policy, slot: RolloutBuffer, control: NDArray[np.int64]) -> int:
        """Fill a slot, unless the run is halted; return how many steps were made."""
        notes, phases = self._notes, self._phases
        slot.obs[0] = self._obs
        made = 0
        if not control[HALT]:
            steps = play(
                policy,
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
