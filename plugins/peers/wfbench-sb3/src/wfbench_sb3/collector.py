"""What the collectors over Stable-Baselines3's vector environments share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wfbench.collecting.lockstep import LockstepCollector, reset_options
from wfbench.contract import Plan, StepArrays
from wfbench.contract.record import INFO_FIELDS

from .guarded import VecEnvMember


class VecEnvCollector(LockstepCollector):
    """Over a vector environment without timeouts: what never comes is waited for forever."""

    guard = VecEnvMember

    def _describe(self, plan: Plan) -> tuple[Any, Any, Any]:
        vector = self._vector
        [workflow] = self._call(plan, lambda: vector.get_attr("workflow", [0]))
        return vector.observation_space, vector.action_space, workflow

    def _reset(self, plan: Plan) -> NDArray[Any]:
        self._vector.set_options(reset_options(plan))
        obs: NDArray[Any] = self._call(plan, self._vector.reset)
        return obs

    def _step(self, plan: Plan, actions: NDArray[np.int64], out: StepArrays) -> None:
        out.obs[:], out.rewards[:], _, infos = self._call(plan, lambda: self._vector.step(actions))
        for row, info in enumerate(infos):
            for name, key in INFO_FIELDS.items():
                getattr(out, name)[row] = info[key]
            out.terminated[row] = info["terminated"]
            out.truncated[row] = info["truncated"]
            if "terminal_observation" in info:
                out.final_obs[row] = info["terminal_observation"]

    def _call(self, plan: Plan, method: Callable[[], Any]) -> Any:  # noqa: ARG002 (for workers)
        """Call a method of the library; subclasses turn its errors into ours."""
        return method()
