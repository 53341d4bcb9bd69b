"""The collector over `DummyVecEnv`: environments of this process."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from stable_baselines3.common.vec_env import DummyVecEnv

from wfbench.contract import Plan

from .collector import VecEnvCollector


class DummyCollector(VecEnvCollector):
    """One environment after the other in this process."""

    name = "sb3-dummy"
    in_process = True

    def _build(self, plan: Plan, env_fns: list[Any]) -> None:
        del plan
        self._vector = DummyVecEnv(env_fns)

    def _call(self, plan: Plan, method: Any) -> Any:
        del plan
        return method()

    def _end(self, vector: Any, limit: float, *, failed: bool) -> None:
        del limit, failed
        for env in vector.envs:
            # One that cannot close must not keep the others from it.
            with suppress(Exception):
                env.close()
