"""The reference: environments in this process, one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter

from wfbench.collecting.deadlines import refuse_late
from wfbench.collecting.faults import IN_PROCESS_FAULTS
from wfbench.collecting.scalar import ScalarSlice
from wfbench.collecting.synchronous import CollectCall, SynchronousCollector
from wfbench.contract import EnvInfo, Plan


class SequentialCollector(SynchronousCollector):
    """A step of the first environment, then one of the second, and so on.

    The policy is asked once for all of them. An environment that hangs cannot be interrupted here;
    one that was slower than its deadline is reported when it comes back.
    """

    name = "sequential"

    def __init__(self) -> None:
        super().__init__()
        self._envs: ScalarSlice

    def _open(self, plan: Plan) -> EnvInfo:
        started = perf_counter()
        self._envs = ScalarSlice(
            plan.env,
            range(plan.n_envs),
            plan.env_seeds,
            check=plan.check,
            faults=IN_PROCESS_FAULTS,
        )
        self._start(plan, started, "building the environments")
        return self._envs.info

    def _replan(self, plan: Plan, old: Plan, info: EnvInfo) -> EnvInfo | None:
        if not plan.same_envs(old):
            return None
        started = perf_counter()
        self._envs.reseed(plan.env_seeds)
        self._start(plan, started, "resetting the environments")
        return info

    def _start(self, plan: Plan, since: float, what: str) -> None:
        self._obs = self._envs.first_obs()
        self._begin(plan)
        refuse_late(perf_counter() - since, plan.deadlines.start, what)

    def _fill(self, call: CollectCall) -> Sequence[str]:
        call.buffer.obs[0] = self._obs
        for actions, out in self._play(call):
            self._envs.step(actions, out, call.plan.deadlines.step)
        self._obs = call.buffer.obs[-1].copy()
        return ()

    def _close(self, plan: Plan) -> None:  # noqa: ARG002 - nothing here waits
        if hasattr(self, "_envs"):
            self._envs.close()
            del self._envs
