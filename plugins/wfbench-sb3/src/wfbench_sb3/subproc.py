"""The collector over `SubprocVecEnv`: a worker process per environment."""

from __future__ import annotations

import multiprocessing
import os
from contextlib import suppress
from multiprocessing import forkserver
from time import monotonic
from typing import Any

from stable_baselines3.common.vec_env import SubprocVecEnv

from wfbench.contract import Plan, UsageError, WfbenchError, WorkerError

from . import preload
from .collector import VecEnvCollector

_EXIT_REPORT = 1.0
"""Seconds a worker whose pipe has ended has for being seen to end."""


class SubprocCollector(VecEnvCollector):
    """A worker process per environment, pickled messages over pipes."""

    name = "sb3-subproc"
    in_process = False

    def __init__(self, start_method: str = "forkserver") -> None:
        super().__init__()
        self._start_method = start_method

    def _build(self, plan: Plan, env_fns: list[Any]) -> None:
        if self._start_method == "forkserver":
            _start_forkserver(plan.env.factory)
        # The instance first, because of one that fails to be built only its workers tell why.
        self._vector = SubprocVecEnv.__new__(SubprocVecEnv)
        self._call(plan, lambda: self._vector.__init__(env_fns, start_method=self._start_method))

    def _call(self, plan: Plan, method: Any) -> Any:
        try:
            return method()
        except WfbenchError:
            raise
        except Exception as error:
            raise self._death(plan) or UsageError(
                f"{self.name}: {type(error).__name__}: {error}"
            ) from error

    def _death(self, plan: Plan) -> WorkerError | None:
        """How a worker died, if one did."""
        until = monotonic() + _EXIT_REPORT
        processes = getattr(self._vector, "processes", [])
        while True:
            for index, process in enumerate(processes):
                code = process.exitcode
                if code is not None:
                    return _died(plan, index, code)
            if monotonic() > until or not processes:
                return None
            processes[0].join(0.02)

    def _end(self, vector: Any, limit: float, *, failed: bool) -> None:
        if not failed:
            with suppress(Exception):
                vector.close()
        _kill(vector, limit)


def _start_forkserver(factory: str) -> None:
    """Start the process that workers are forked from, unless it runs.

    It loads the library and the environment; else every worker would, and torch with it.
    """
    multiprocessing.set_forkserver_preload([preload.__name__])
    os.environ[preload.FACTORY_VARIABLE] = factory
    try:
        forkserver.ensure_running()
    finally:
        del os.environ[preload.FACTORY_VARIABLE]


def _died(plan: Plan, index: int, code: int) -> WorkerError:
    death = WorkerError("", worker=index, exitcode=code)
    how = f"killed by {death.signal}" if death.signal else f"exited with status {code}"
    return WorkerError(
        f"{how}; if it raised something, Stable-Baselines3 left it on standard error",
        worker=index,
        env=index,
        seed=plan.env_seeds[index],
        exitcode=code,
    )


def _kill(vector: Any, limit: float) -> None:
    """End whatever is left; the library waits for ever for a worker that does not answer."""
    until = monotonic() + limit
    processes = getattr(vector, "processes", [])
    for process in processes:
        if process.is_alive():
            process.kill()
    for process in processes:
        process.join(max(0.0, until - monotonic()))
    for remote in (*getattr(vector, "remotes", ()), *getattr(vector, "work_remotes", ())):
        if not remote.closed:
            remote.close()
    vector.closed = True
