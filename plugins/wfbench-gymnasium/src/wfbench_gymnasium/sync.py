"""The collector over `SyncVectorEnv`: environments of this process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from time import perf_counter
from typing import Any

from gymnasium.vector import AutoresetMode, SyncVectorEnv

from wfbench.contract import DeadlineError, Plan

from .collector import VectorCollector
from .guarded import EnvFault, GuardedEnv


class SyncCollector(VectorCollector):
    """One environment after the other in this process.

    What hangs cannot be interrupted here; what was slower than its deadline is reported late.
    """

    name = "gym-sync"
    in_process = True

    def _build(self, plan: Plan) -> None:
        with _timed(plan.deadlines.start, "building the environments"):
            self._vector = SyncVectorEnv(
                [partial(GuardedEnv, plan, index) for index in range(plan.n_envs)],
                copy=True,
                autoreset_mode=AutoresetMode.SAME_STEP,
            )

    def _workflow(self) -> Any:
        return self._vector.envs[0].workflow

    def _reset(self, plan: Plan) -> Any:
        with _timed(plan.deadlines.start, "resetting the environments"):
            return self._vector.reset(seed=list(plan.env_seeds))[0]

    def _wait(self, plan: Plan, actions: Any) -> Any:
        with _timed(plan.deadlines.step, "a step of all environments"):
            return self._vector.step(actions)

    def _end(self, vector: Any, limit: float, *, failed: bool) -> None:
        del limit, failed
        for env in vector.envs:
            # One that cannot close must not keep the others from it.
            with suppress(Exception):
                env.close()


@contextmanager
def _timed(limit: float, what: str) -> Iterator[None]:
    """Name the environment that fails, and refuse what took longer than `limit` seconds."""
    started = perf_counter()
    try:
        yield
    except EnvFault as fault:
        raise fault.worker_error(0) from fault
    took = perf_counter() - started
    if took > limit:
        raise DeadlineError(f"{what} took {took:.1f} s; its deadline is {limit:g} s")
