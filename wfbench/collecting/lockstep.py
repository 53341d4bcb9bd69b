"""Collectors that step a library's vector environment, all environments one step at a time."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from time import perf_counter
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from wfbench.contract import CollectError, EnvInfo, Plan, StepArrays

from .checks import info_of_spaces
from .deadlines import refuse_late
from .guarded import SEEDS_OPTION, EnvFault, GuardedEnv
from .synchronous import CollectCall, SynchronousCollector

A_STEP = "a step of all environments"


class LockstepCollector(SynchronousCollector):
    """Asks the policy about all environments, then lets a vector environment step them.

    Subclasses build, describe, reset, step and end the vector environment. It must reset an ended
    environment in the same step, so that every row is a transition. A step that ends after its
    deadline is an error, also of a library without timeouts.
    """

    in_process: ClassVar[bool]
    """Whether a step's time is the environments' own, or that of a library's transport, too."""
    guard: ClassVar[type[GuardedEnv]] = GuardedEnv
    """What each environment is wrapped in before the library gets it."""

    def __init__(self) -> None:
        super().__init__()
        self._vector: Any = None
        self._sound = False

    def _open(self, plan: Plan) -> EnvInfo:
        started = perf_counter()
        self._sound = False
        make = partial(self.guard, plan, in_process=self.in_process)
        with _named_faults():
            self._build(plan, [partial(make, index) for index in range(plan.n_envs)])
            spaces = self._describe(plan)
            try:
                info = info_of_spaces(*spaces)
            except TypeError as error:
                raise CollectError(f"{self.name}: {error}") from error
        self._start(plan, started, "opening")
        return info

    def _replan(self, plan: Plan, old: Plan, info: EnvInfo) -> EnvInfo | None:
        if not plan.same_envs(old):
            return None
        self._start(plan, perf_counter(), "resetting")
        return info

    def _start(self, plan: Plan, since: float, what: str) -> None:
        self._sound = False
        with _named_faults():
            self._obs = self._reset(plan)
        refuse_late(perf_counter() - since, plan.deadlines.start, what)
        self._begin(plan)
        self._sound = True

    def _close(self, plan: Plan) -> None:
        vector, self._vector = self._vector, None
        if vector is not None:
            self._end(vector, plan.deadlines.close, failed=not self._sound)

    def _fill(self, call: CollectCall) -> Sequence[str]:
        self._sound = False
        plan, buffer, phases = call.plan, call.buffer, call.phases
        buffer.obs[0] = self._obs
        with _named_faults():
            self._make_steps(call)
        if not self.in_process:
            phases.transport, phases.env = phases.env, 0.0
            phases.messages = 2 * buffer.steps * plan.n_envs
        self._obs = buffer.obs[-1].copy()
        self._sound = True
        return ()

    def _make_steps(self, call: CollectCall) -> None:
        """Make all steps of a call; a library that does so by itself replaces this."""
        for actions, out in self._play(call, what=A_STEP):
            self._step(call.plan, actions, out)

    @abstractmethod
    def _build(self, plan: Plan, makers: list[Callable[[], GuardedEnv]]) -> None:
        """Set `_vector` to a vector environment of the environments that these make."""

    @abstractmethod
    def _describe(self, plan: Plan) -> tuple[Any, Any, Any]:
        """Return observation space, action space and workflow model of one environment."""

    @abstractmethod
    def _reset(self, plan: Plan) -> NDArray[Any]:
        """Start every environment from its seed; return the first observations.

        Give the library's reset the options of `reset_options`: without them only the first reset
        takes the seeds of the plan, and the collector must not declare the capability "reset".
        """

    @abstractmethod
    def _step(self, plan: Plan, actions: NDArray[np.int64], out: StepArrays) -> None:
        """Step every environment into `out`."""

    @abstractmethod
    def _end(self, vector: Any, limit: float, *, failed: bool) -> None:
        """End the vector environment within `limit` seconds."""


def reset_options(plan: Plan) -> dict[str, Any]:
    """Return the options that start each `GuardedEnv` of a vector environment from its seed."""
    return {SEEDS_OPTION: plan.env_seeds}


@contextmanager
def _named_faults() -> Iterator[None]:
    try:
        yield
    except EnvFault as fault:
        raise fault.error from fault
