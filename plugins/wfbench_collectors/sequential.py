"""The reference: environments in this process, one after the other."""

from __future__ import annotations

from time import perf_counter

import numpy as np

from wfbench.collecting.buffer import RolloutBuffer, checked_acts
from wfbench.collecting.deadlines import refuse_late
from wfbench.collecting.draws import draw_rows
from wfbench.collecting.faults import IN_PROCESS_FAULTS
from wfbench.collecting.lifecycle import Lifecycle
from wfbench.collecting.phases import Phases
from wfbench.collecting.scalar import ScalarSlice
from wfbench.contract import (
    EnvInfo,
    Plan,
    Policy,
    Rollout,
)


class SequentialCollector(Lifecycle):
    """All steps of the first environment, then all of the second, and so on.

    The policy is asked for one observation at a time, as training with a single environment does.
    An environment that hangs cannot be interrupted here; one that was slower than its deadline is
    reported when it comes back.
    """

    name = "sequential"

    def __init__(self) -> None:
        super().__init__()
        self._envs: ScalarSlice

    def _open(self, plan: Plan) -> EnvInfo:
        started = perf_counter()
        envs = ScalarSlice(
            plan.env,
            range(plan.n_envs),
            plan.env_seeds,
            check=plan.check,
            faults=IN_PROCESS_FAULTS,
        )
        self._envs = envs
        shape, dtype = envs.info.obs_shape, np.dtype(envs.info.obs_dtype)
        self._obs = np.empty((plan.n_envs, *shape), dtype)
        self._first_step = 0
        self._seeds = np.array(plan.env_seeds, dtype=np.uint64)
        envs.reset(self._obs)
        refuse_late(perf_counter() - started, plan.deadlines.start, "building the environments")
        return envs.info

    def _collect(self, plan: Plan, info: EnvInfo, policy: Policy, steps: int) -> Rollout:
        phases = Phases()
        buffer = RolloutBuffer(steps, plan.n_envs, info)
        buffer.obs[0] = self._obs
        for column in range(plan.n_envs):
            self._run(plan, policy, buffer, column, phases)
        self._obs = buffer.obs[-1].copy()
        first_step, self._first_step = self._first_step, self._first_step + steps
        return buffer.rollout(
            first_step=np.full(plan.n_envs, first_step),
            policy_version=policy.version,
            counters=phases.counters(),
        )

    def _run(
        self,
        plan: Plan,
        policy: Policy,
        buffer: RolloutBuffer,
        column: int,
        phases: Phases,
    ) -> None:
        envs, here = self._envs, slice(column, column + 1)
        draws = draw_rows(self._seeds[here], self._first_step, buffer.steps)
        for step, draw in enumerate(draws):
            asked = perf_counter()
            acts = checked_acts(
                policy.act(buffer.obs[step, here], draw),
                1,
                envs.info.num_actions,
                check=plan.check,
            )
            out = buffer.cells(step, here)
            answered = perf_counter()
            envs.step_one(column, int(acts.actions[0]), out)
            stepped = perf_counter()
            buffer.put_acts(step, here, acts)
            phases.inference += answered - asked
            phases.env += stepped - answered
            refuse_late(stepped - answered, plan.deadlines.step, f"a step of env {column}")

    def _close(self, plan: Plan) -> None:  # noqa: ARG002 - nothing here waits
        if hasattr(self, "_envs"):
            self._envs.close()
            del self._envs
