"""The shared ring that free-running workers fill with finished stretches.

A stretch is a fixed number of consecutive steps of all environments of one worker, made by one
policy. Each worker has its own slots; it fills them in turn, and the collector frees them in turn.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wfbench.collecting.buffer import RolloutBuffer, buffer_shapes
from wfbench.contract import EnvInfo
from wfbench.processes.segments import Segment

from .shared import ArrayLayout

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
