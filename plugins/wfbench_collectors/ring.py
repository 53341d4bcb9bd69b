"""The shared ring that free-running workers fill with finished stretches.

A stretch is a fixed number of consecutive steps of all environments of one worker, made by one
policy. Each worker has its own slots; it fills them in turn, and the collector frees them in turn.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wfbench.collecting.buffer import RolloutBuffer
from wfbench.contract import EnvInfo, StepArrays

from .layout import Field, Layout, step_arrays
from .segments import Segment

HALT, DEMAND, CONSUMED = 0, 1, 2
"""Control words: stop running; a `collect` waits; from here, slots freed so far per worker."""

_NOTICE = struct.Struct("<qqqq")
_RESULT = struct.Struct("<qq")


class Notice(NamedTuple):
    """What a worker says of a stretch it has finished."""

    number: int
    """How many stretches this worker had finished before; its slot follows from it."""
    publication: int
    version: int
    first_step: int

    def encoded(self) -> bytes:
        """As a message body."""
        return _NOTICE.pack(*self)

    @classmethod
    def decoded(cls, body: bytes) -> Notice:
        """From a message body."""
        return cls(*_NOTICE.unpack(body))


class RunResult(NamedTuple):
    """What a worker says when it stops running."""

    finished: int
    """How many stretches it had finished since the ring exists."""
    abandoned: int
    """How many steps of the stretch it was making are thrown away."""

    def encoded(self) -> bytes:
        """As a message body."""
        return _RESULT.pack(*self)

    @classmethod
    def decoded(cls, body: bytes) -> RunResult:
        """From a message body."""
        return cls(*_RESULT.unpack(body))


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
        """Bytes of the whole ring."""
        return self._offset(len(self.envs))

    def control(self, segment: Segment) -> NDArray[np.int64]:
        """The control words."""
        words: NDArray[np.int64] = self._control().arrays(segment.view())["control"]
        return words

    def slot(self, segment: Segment, worker: int, number: int) -> Slot:
        """The slot of a worker's stretch."""
        layout = self._stretch(self.envs[worker])
        offset = self._offset(worker) + (number % self.slots) * layout.size
        return Slot(layout.arrays(segment.view(), offset))

    def _offset(self, worker: int) -> int:
        before = sum(self._stretch(envs).size for envs in self.envs[:worker])
        return self._control().size + self.slots * before

    def _control(self) -> Layout:
        return Layout((Field("control", (CONSUMED + len(self.envs),), "i8"),))

    def _stretch(self, envs: int) -> Layout:
        info, cells = self.info, (self.steps, envs)
        return Layout(
            (
                Field("obs", (self.steps + 1, envs, *info.obs_shape), info.obs_dtype),
                Field("final_obs", (*cells, *info.obs_shape), info.obs_dtype),
                Field("actions", cells, "i8"),
                Field("log_probs", cells, "f4"),
                Field("values", cells, "f4"),
                Field("rewards", cells, "f4"),
                Field("terminated", cells, "?"),
                Field("truncated", cells, "?"),
                Field("compromised", cells, "u4"),
                Field("ended_session", cells, "?"),
            )
        )


class Slot:
    """The arrays of one stretch; `obs` has one row more, the observation after the last step."""

    def __init__(self, arrays: dict[str, NDArray[Any]]) -> None:
        self.arrays = arrays

    def rows(self) -> list[StepArrays]:
        """Where each step is to be written."""
        after = self.arrays | {"obs": self.arrays["obs"][1:]}
        return [step_arrays(after, step) for step in range(len(self.arrays["actions"]))]

    def copy(self, source: slice, buffer: RolloutBuffer, target: slice) -> int:
        """Copy columns into a buffer; how many bytes that moved."""
        moved = 0
        ended = (self.arrays["terminated"] | self.arrays["truncated"])[:, source]
        for name, array in self.arrays.items():
            columns, into = array[:, source], getattr(buffer, name)[:, target]
            if name == "final_obs":
                into[ended] = columns[ended]
                moved += int(ended.sum()) * columns[0, 0].nbytes
            else:
                into[...] = columns
                moved += columns.nbytes
        return moved
