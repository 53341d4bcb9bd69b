"""What the collectors over gymnasium's vector environments share."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wfbench.collecting.lockstep import LockstepCollector
from wfbench.contract import Plan, StepArrays
from wfbench.contract.record import INFO_FIELDS


class GymCollector(LockstepCollector):
    """Over a vector environment that resets an ended environment within the same step."""

    def _describe(self, plan: Plan) -> tuple[Any, Any, Any]:
        vector = self._vector
        return vector.single_observation_space, vector.single_action_space, self._workflow(plan)

    def _step(self, plan: Plan, actions: NDArray[np.int64], out: StepArrays) -> None:
        out.obs[:], out.rewards[:], terminated, truncated, info = self._wait(plan, actions)
        out.terminated[:], out.truncated[:] = terminated, truncated
        ended = terminated | truncated
        _put_info(info, ~ended, out)
        if ended.any():
            _put_info(info["final_info"], ended, out)
            for row in np.flatnonzero(ended):
                out.final_obs[row] = info["final_obs"][row]

    @abstractmethod
    def _workflow(self, plan: Plan) -> Any:
        """Return the workflow model of the environments."""

    @abstractmethod
    def _wait(self, plan: Plan, actions: NDArray[np.int64]) -> Any:
        """Make a step of every environment; return what gymnasium does."""


def _put_info(info: dict[str, Any], rows: NDArray[np.bool_], out: StepArrays) -> None:
    """Write what the environments in `rows` gave in their `info`."""
    for name, key in INFO_FIELDS.items():
        if key in info:
            getattr(out, name)[rows] = info[key][rows]
