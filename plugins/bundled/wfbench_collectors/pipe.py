"""Worker processes that answer with pickled messages."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np

from wfbench.contract import EnvInfo, StepArrays
from wfbench.contract.record import PLAIN_FIELDS

from .barrier import BarrierCollector, StepHandler, Transport
from .options import PipeOptions
from .tasks import WorkerTask


class PipeTransport(Transport):
    """Actions go out as pickled lists, results come back as pickled arrays."""

    handler = "wfbench_collectors.pipe:PipeHandler"

    def allocate(self, n_envs: int, info: EnvInfo) -> None:
        """Make arrays of this process."""
        self.actions = np.zeros(n_envs, np.int64)
        self.out = StepArrays.allocate(n_envs, info)

    def take_reset(self, task: WorkerTask, reply: bytes) -> None:
        """Take the first observations."""
        self.out.obs[task.rows] = pickle.loads(reply)  # noqa: S301 - from our own worker

    def step_body(self, task: WorkerTask) -> bytes:
        """Return one action per environment."""
        return pickle.dumps(self.actions[task.rows].tolist())

    def take_step(self, task: WorkerTask, reply: bytes) -> None:
        """Take one row per environment."""
        out = self.out.rows(task.rows)
        *values, final_obs = pickle.loads(reply)  # noqa: S301 - from our own worker
        for name, value in zip(PLAIN_FIELDS, values, strict=True):
            getattr(out, name)[...] = value
        if final_obs is not None:
            out.final_obs[out.ended] = final_obs


class PipeHandler(StepHandler):
    """Everything crosses as pickled messages."""

    def reset(self, body: bytes) -> bytes:
        """Return the first observations."""
        self.envs.reseed(pickle.loads(body))  # noqa: S301 - our collector's
        self._out = StepArrays.allocate(len(self.envs), self.envs.info)
        self.envs.reset(self._out.obs)
        return pickle.dumps(self._out.obs)

    def step(self, body: bytes) -> bytes:
        """Apply the actions and return what comes of them."""
        out = self._out
        self._step_envs(np.array(pickle.loads(body), np.int64), out)  # noqa: S301 - our collector's
        ended = out.ended
        final_obs = out.final_obs[ended] if ended.any() else None
        return pickle.dumps((*(getattr(out, name) for name in PLAIN_FIELDS), final_obs))


class PipeCollector(BarrierCollector):
    """The documented design: a process per environment, pickled messages; see `PipeOptions`."""

    name = "pipe"

    def __init__(self, **options: Any) -> None:
        super().__init__(PipeTransport(), PipeOptions(**options), default_workers=0)
