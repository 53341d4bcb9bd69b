"""How a worker of a step-by-step collector answers."""

from __future__ import annotations

import pickle
from time import perf_counter_ns

import numpy as np
from numpy.typing import NDArray

from wfbench.contract import StepArrays
from wfbench.contract.record import PLAIN_FIELDS
from wfbench.processes.segments import Segment

from .shared import Note
from .worker import Handler


class StepHandler(Handler):
    """Steps its environments when asked; subclasses say where actions and results are."""

    def true_state(self, body: bytes) -> bytes:  # noqa: ARG002 - of all environments
        """Return the environments' nested states."""
        return pickle.dumps(self.envs.true_states())

    def _step_envs(self, actions: NDArray[np.int64], out: StepArrays) -> None:
        started = perf_counter_ns()
        self.envs.step(actions, out)
        self._notes[Note.ENV_NS] += perf_counter_ns() - started


class PipeHandler(StepHandler):
    """Everything crosses as pickled messages."""

    def reset(self, body: bytes) -> bytes:  # noqa: ARG002 - seeds came with the task
        """Return the first observations."""
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


class ShmHandler(StepHandler):
    """Actions and results are in shared arrays; messages only wake the other side."""

    def reset(self, body: bytes) -> bytes:
        """Find the arrays and write the first observations."""
        name, layout = pickle.loads(body)  # noqa: S301 - our collector's
        self._segment = Segment.attach(name)
        arrays = layout.arrays(self._segment.view())
        self._actions: NDArray[np.int64] = arrays["actions"][self.task.rows]
        self._out = StepArrays.among(arrays).rows(self.task.rows)
        self.envs.reset(self._out.obs)
        return b""

    def step(self, body: bytes) -> bytes:  # noqa: ARG002 - the actions are shared
        """Apply the actions."""
        self._step_envs(self._actions, self._out)
        return b""
