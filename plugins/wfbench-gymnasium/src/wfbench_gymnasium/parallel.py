"""The collector over `AsyncVectorEnv`: a worker process per environment."""

from __future__ import annotations

import multiprocessing
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from time import monotonic
from typing import Any

from gymnasium.vector import AsyncVectorEnv, AutoresetMode

from wfbench.contract import DeadlineError, Plan, UsageError, WfbenchError, WorkerError

from .collector import VectorCollector
from .guarded import EnvFault, GuardedEnv

_EXIT_REPORT = 1.0
"""Seconds a worker whose pipe has ended has for being seen to end."""


class AsyncCollector(VectorCollector):
    """A worker process per environment, observations in the library's shared memory.

    Waits have the library's own timeouts; building has none, because the library has none there.
    """

    name = "gym-async"
    in_process = False

    def __init__(self, start_method: str = "fork", *, shared_memory: bool = True) -> None:
        super().__init__()
        self._start_method = start_method
        self._shared_memory = shared_memory

    def _build(self, plan: Plan) -> None:
        # The instance first, because of one that fails to be built only its workers tell why.
        self._vector = AsyncVectorEnv.__new__(AsyncVectorEnv)
        with self._named(plan):
            self._vector.__init__(
                [partial(GuardedEnv, plan, index) for index in range(plan.n_envs)],
                shared_memory=self._shared_memory,
                context=self._start_method,
                autoreset_mode=AutoresetMode.SAME_STEP,
            )

    def _workflow(self) -> Any:
        plan = self._plan
        assert plan is not None  # noqa: S101 (asked while it is opened)
        with self._named(plan):
            self._vector.call_async("workflow")
            return self._vector.call_wait(plan.deadlines.start)[0]

    def _reset(self, plan: Plan) -> Any:
        with self._named(plan):
            self._vector.reset_async(seed=list(plan.env_seeds))
            return self._vector.reset_wait(plan.deadlines.start)[0]

    def _wait(self, plan: Plan, actions: Any) -> Any:
        with self._named(plan):
            self._vector.step_async(actions)
            return self._vector.step_wait(plan.deadlines.step)

    def _end(self, vector: Any, limit: float, *, failed: bool) -> None:
        if not failed:
            with suppress(Exception):
                vector.close(timeout=limit)
        _kill(vector, limit)

    @contextmanager
    def _named(self, plan: Plan) -> Iterator[None]:
        """Turn what the library raises into an error that says what it knows."""
        try:
            with warnings.catch_warnings():
                # The library warns of the errors that it raises.
                warnings.simplefilter("ignore")
                yield
        except WfbenchError:
            raise
        except EnvFault as fault:
            raise fault.worker_error() from fault
        except multiprocessing.TimeoutError as late:
            raise self._death(plan, wait=0.0) or DeadlineError(
                f"{late}; an environment hangs, or is slower than the plan's deadlines allow"
            ) from late
        except Exception as error:
            raise self._death(plan) or UsageError(
                f"{self.name}: {type(error).__name__}: {error}"
            ) from error

    def _death(self, plan: Plan, wait: float = _EXIT_REPORT) -> WorkerError | None:
        """How a worker died, if one is seen to have within `wait` seconds."""
        until = monotonic() + wait
        processes = getattr(self._vector, "processes", [])
        while True:
            for index, process in enumerate(processes):
                code = process.exitcode
                if code is not None:
                    return _died(plan, index, code)
            if monotonic() > until or not processes:
                return None
            processes[0].join(0.02)


def _died(plan: Plan, index: int, code: int) -> WorkerError:
    death = WorkerError("", worker=index, exitcode=code)
    how = f"killed by {death.signal}" if death.signal else f"exited with status {code}"
    return WorkerError(
        f"{how}; if it raised something, gymnasium left it on standard error",
        worker=index,
        env=index,
        seed=plan.env_seeds[index],
        exitcode=code,
    )


def _kill(vector: Any, limit: float) -> None:
    """End whatever is left; the library waits for ever for a worker that is stopped."""
    until = monotonic() + limit
    processes = getattr(vector, "processes", [])
    for process in processes:
        if process.is_alive():
            process.kill()
    for process in processes:
        process.join(max(0.0, until - monotonic()))
    for pipe in getattr(vector, "parent_pipes", []):
        if pipe is not None and not pipe.closed:
            pipe.close()
    if hasattr(vector, "error_queue"):
        vector.error_queue.close()
        vector.error_queue.cancel_join_thread()
    vector.closed = True
