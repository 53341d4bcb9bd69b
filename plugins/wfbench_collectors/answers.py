"""How a worker of a step-by-step collector answers."""

from __future__ import annotations

import pickle
from abc import ABC, abstractmethod
from time import perf_counter_ns
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wfbench.contract import StepArrays

from .board import Board, Note
from .layout import Layout, step_arrays
from .segments import Segment
from .slices import build_slice
from .wire import Kind, WorkerEnd
from .worker import Task


class StepHandler(ABC):
    """Steps its environments when asked; where actions come from and results go is open."""

    def __init__(self, task: Task, board: Board, end: WorkerEnd) -> None:  # noqa: ARG002
        self.task = task
        self.envs = build_slice(task, board)
        self._notes = board.row(task.worker)
        self._notes[Note.ENV] = 0

    def handle(self, kind: int, body: bytes) -> bytes:
        """Answer a reset, a step or a question for true states."""
        if kind == Kind.STEP:
            reply = self.step(body)
        elif kind == Kind.TRUE_STATE:
            reply = pickle.dumps(self.envs.true_states())
        elif kind == Kind.RESET:
            reply = self.reset(body)
        else:
            raise ValueError(f"request {kind} is not known")
        self._notes[Note.ENV] = 0
        return reply

    @abstractmethod
    def reset(self, body: bytes) -> bytes:
        """Reset all environments."""

    @abstractmethod
    def step(self, body: bytes) -> bytes:
        """Step all environments."""

    def _step(self, actions: NDArray[np.int64], out: StepArrays) -> None:
        started = perf_counter_ns()
        self.envs.step(actions, out)
        self._notes[Note.ENV_NS] += perf_counter_ns() - started


class PipeHandler(StepHandler):
    """Everything crosses as pickled messages."""

    def reset(self, body: bytes) -> bytes:  # noqa: ARG002 - seeds came with the task
        """Observations of all environments."""
        info, rows = self.envs.info, len(self.task.envs)
        shape, dtype = (rows, *info.obs_shape), np.dtype(info.obs_dtype)
        self._out = StepArrays(
            obs=np.empty(shape, dtype),
            rewards=np.empty(rows, np.float32),
            terminated=np.empty(rows, np.bool_),
            truncated=np.empty(rows, np.bool_),
            final_obs=np.empty(shape, dtype),
            compromised=np.empty(rows, np.uint32),
            ended_session=np.empty(rows, np.bool_),
        )
        self.envs.reset(self._out.obs)
        return pickle.dumps(self._out.obs)

    def step(self, body: bytes) -> bytes:
        """Take a list of actions; observations, rewards, flags and final observations."""
        out = self._out
        self._step(np.array(pickle.loads(body), np.int64), out)  # noqa: S301 - our collector's
        ended = out.terminated | out.truncated
        reply: tuple[Any, ...] = (
            out.obs,
            out.rewards,
            out.terminated,
            out.truncated,
            out.compromised,
            out.ended_session,
            out.final_obs[ended] if ended.any() else None,
        )
        return pickle.dumps(reply)


class ShmHandler(StepHandler):
    """Actions and results are in shared arrays; messages only wake the other side."""

    def reset(self, body: bytes) -> bytes:
        """Attach to the arrays and write the first observations there."""
        name, layout = pickle.loads(body)  # noqa: S301 - our collector's
        self._segment, arrays = attached(name, layout)
        self._actions: NDArray[np.int64] = arrays["actions"][self.task.rows]
        self._out = step_arrays(arrays, self.task.rows)
        self.envs.reset(self._out.obs)
        return b""

    def step(self, body: bytes) -> bytes:  # noqa: ARG002 - the actions are shared
        """Step from the shared actions into the shared results."""
        self._step(self._actions, self._out)
        return b""


def attached(name: str, layout: Layout) -> tuple[Segment, dict[str, NDArray[Any]]]:
    """The arrays of a segment that the collector owns."""
    segment = Segment.attach(name)
    return segment, layout.arrays(segment.view())
