"""Worker processes that step into shared arrays and are woken by a few bytes."""

from __future__ import annotations

import pickle
from typing import Any

from wfbench.contract import EnvInfo, StepArrays
from wfbench.contract.record import PLAIN_FIELDS, StepRecord, array_shapes
from wfbench.processes.limits import usable_cores
from wfbench.processes.segments import Segment

from .barrier import BarrierCollector, Transport
from .options import ShmOptions
from .shared import ArrayLayout


class ShmTransport(Transport):
    """Actions and results lie in one shared segment; each worker owns a run of rows."""

    handler = "wfbench_collectors.answers:ShmHandler"

    def __init__(self) -> None:
        self._segment: Segment | None = None

    def allocate(self, n_envs: int, info: EnvInfo) -> None:
        """Make arrays in a new segment."""
        shapes = array_shapes(StepRecord, (n_envs,), info)
        self._layout = ArrayLayout({"actions": ((n_envs,), "i8"), **shapes})
        self._segment = Segment.create(self._layout.size)
        arrays = self._layout.arrays(self._segment.view())
        self.actions = arrays["actions"]
        self.out = StepArrays.among(arrays)
        moved = [self.actions, *(arrays[name] for name in PLAIN_FIELDS)]
        self._row_bytes = sum(array.nbytes for array in moved) // n_envs
        self._final_bytes = self.out.final_obs.nbytes // n_envs

    def reset_body(self) -> bytes:
        """Return where the arrays are."""
        if self._segment is None:
            raise ValueError("the shared arrays were not allocated")
        return pickle.dumps((self._segment.name, self._layout))

    def shared_bytes(self, rows: int) -> int:
        """Return what was written to and read from the segment."""
        return rows * self._row_bytes + int(self.out.ended.sum()) * self._final_bytes

    def close(self) -> None:
        """Remove the segment."""
        if self._segment is not None:
            del self.actions, self.out
            self._segment.close()
            self._segment = None


class ShmCollector(BarrierCollector):
    """A slice of the environments per core, shared arrays and a few-byte wake-up.

    Takes the options of `ShmOptions`.
    """

    name = "shm"

    def __init__(self, **options: Any) -> None:
        super().__init__(ShmTransport(), ShmOptions(**options), default_workers=usable_cores())
