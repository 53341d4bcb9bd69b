"""The collectors over `DummyVectorEnv`, `SubprocVectorEnv` and `ShmemVectorEnv`."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from contextlib import suppress
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from tianshou.env import BaseVectorEnv, DummyVectorEnv, ShmemVectorEnv, SubprocVectorEnv

from wfbench.collecting.foreign_workers import call_library, kill
from wfbench.collecting.guarded import GuardedEnv, close_each
from wfbench.collecting.lockstep import LockstepCollector
from wfbench.contract import Plan, StepArrays
from wfbench.contract.record import INFO_FIELDS


class VectorCollector(LockstepCollector):
    """Over a vector environment without timeouts, which leaves ended environments to its user."""

    def _reset(self, plan: Plan) -> NDArray[Any]:
        obs: NDArray[Any] = self._call(plan, self._vector.reset)[0]
        return obs

    def _step(self, plan: Plan, actions: NDArray[np.int64], out: StepArrays) -> None:
        found = self._call(plan, lambda: self._vector.step(actions))
        out.obs[:], out.rewards[:], out.terminated[:], out.truncated[:], infos = found
        for row, info in enumerate(infos):
            for name, key in INFO_FIELDS.items():
                getattr(out, name)[row] = info[key]
        ended = np.flatnonzero(out.terminated | out.truncated)
        if len(ended):
            out.final_obs[ended] = out.obs[ended]
            out.obs[ended] = self._call(plan, lambda: self._vector.reset(ended))[0]

    def _call(self, plan: Plan, method: Callable[[], Any]) -> Any:  # noqa: ARG002 (for workers)
        """Call a method of the library; subclasses turn its errors into ours."""
        return method()


class DummyCollector(VectorCollector):
    """One environment after the other in this process."""

    name = "tianshou-dummy"
    in_process = True

    def _build(self, plan: Plan, makers: list[Callable[[], GuardedEnv]]) -> None:
        del plan
        self._vector = DummyVectorEnv(makers)

    def _describe(self, plan: Plan) -> tuple[Any, Any, Any]:
        del plan
        env = self._vector.workers[0].env
        return env.observation_space, env.action_space, env.workflow

    def _end(self, vector: Any, limit: float, *, failed: bool) -> None:
        del limit, failed
        close_each(worker.env for worker in vector.workers)


class WorkerCollector(VectorCollector):
    """A worker process per environment."""

    in_process = False
    library: ClassVar[type[BaseVectorEnv]]

    def _build(self, plan: Plan, makers: list[Callable[[], GuardedEnv]]) -> None:
        # The instance first: if it cannot be built, only its workers know why.
        self._vector = self.library.__new__(self.library)
        self._call(plan, lambda: self._vector.__init__(makers, **self._settings()))

    def _settings(self) -> dict[str, Any]:
        """Return what the library is told beside the environments."""
        return {}

    def _describe(self, plan: Plan) -> tuple[Any, Any, Any]:
        def first(name: str) -> Any:
            return self._call(plan, lambda: self._vector.get_env_attr(name, 0)[0])

        return first("observation_space"), first("action_space"), first("workflow")

    def _call(self, plan: Plan, method: Callable[[], Any]) -> Any:
        def processes() -> list[Any]:
            return [worker.process for worker in vars(self._vector).get("workers", [])]

        return call_library(method, processes, plan, name=self.name, library="tianshou")

    def _end(self, vector: Any, limit: float, *, failed: bool) -> None:
        if not failed:
            with suppress(Exception):
                vector.close()
        # The library waits forever for a worker that does not answer.
        workers = vars(vector).get("workers", [])
        pipes = [worker.parent_remote for worker in workers]
        kill([worker.process for worker in workers], pipes, limit)
        vector.is_closed = True


class SubprocCollector(WorkerCollector):
    """Moves pickled messages over pipes."""

    name = "tianshou-subproc"
    library = SubprocVectorEnv

    def __init__(self, start_method: str = "fork") -> None:
        super().__init__()
        self._start_method = start_method

    def _settings(self) -> dict[str, Any]:
        return {"context": multiprocessing.get_context(self._start_method)}


class ShmemCollector(WorkerCollector):
    """Moves observations through the library's shared memory, the rest over pipes."""

    name = "tianshou-shmem"
    library = ShmemVectorEnv
