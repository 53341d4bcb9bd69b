"""The collector over `SyncVectorEnv`: environments of this process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from numpy.typing import NDArray

from wfbench.collecting.guarded import GuardedEnv, close_each
from wfbench.collecting.lockstep import reset_options
from wfbench.contract import Plan

from .collector import GymCollector


class SyncCollector(GymCollector):
    """One environment after the other in this process.

    What hangs cannot be interrupted here; what was slower than its deadline is reported late.
    """

    name = "gym-sync"
    in_process = True

    def _build(self, plan: Plan, makers: list[Callable[[], GuardedEnv]]) -> None:
        del plan
        self._vector = SyncVectorEnv(makers, copy=True, autoreset_mode=AutoresetMode.SAME_STEP)

    def _workflow(self, plan: Plan) -> Any:
        del plan
        return self._vector.envs[0].workflow

    def _reset(self, plan: Plan) -> NDArray[Any]:
        obs: NDArray[Any] = self._vector.reset(options=reset_options(plan))[0]
        return obs

    def _wait(self, plan: Plan, actions: NDArray[np.int64]) -> Any:
        del plan
        return self._vector.step(actions)

    def _end(self, vector: Any, limit: float, *, failed: bool) -> None:
        del limit, failed
        close_each(vector.envs)
