"""What a free-running worker does."""

from __future__ import annotations

import pickle
import struct
from dataclasses import dataclass
from time import perf_counter_ns
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wfbench.collecting.buffer import checked_acts
from wfbench.collecting.draws import draw_rows
from wfbench.contract import Policy, PolicySnapshot

from .board import Board, Note
from .ring import CONSUMED, DEMAND, HALT, Notice, RingShape, RunResult, Slot
from .segments import Segment
from .slices import build_slice
from .wire import Kind, WorkerEnd
from .worker import Task

_PUBLICATION = struct.Struct("<q")


@dataclass(frozen=True)
class RunOrder:
    """What a worker is told when it is to run freely."""

    run: int
    """What marks the stretches of this run apart from those of an earlier one."""
    ring: str
    shape: RingShape
    max_lag: int
    number: int
    """The number of its next stretch."""
    first_step: int | None
    """What its environments' steps are numbered from; None: go on."""


def publish_body(publication: int, segment: str) -> bytes:
    """The body of a wake-up that says where the newest policy is; an empty body brings no news."""
    return _PUBLICATION.pack(publication) + segment.encode()


class _Prepared:
    """A slot and its rows, made once for all the stretches that will fill it."""

    def __init__(self, slot: Slot) -> None:
        self.arrays = slot.arrays
        self.rows = slot.rows()


class _Held(NamedTuple):
    """The policy a worker acts with."""

    publication: int
    version: int
    policy: Policy


class StretchHandler:
    """Makes stretch after stretch with the newest policy it was told of.

    It waits when all its slots are full, and when nobody waits for data and as many finished
    stretches are unread as the policy may be updates behind.
    """

    def __init__(self, task: Task, board: Board, end: WorkerEnd) -> None:
        self.task = task
        self.envs = build_slice(task, board)
        self._end = end
        self._notes = board.row(task.worker)
        self._notes[Note.ENV] = 0
        self._seeds = np.array(task.seeds, np.uint64)
        self._first_step = 0
        self._published: tuple[int, str] = (0, "")
        self._held: _Held | None = None

    def handle(self, kind: int, body: bytes) -> bytes:
        """Reset, take news of a policy, or run until told to stop."""
        if kind == Kind.RESET:
            info, rows = self.envs.info, len(self.task.envs)
            self._obs = np.empty((rows, *info.obs_shape), np.dtype(info.obs_dtype))
            self.envs.reset(self._obs)
            self._notes[Note.ENV] = 0
        elif kind == Kind.WAKE:
            self._hear(body)
        elif kind == Kind.RUN:
            return self._run(pickle.loads(body))  # noqa: S301 - our collector's
        else:
            raise ValueError(f"request {kind} is not known")
        return b""

    def _run(self, order: RunOrder) -> bytes:
        """Run freely until halted or asked for something else."""
        shape, segment = order.shape, Segment.attach(order.ring)
        control = shape.control(segment)
        slots = [
            _Prepared(shape.slot(segment, self.task.worker, slot)) for slot in range(shape.slots)
        ]
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
                return RunResult(number, made).encoded()
            notice = Notice(number, found.publication, found.version, first_step)
            self._end.send(order.run, Kind.STRETCH, notice.encoded())
            number += 1
        return RunResult(number, 0).encoded()

    def _listen(self, *, block: bool) -> bool:
        """Take in wake-ups; False if something else was asked, which is left to be answered."""
        while block or self._end.waiting():
            self._notes[Note.WAITING] = block
            message = self._end.receive()
            self._notes[Note.WAITING] = 0
            if message.kind != Kind.WAKE:
                self._end.put_back(message)
                return False
            self._hear(message.body)
            block = False
        return True

    def _hear(self, body: bytes) -> None:
        if body:
            (publication,) = _PUBLICATION.unpack_from(body)
            self._published = publication, body[_PUBLICATION.size :].decode()

    def _policy(self) -> _Held | None:
        """The newest policy; None if a newer one replaced it, of which word is on its way."""
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

    def _stretch(self, policy: Policy, slot: _Prepared, control: NDArray[np.int64]) -> int:
        """Fill a slot, unless the run is halted; how many steps were made."""
        arrays, notes, info = slot.arrays, self._notes, self.envs.info
        obs, steps = arrays["obs"], len(slot.rows)
        obs[0] = self._obs
        made = 0
        for step, draws in enumerate(draw_rows(self._seeds, self._first_step, steps)):
            if control[HALT]:
                break
            asked = perf_counter_ns()
            acts = checked_acts(
                policy.act(obs[step], draws), len(draws), info.num_actions, check=self.task.check
            )
            answered = perf_counter_ns()
            arrays["actions"][step] = acts.actions
            arrays["log_probs"][step] = acts.log_probs
            arrays["values"][step] = acts.values
            self.envs.step(arrays["actions"][step], slot.rows[step])
            notes[Note.ENV_NS] += perf_counter_ns() - answered
            notes[Note.POLICY_NS] += answered - asked
            notes[Note.BEAT] += 1
            made = step + 1
        notes[Note.ENV] = 0
        self._obs[:] = obs[made]
        return made
