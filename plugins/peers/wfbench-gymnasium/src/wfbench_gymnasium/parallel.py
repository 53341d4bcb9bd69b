"""The collector over `AsyncVectorEnv`: a worker process per environment."""

from __future__ import annotations

import multiprocessing
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np
from gymnasium.vector import AsyncVectorEnv, AutoresetMode
from numpy.typing import NDArray

from wfbench.collecting.foreign_workers import EXIT_REPORT, death, kill
from wfbench.collecting.guarded import EnvFault, GuardedEnv
from wfbench.collecting.lockstep import reset_options
from wfbench.contract import DeadlineError, Plan, UsageError, WfbenchError, WorkerError

from .collector import GymCollector


class AsyncCollector(GymCollector):
    """A worker process per environment, observations in the library's shared memory.

    Waits have the library's own timeouts; building has none, because the library has none there.
    """

    name = "gym-async"
    in_process = False

    def __init__(self, start_method: str = "fork", *, shared_memory: bool = True) -> None:
        super().__init__()
        self._start_method = start_method
        self._shared_memory = shared_memory

    def _build(self, plan: Plan, makers: list[Callable[[], GuardedEnv]]) -> None:
        # The instance first: if it cannot be built, only its workers know why.
        self._vector = AsyncVectorEnv.__new__(AsyncVectorEnv)
        with self._attributed(plan):
            self._vector.__init__(
                makers,
                shared_memory=self._shared_memory,
                context=self._start_method,
                autoreset_mode=AutoresetMode.SAME_STEP,
            )

    def _workflow(self, plan: Plan) -> Any:
        with self._attributed(plan):
            self._vector.call_async("workflow")
            return self._vector.call_wait(plan.deadlines.start)[0]

    def _reset(self, plan: Plan) -> NDArray[Any]:
        with self._attributed(plan):
            self._vector.reset_async(options=reset_options(plan))
            obs: NDArray[Any] = self._vector.reset_wait(plan.deadlines.start)[0]
            return obs

    def _wait(self, plan: Plan, actions: NDArray[np.int64]) -> Any:
        with self._attributed(plan):
            self._vector.step_async(actions)
            return self._vector.step_wait(plan.deadlines.step)

    def _end(self, vector: Any, limit: float, *, failed: bool) -> None:
        if not failed:
            with suppress(Exception):
                vector.close(timeout=limit)
        # The library waits forever for a worker that is stopped.
        kill(getattr(vector, "processes", ()), getattr(vector, "parent_pipes", ()), limit)
        if hasattr(vector, "error_queue"):
            vector.error_queue.close()
            vector.error_queue.cancel_join_thread()
        vector.closed = True

    @contextmanager
    def _attributed(self, plan: Plan) -> Iterator[None]:
        """Turn what the library raises into an error that names the cause, if it is known."""
        try:
            with warnings.catch_warnings():
                # The library warns of the errors that it raises.
                warnings.simplefilter("ignore")
                yield
        except (WfbenchError, EnvFault):
            raise
        except multiprocessing.TimeoutError as late:
            raise self._death(plan, wait=0.0) or DeadlineError(
                f"{late}; an environment hangs, or is slower than the plan's deadlines allow"
            ) from late
        except Exception as error:
            raise self._death(plan) or UsageError(
                f"{self.name}: {type(error).__name__}: {error}"
            ) from error

    def _death(self, plan: Plan, wait: float = EXIT_REPORT) -> WorkerError | None:
        return death(getattr(self._vector, "processes", ()), plan, "gymnasium", wait)
