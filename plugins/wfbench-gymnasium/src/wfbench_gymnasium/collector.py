"""What the collectors over gymnasium's vector environments share."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wfbench.collecting.lockstep import LockstepCollector
from wfbench.contract import Plan, StepArrays


class GymCollector(LockstepCollector):
    """Over a vector environment whose autoreset mode is the one within the same step."""

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
        """The workflow model of the environments."""

    @abstractmethod
    def _wait(self, plan: Plan, actions: NDArray[np.int64]) -> Any:
        """What one step of every environment gives, as gymnasium gives it."""


def _put_info(info: dict[str, Any], rows: NDArray[np.bool_], out: StepArrays) -> None:
    """Keep what a workflow is judged by, of the environments in `rows`."""
    if "compromised_hosts" in info:
        out.compromised[rows] = info["compromised_hosts"][rows]
        out.ended_session[rows] = info["ended_session"][rows]
