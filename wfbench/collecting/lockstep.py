"""Collectors that step a library's vector environment, all environments one step at a time."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from time import perf_counter
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from wfbench.contract import CollectError, EnvInfo, Plan, Policy, Rollout, StepArrays

from .buffer import RolloutBuffer, checked_acts
from .checks import info_of_spaces
from .deadlines import refuse_late
from .draws import draw_rows
from .guarded import EnvFault, GuardedEnv
from .lifecycle import Lifecycle
from .phases import Phases


class LockstepCollector(Lifecycle):
    """Asks the policy about all environments, then lets a vector environment step them.

    Subclasses say how the vector environment is built, described, reset, stepped and ended. It must
    reset an ended environment in the same step, so that every row is a transition. What a library
    without timeouts waited for too long is refused when it comes.
    """

    in_process: ClassVar[bool]
    """Whether a step's time is the environments' own; else it is the library's transport too."""
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
            info = self._info_of(*self._describe(plan))
            self._obs = self._reset(plan)
        refuse_late(perf_counter() - started, plan.deadlines.start, "opening")
        self._seeds = np.array(plan.env_seeds, dtype=np.uint64)
        self._steps_done = 0
        self._sound = True
        return info

    def _collect(self, plan: Plan, info: EnvInfo, policy: Policy, steps: int) -> Rollout:
        self._sound = False
        phases = Phases()
        buffer = RolloutBuffer(steps, plan.n_envs, info)
        buffer.obs[0] = self._obs
        with _named_faults():
            self._fill(plan, info, policy, buffer, phases)
        self._obs = buffer.obs[-1].copy()
        first_step, self._steps_done = self._steps_done, self._steps_done + steps
        self._sound = True
        return buffer.rollout(
            first_step=np.full(plan.n_envs, first_step),
            policy_version=policy.version,
            counters=phases.counters(),
        )

    def _close(self, plan: Plan) -> None:
        vector, self._vector = self._vector, None
        if vector is not None:
            self._end(vector, plan.deadlines.close, failed=not self._sound)

    def _fill(
        self, plan: Plan, info: EnvInfo, policy: Policy, buffer: RolloutBuffer, phases: Phases
    ) -> None:
        stepping = 0.0
        for step, draws in enumerate(draw_rows(self._seeds, self._steps_done, buffer.steps)):
            asked = perf_counter()
            acts = policy.act(buffer.obs[step], draws)
            acts = checked_acts(acts, plan.n_envs, info.num_actions, check=plan.check)
            buffer.put_acts(step, slice(None), acts)
            answered = perf_counter()
            self._step(plan, buffer.actions[step], buffer.cells(step))
            stepped = perf_counter()
            phases.inference += answered - asked
            stepping += stepped - answered
            refuse_late(stepped - answered, plan.deadlines.step, "a step of all environments")
        if self.in_process:
            phases.env = stepping
        else:
            phases.transport = stepping
            phases.messages = 2 * buffer.steps * plan.n_envs

    def _info_of(self, space: Any, actions: Any, workflow: Any) -> EnvInfo:
        try:
            return info_of_spaces(space, actions, workflow)
        except TypeError as error:
            raise CollectError(f"{self.name}: {error}") from error

    @abstractmethod
    def _build(self, plan: Plan, makers: list[Callable[[], GuardedEnv]]) -> None:
        """Make `_vector`, the vector environment of the environments that these make."""

    @abstractmethod
    def _describe(self, plan: Plan) -> tuple[Any, Any, Any]:
        """Observation space, action space and workflow model of one environment."""

    @abstractmethod
    def _reset(self, plan: Plan) -> NDArray[Any]:
        """The first observation of every environment."""

    @abstractmethod
    def _step(self, plan: Plan, actions: NDArray[np.int64], out: StepArrays) -> None:
        """One step of every environment, written to `out`."""

    @abstractmethod
    def _end(self, vector: Any, limit: float, *, failed: bool) -> None:
        """End the vector environment within `limit` seconds."""


@contextmanager
def _named_faults() -> Iterator[None]:
    try:
        yield
    except EnvFault as fault:
        raise fault.error from fault
