"""The collector over `DummyVecEnv`: environments of this process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stable_baselines3.common.vec_env import DummyVecEnv

from wfbench.collecting.guarded import GuardedEnv, close_each
from wfbench.contract import Plan

from .collector import VecEnvCollector


class DummyCollector(VecEnvCollector):
    """One environment after the other in this process."""

    name = "sb3-dummy"
    in_process = True

    def _build(self, plan: Plan, makers: list[Callable[[], GuardedEnv]]) -> None:
        del plan
        self._vector = DummyVecEnv(list(makers))

    def _end(self, vector: Any, limit: float, *, failed: bool) -> None:
        del limit, failed
        close_each(vector.envs)
