"""Collectors in which every environment makes the same number of steps."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wfbench.contract import EnvInfo, Plan, Policy, Rollout, StepArrays, SteppingPolicy

from .buffer import RolloutBuffer
from .lifecycle import Lifecycle
from .phases import Phases
from .playing import play, play_compiled
from .scalar import EnvSlice


@dataclass(frozen=True)
class CollectCall:
    """One call of `collect`: what it was asked for, and what it fills."""

    plan: Plan
    info: EnvInfo
    policy: Policy
    buffer: RolloutBuffer
    phases: Phases


class SynchronousCollector(Lifecycle):
    """Numbers the steps; subclasses fill the buffer.

    `_open` calls `_begin`. From then on `_seeds` are those of the environments and `_first_step` is
    the number of their next step.
    """

    def _begin(self, plan: Plan) -> None:
        self._seeds: NDArray[np.uint64] = np.array(plan.env_seeds, dtype=np.uint64)
        self._first_step = 0

    def _collect(self, plan: Plan, info: EnvInfo, policy: Policy, steps: int) -> Rollout:
        phases = Phases()
        buffer = RolloutBuffer(steps, plan.n_envs, info)
        marks = self._fill(CollectCall(plan, info, policy, buffer, phases))
        first_step, self._first_step = self._first_step, self._first_step + steps
        return buffer.rollout(
            first_step=np.full(plan.n_envs, first_step),
            policy_version=policy.version,
            counters=phases.counters(restarts=phases.restarts),
            marks=tuple(marks),
        )

    def _play(
        self, call: CollectCall, columns: slice = slice(None), what: str = ""
    ) -> Iterator[tuple[NDArray[np.int64], StepArrays]]:
        """Play the steps of a call; with `what`, a step that misses its deadline is an error."""
        return play(
            call.policy,
            call.buffer,
            self._seeds[columns],
            self._first_step,
            call.phases,
            num_actions=call.info.num_actions,
            check=call.plan.check,
            columns=columns,
            limit=call.plan.deadlines.step if what else math.inf,
            what=what,
        )

    def _advance(
        self, call: CollectCall, envs: EnvSlice, columns: slice = slice(None)
    ) -> Iterator[None]:
        """Make the steps of a call with environments of this process; yield after some of them."""
        step, policy = envs.compiled_step, call.policy
        if step and isinstance(policy, SteppingPolicy) and policy.can_play(call.info):
            seeds = self._seeds[columns]
            yield from play_compiled(
                policy, step, call.buffer, seeds, self._first_step, call.phases, columns
            )
            return
        for actions, out in self._play(call, columns):
            envs.step(actions, out)
            yield

    @abstractmethod
    def _fill(self, call: CollectCall) -> Sequence[str]:
        """Collect into all rows and columns of the buffer; return the marks of the rollout."""
