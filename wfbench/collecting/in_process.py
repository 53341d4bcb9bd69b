"""A collector for evaluations: all environments in this process, one step of all at a time."""

from __future__ import annotations

from collections.abc import Sequence

from wfbench.contract import EnvInfo, Plan

from .batch import build_slice
from .scalar import EnvSlice
from .synchronous import CollectCall, SynchronousCollector


class InProcessCollector(SynchronousCollector):
    """Steps the batched form if there is one; opening it costs no process."""

    name = "in-process"

    def __init__(self) -> None:
        super().__init__()
        self._envs: EnvSlice | None = None

    def _open(self, plan: Plan) -> EnvInfo:
        batched = plan.env.batched is not None
        indices = range(plan.n_envs)
        self._envs = build_slice(
            plan.env, indices, plan.env_seeds, batched=batched, check=plan.check
        )
        self._obs = self._envs.first_obs()
        self._begin(plan)
        return self._envs.info

    def _replan(self, plan: Plan, old: Plan, info: EnvInfo) -> EnvInfo | None:
        if self._envs is None or not plan.same_envs(old):
            return None
        self._envs.reseed(plan.env_seeds)
        self._obs = self._envs.first_obs()
        self._begin(plan)
        return info

    def _fill(self, call: CollectCall) -> Sequence[str]:
        call.buffer.obs[0] = self._obs
        if self._envs is not None:
            for _ in self._advance(call, self._envs):
                pass
        self._obs = call.buffer.obs[-1].copy()
        return ()

    def _close(self, plan: Plan) -> None:  # noqa: ARG002 - nothing here waits
        if self._envs is not None:
            self._envs.close()
            self._envs = None
