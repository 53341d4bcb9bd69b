"""The collector over `SubprocVecEnv`: a worker process per environment."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable
from contextlib import suppress
from multiprocessing import forkserver
from typing import Any

from stable_baselines3.common.vec_env import SubprocVecEnv

from wfbench.collecting.foreign_workers import call_library, kill
from wfbench.collecting.guarded import GuardedEnv
from wfbench.contract import Plan

from . import preload
from .collector import VecEnvCollector


class SubprocCollector(VecEnvCollector):
    """A worker process per environment, pickled messages over pipes."""

    name = "sb3-subproc"
    in_process = False

    def __init__(self, start_method: str = "forkserver") -> None:
        super().__init__()
        self._start_method = start_method

    def _build(self, plan: Plan, makers: list[Callable[[], GuardedEnv]]) -> None:
        if self._start_method == "forkserver":
            _start_forkserver(plan.env.factory)
        # The instance first: if it cannot be built, only its workers know why.
        self._vector = SubprocVecEnv.__new__(SubprocVecEnv)
        self._call(plan, lambda: self._vector.__init__(makers, start_method=self._start_method))

    def _call(self, plan: Plan, method: Callable[[], Any]) -> Any:
        return call_library(
            method,
            lambda: getattr(self._vector, "processes", ()),
            plan,
            name=self.name,
            library="Stable-Baselines3",
        )

    def _end(self, vector: Any, limit: float, *, failed: bool) -> None:
        if not failed:
            with suppress(Exception):
                vector.close()
        # The library waits forever for a worker that does not answer.
        pipes = (*getattr(vector, "remotes", ()), *getattr(vector, "work_remotes", ()))
        kill(getattr(vector, "processes", ()), pipes, limit)
        vector.closed = True


def _start_forkserver(factory: str) -> None:
    """Start the process that workers are forked from, unless it runs.

    It loads the library and the environment, so that workers need not load them, and torch, again.
    """
    multiprocessing.set_forkserver_preload([preload.__name__])
    os.environ[preload.FACTORY_VARIABLE] = factory
    try:
        forkserver.ensure_running()
    finally:
        del os.environ[preload.FACTORY_VARIABLE]
