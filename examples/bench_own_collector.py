"""Measure a collector of your own, defined right here, against the bundled ones."""

from __future__ import annotations

import os
from time import perf_counter
from typing import ClassVar

import numpy as np

import wfbench
from wfbench.collecting.buffer import RolloutBuffer
from wfbench.collecting.draws import draw_rows
from wfbench.collecting.lifecycle import Lifecycle
from wfbench.collecting.phases import Phases
from wfbench.collecting.scalar import ScalarSlice
from wfbench.contract import EnvInfo, Plan, Policy, Rollout

SMOKE = os.environ.get("WFBENCH_EXAMPLES_SMOKE") == "1"


class StepwiseCollector(Lifecycle):
    """Ask the policy about all environments at once, then step them one by one."""

    name = "stepwise"
    capabilities: ClassVar[frozenset[str]] = frozenset({"deterministic"})

    def _open(self, plan: Plan) -> EnvInfo:
        self.envs = ScalarSlice(plan.env, range(plan.n_envs), plan.env_seeds, check=plan.check)
        info = self.envs.info
        self.obs = np.empty((plan.n_envs, *info.obs_shape), info.obs_dtype)
        self.envs.reset(self.obs)
        self.steps_done = 0
        return info

    def _collect(self, plan: Plan, info: EnvInfo, policy: Policy, steps: int) -> Rollout:
        buffer, phases = RolloutBuffer(steps, plan.n_envs, info), Phases()
        buffer.obs[0] = self.obs
        seeds = np.array(plan.env_seeds, dtype=np.uint64)
        for step, draws in enumerate(draw_rows(seeds, self.steps_done, steps)):
            asked = perf_counter()
            acts = policy.act(buffer.obs[step], draws)
            buffer.put_acts(step, slice(None), acts)
            answered = perf_counter()
            self.envs.step(acts.actions, buffer.cells(step))
            phases.inference += answered - asked
            phases.env += perf_counter() - answered
        self.obs = buffer.obs[-1].copy()
        first, self.steps_done = self.steps_done, self.steps_done + steps
        return buffer.rollout(
            first_step=np.full(plan.n_envs, first),
            policy_version=policy.version,
            counters=phases.counters(),
        )

    def _close(self, plan: Plan) -> None:
        del plan
        self.envs.close()


if __name__ == "__main__":
    found = wfbench.bench(
        collector=["sequential", StepwiseCollector, "vector"],
        n_envs=4 if SMOKE else 50,
        smoke=SMOKE,
    )
    found.show()
    for row in found.rows():
        print(row["collector"], row["rate"], row["ratio"])
