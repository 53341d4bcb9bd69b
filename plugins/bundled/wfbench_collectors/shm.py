"""Worker processes that step into shared arrays and are woken by a few bytes."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wfbench.contract import EnvInfo, StepArrays
from wfbench.contract.record import PLAIN_FIELDS, StepRecord, array_shapes
from wfbench.processes.limits import usable_cores
from wfbench.processes.segments import Segment

from .barrier import BarrierCollector, StepHandler, Transport
from .options import ShmOptions
from .shared import ArrayLayout
from .tasks import WorkerTask


class ShmTransport(Transport):
    """Actions and results lie in one shared segment; each worker owns a run of rows."""

    handler = "wfbench_collectors.shm:ShmHandler"

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

    def reset_body(self, task: WorkerTask) -> bytes:
        """Return the seeds, and where the arrays are."""
        return pickle.dumps((task.seeds, self._segment.name, self._layout))

    def shared_bytes(self, steps: int, ended: int) -> int:
        """Return what was written to and read from the segment."""
        return steps * self._row_bytes + ended * self._final_bytes

    def close(self) -> None:
        """Remove the segment."""
        if hasattr(self, "_segment"):
            del self.actions, self.out
            self._segment.close()
            del self._segment


class ShmHandler(StepHandler):
    """Actions and results are in shared arrays; messages only wake the other side."""

    _segment: Segment | None = None

    def reset(self, body: bytes) -> bytes:
        """Find the arrays and write the first observations."""
        seeds, name, layout = pickle.loads(body)  # noqa: S301 - our collector's
        self._detach()
        self._segment = Segment.attach(name)
        arrays = layout.arrays(self._segment.view())
        self._actions: NDArray[np.int64] = arrays["actions"][self.task.rows]
        self._out = StepArrays.among(arrays).rows(self.task.rows)
        self.envs.reseed(seeds)
        self.envs.reset(self._out.obs)
        return b""

    def close(self) -> None:
        """Close the environments and let go of the arrays."""
        super().close()
        self._detach()

    def _detach(self) -> None:
        if self._segment is not None:
            del self._actions, self._out
            self._segment.close()

    def step(self, body: bytes) -> bytes:  # noqa: ARG002 - the actions are shared
        """Apply the actions."""
        self._step_envs(self._actions, self._out)
        return b""


class ShmCollector(BarrierCollector):
    """A slice of the environments per core, shared arrays, a short wake-up; see `ShmOptions`."""

    name = "shm"

    def __init__(self, **options: Any) -> None:
        super().__init__(ShmTransport(), ShmOptions(**options), default_workers=usable_cores())
