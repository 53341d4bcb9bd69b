"""Worker processes that step into shared arrays and are woken by a few bytes."""

from __future__ import annotations

import pickle

import numpy as np
from numpy.typing import NDArray

from wfbench.contract import EnvInfo, StepArrays

from .barrier import BarrierCollector
from .layout import Field, Layout, step_arrays, step_fields
from .processes import ProcessSettings, cores
from .segments import Segment
from .worker import Task


class ShmTransport:
    """Actions and results lie in one shared segment; each worker owns a run of rows."""

    handler = "wfbench_collectors.answers:ShmHandler"

    actions: NDArray[np.int64]
    out: StepArrays

    def __init__(self) -> None:
        self._segment: Segment | None = None

    def allocate(self, n_envs: int, info: EnvInfo) -> None:
        """Arrays in a new segment."""
        fields = (Field("actions", (n_envs,), "i8"), *step_fields(info, (n_envs,)))
        self._layout = Layout(fields)
        segment = Segment.create(self._layout.size)
        arrays = self._layout.arrays(segment.view())
        self._segment = segment
        self.actions = arrays["actions"]
        self.out = step_arrays(arrays)
        obs_bytes = self.out.obs.nbytes // n_envs
        self._row_bytes = obs_bytes + sum(
            array.itemsize for name, array in arrays.items() if name not in {"obs", "final_obs"}
        )
        self._final_bytes = obs_bytes

    def reset_body(self) -> bytes:
        """Where the arrays are."""
        if self._segment is None:
            raise ValueError("the shared arrays were not allocated")
        return pickle.dumps((self._segment.name, self._layout))

    def take_reset(self, task: Task, reply: bytes) -> None:
        """The worker wrote the observations in place."""

    def step_body(self, task: Task) -> bytes:  # noqa: ARG002 - the same for all
        """Nothing: being woken is the message."""
        return b""

    def take_step(self, task: Task, reply: bytes) -> None:
        """The worker wrote everything in place."""

    def shared_bytes(self, rows: int) -> int:
        """What was written to and read from the segment."""
        ended = int(np.count_nonzero(self.out.terminated | self.out.truncated))
        return rows * self._row_bytes + ended * self._final_bytes

    def close(self) -> None:
        """Remove the segment."""
        if self._segment is not None:
            del self.actions, self.out
            self._segment.close()
            self._segment = None


class ShmCollector(BarrierCollector):
    """A slice of the environments per core, shared arrays and a few-byte wake-up."""

    name = "shm"

    def __init__(
        self,
        *,
        workers: int = 0,
        payload: str = "mask",
        start_method: str = "forkserver",
        batched: bool = True,
        on_worker_death: str = "fail",
        restarts: int = 3,
    ) -> None:
        settings = ProcessSettings(workers, start_method, batched, on_worker_death, restarts)
        super().__init__(ShmTransport(), settings, payload, default_workers=cores())
