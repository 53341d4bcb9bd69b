"""The collector over `ParallelEnv`: a worker process per environment."""

from __future__ import annotations

import gc
import os
import re
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from multiprocessing.process import BaseProcess
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from tensordict import TensorDictBase
from torchrl.envs import ParallelEnv

from wfbench.collecting.foreign_workers import call_library, death, death_of, kill
from wfbench.collecting.guarded import GuardedEnv
from wfbench.collecting.lockstep import LockstepCollector, reset_options
from wfbench.contract import DeadlineError, Plan, StepArrays
from wfbench.contract.record import INFO_FIELDS

from .envs import make_env
from .loading import undisturbed

_LIBRARY = "TorchRL"


class ParallelCollector(LockstepCollector):
    """A worker process per environment, tensors in the library's shared memory."""

    name = "torchrl-parallel"
    in_process = False

    def __init__(self, start_method: str = "fork") -> None:
        super().__init__()
        self._start_method = start_method

    def _build(self, plan: Plan, makers: list[Callable[[], GuardedEnv]]) -> None:
        with undisturbed():
            # One function with arguments: of several ones the library would call each in this
            # process, too, to learn the spaces.
            self._vector = vector = ParallelEnv(
                len(makers),
                partial(make_env, plan, os.getpid()),
                create_env_kwargs=[{"index": index} for index in range(len(makers))],
                mp_start_method=self._start_method,
                num_threads=torch.get_num_threads(),
                shutdown_timeout=plan.deadlines.close / 2,
            )
            self._call(plan, vector.start)

    def _describe(self, plan: Plan) -> tuple[Any, Any, Any]:
        def first(name: str) -> Any:
            return self._call(plan, lambda: next(iter(getattr(self._vector[0], name))))

        return first("observation_space"), first("action_space"), first("workflow")

    def _reset(self, plan: Plan) -> NDArray[Any]:
        self._vector.BATCHED_PIPE_TIMEOUT = plan.deadlines.start
        self._call(plan, lambda: self._restart(reset_options(plan)))
        self._vector.BATCHED_PIPE_TIMEOUT = plan.deadlines.step
        return array(self._now, "observation")

    def _restart(self, options: dict[str, Any]) -> None:
        self._now = self._vector.reset(options=options)

    def _step(self, plan: Plan, actions: NDArray[np.int64], out: StepArrays) -> None:
        self._now.set("action", torch.from_numpy(actions))
        made, self._now = self._call(plan, lambda: self._vector.step_and_maybe_reset(self._now))
        put_step(made["next"], out)
        out.obs[:] = array(self._now, "observation")

    def _call(self, plan: Plan, method: Callable[[], Any]) -> Any:
        """Call a method of the library; turn its errors into ours."""

        def named() -> Any:
            try:
                return method()
            except RuntimeError as error:
                if "time limit" in str(error):
                    raise DeadlineError(f"{self.name}: {error}") from error
                # The library has ended the other workers by now: only its words tell which died.
                dead = re.search(r"worker (\d+)", str(error))
                if dead is None:
                    raise
                code = workers[int(dead[1])].exitcode
                raise death_of(int(dead[1]), code, plan, _LIBRARY) from error

        workers = vars(self._vector).get("_workers", [])
        # What has died since the last call: the library would close what tells how.
        found = death(workers, plan, _LIBRARY, wait=0.0)
        if found:
            raise found
        return call_library(named, lambda: workers, plan, name=self.name, library=_LIBRARY)

    def _close(self, plan: Plan) -> None:
        super()._close(plan)
        for name in ("_now", "_collector"):
            vars(self).pop(name, None)
        # The library's objects refer to each other, and each shared tensor is a descriptor.
        gc.collect()

    def _end(self, vector: Any, limit: float, *, failed: bool) -> None:
        threads = torch.get_num_threads()
        workers = list(vars(vector).get("_workers", []))
        channels = list(vars(vector).get("parent_channels", []))
        if not failed:
            with suppress(Exception):
                vector.close()
        # After a failure the library ends the workers by itself.
        kill([worker for worker in workers if _is_open(worker)], channels, limit)
        vector.is_closed = True
        # The library takes more of them when it closes.
        torch.set_num_threads(threads)


def _is_open(process: BaseProcess) -> bool:
    with suppress(ValueError):
        process.is_alive()
        return True
    return False


def array(tensors: TensorDictBase, name: str) -> NDArray[Any]:
    """Return a tensor of the library as an array."""
    found: NDArray[Any] = tensors.get(name).numpy()
    return found


def put_step(after: TensorDictBase, out: StepArrays) -> None:
    """Write what a step left, but for the observations to act on next."""
    out.rewards[:] = array(after, "reward")[..., 0]
    out.terminated[:] = array(after, "terminated")[..., 0]
    out.truncated[:] = array(after, "truncated")[..., 0]
    for name, key in INFO_FIELDS.items():
        getattr(out, name)[:] = array(after, key)
    ended = out.ended
    if ended.any():
        out.final_obs[ended] = array(after, "observation")[ended]
