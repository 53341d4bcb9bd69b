"""Worker processes that answer with pickled messages."""

from __future__ import annotations

import pickle

import numpy as np
from numpy.typing import NDArray

from wfbench.contract import EnvInfo, StepArrays

from .barrier import BarrierCollector
from .processes import ProcessSettings
from .worker import Task


class PipeTransport:
    """Actions go out as pickled lists, results come back as pickled arrays."""

    handler = "wfbench_collectors.answers:PipeHandler"

    actions: NDArray[np.int64]
    out: StepArrays

    def allocate(self, n_envs: int, info: EnvInfo) -> None:
        """Arrays of this process."""
        shape, dtype = (n_envs, *info.obs_shape), np.dtype(info.obs_dtype)
        self.actions = np.zeros(n_envs, np.int64)
        self.out = StepArrays(
            obs=np.zeros(shape, dtype),
            rewards=np.zeros(n_envs, np.float32),
            terminated=np.zeros(n_envs, np.bool_),
            truncated=np.zeros(n_envs, np.bool_),
            final_obs=np.zeros(shape, dtype),
            compromised=np.zeros(n_envs, np.uint32),
            ended_session=np.zeros(n_envs, np.bool_),
        )

    def reset_body(self) -> bytes:
        """Nothing: seeds went with the task."""
        return b""

    def take_reset(self, task: Task, reply: bytes) -> None:
        """The first observations."""
        self.out.obs[task.rows] = pickle.loads(reply)  # noqa: S301 - from our own worker

    def step_body(self, task: Task) -> bytes:
        """One action per environment."""
        return pickle.dumps(self.actions[task.rows].tolist())

    def take_step(self, task: Task, reply: bytes) -> None:
        """One row per environment."""
        out, rows = self.out, task.rows
        (
            out.obs[rows],
            out.rewards[rows],
            out.terminated[rows],
            out.truncated[rows],
            out.compromised[rows],
            out.ended_session[rows],
            final_obs,
        ) = pickle.loads(reply)  # noqa: S301 - from our own worker
        if final_obs is not None:
            ended = out.terminated[rows] | out.truncated[rows]
            out.final_obs[rows][ended] = final_obs

    def shared_bytes(self, rows: int) -> int:  # noqa: ARG002 - for transports that share
        """Everything is in messages."""
        return 0

    def close(self) -> None:
        """Nothing is held."""


class PipeCollector(BarrierCollector):
    """The documented design: a process per environment, pickled messages."""

    name = "pipe"

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
        super().__init__(PipeTransport(), settings, payload, default_workers=0)
