"""What the collectors over Stable-Baselines3's vector environments share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import partial
from time import perf_counter
from types import TracebackType
from typing import Any, ClassVar, Self

import gymnasium
import numpy as np

from wfbench.contract import (
    CollectError,
    Counters,
    DeadlineError,
    EnvInfo,
    Plan,
    Policy,
    Rollout,
    UsageError,
)

from .columns import Columns
from .guarded import GuardedEnv


class VecEnvCollector(ABC):
    """Asks the policy about all environments, then lets the vector environment step them.

    Subclasses say how the vector environment is built, called and ended. The library has no
    timeouts: what was later than its deadline is refused when it comes, and what never comes is
    waited for for ever.
    """

    name: ClassVar[str]
    in_process: ClassVar[bool]
    """Whether a step's time is the environments' own; else it is the library's transport too."""

    def __init__(self) -> None:
        self._plan: Plan | None = None
        self._failure: str | None = None
        self._vector: Any = None

    def open(self, plan: Plan) -> EnvInfo:
        """Build and reset every environment."""
        if self._plan is not None:
            raise UsageError(f"{self.name} is already open; close it before it is opened again")
        self._plan = plan
        started = perf_counter()
        try:
            self._build(plan, [partial(GuardedEnv, plan, i) for i in range(plan.n_envs)])
            [workflow] = self._call(plan, lambda: self._vector.get_attr("workflow", [0]))
            info = self._described(workflow)
            self._obs = self._call(plan, self._vector.reset)
            self._steps_done = 0
            _refuse_late(perf_counter() - started, plan.deadlines.start, "opening")
        except BaseException as error:
            self._failure = _line(error)
            self.close()
            raise
        return info

    def collect(self, policy: Policy, steps: int) -> Rollout:
        """Go on for `steps` steps of every environment from where the last call ended."""
        if self._plan is None:
            raise UsageError(f"{self.name} is not open; open it with a plan before it collects")
        if self._failure is not None:
            raise CollectError(f"{self.name} failed before and can only be closed: {self._failure}")
        if steps < 1:
            raise UsageError(f"steps is {steps}; it must be at least 1")
        try:
            return self._collect(self._plan, policy, steps)
        except BaseException as error:
            self._failure = _line(error)
            raise

    def close(self) -> None:
        """Release everything; safe in any state and twice."""
        plan, self._plan = self._plan, None
        failed, self._failure = self._failure is not None, None
        vector, self._vector = self._vector, None
        if plan is not None and vector is not None:
            self._end(vector, plan.deadlines.close, failed=failed)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _collect(self, plan: Plan, policy: Policy, steps: int) -> Rollout:
        started, asking, stepping = perf_counter(), 0.0, 0.0
        columns = Columns(steps, self._obs)
        for step in range(steps):
            asked = perf_counter()
            acts = policy.act(self._obs, plan.draws(self._steps_done + step))
            columns.put_acts(step, self._obs, acts)
            answered = perf_counter()
            self._step(plan, columns, step)
            stepped = perf_counter()
            asking += answered - asked
            stepping += stepped - answered
            _refuse_late(stepped - answered, plan.deadlines.step, "a step of all envs")
        first_step, self._steps_done = self._steps_done, self._steps_done + steps
        wall = perf_counter() - started
        counters = Counters(
            wall=wall,
            env=stepping if self.in_process else 0.0,
            transport=0.0 if self.in_process else stepping,
            inference=asking,
            idle=max(0.0, wall - stepping - asking),
            messages=0 if self.in_process else 2 * steps * plan.n_envs,
        )
        return columns.rollout(self._obs.copy(), first_step, policy.version, counters)

    def _step(self, plan: Plan, columns: Columns, step: int) -> None:
        actions = columns.actions[step]
        self._obs, rewards, _, infos = self._call(plan, lambda: self._vector.step(actions))
        columns.rewards[step] = rewards
        for row, info in enumerate(infos):
            columns.put_info(step, row, info)

    def _described(self, workflow: Any) -> EnvInfo:
        space, actions = self._vector.observation_space, self._vector.action_space
        for wanted, found in (
            (gymnasium.spaces.Box, space),
            (gymnasium.spaces.Discrete, actions),
        ):
            if not isinstance(found, wanted):
                raise CollectError(
                    f"{self.name} needs a {wanted.__name__} space where the environment has {found}"
                )
        return EnvInfo(
            obs_shape=tuple(int(length) for length in space.shape),
            obs_dtype=np.dtype(space.dtype).str,
            num_actions=int(actions.n),
            workflow=workflow,
        )

    @abstractmethod
    def _build(self, plan: Plan, env_fns: list[Any]) -> None:
        """Make `_vector`, the vector environment of these environments."""

    @abstractmethod
    def _call(self, plan: Plan, method: Any) -> Any:
        """What the library answers, or an error that says what it knows."""

    @abstractmethod
    def _end(self, vector: Any, limit: float, *, failed: bool) -> None:
        """End the vector environment within `limit` seconds."""


def _line(error: BaseException) -> str:
    return str(error).partition("\n")[0] or type(error).__name__


def _refuse_late(took: float, limit: float, what: str) -> None:
    if took > limit:
        raise DeadlineError(f"{what} took {took:.1f} s; its deadline is {limit:g} s")
