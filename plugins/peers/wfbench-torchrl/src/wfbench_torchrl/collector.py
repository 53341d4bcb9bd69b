"""The collector over the library's own `Collector`, which asks our policy at every step."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from tensordict import TensorDictBase
from torchrl.collectors import Collector

from wfbench.collecting.guarded import GuardedEnv
from wfbench.collecting.lockstep import A_STEP
from wfbench.collecting.synchronous import CollectCall
from wfbench.contract import Plan

from .parallel import ParallelCollector, array, put_step


class DataCollector(ParallelCollector):
    """Lets the library's collector make whole rollouts over its `ParallelEnv`."""

    name = "torchrl-collector"

    def _build(self, plan: Plan, makers: list[Callable[[], GuardedEnv]]) -> None:
        super()._build(plan, makers)
        self._turns: Iterator[Any] | None = None
        self._collector = self._call(
            plan,
            lambda: Collector(
                self._vector,
                self._act,
                frames_per_batch=plan.n_envs,
                trust_policy=True,
                # Those would fix the number of steps, which is another one in each call.
                use_buffers=False,
            ),
        )

    def _restart(self, options: dict[str, Any]) -> None:
        self._collector.reset(options=options)

    @property
    def _now(self) -> TensorDictBase:
        """The observations to act on next; the library's rollout ends before those."""
        found: TensorDictBase = self._collector._carrier  # noqa: SLF001
        return found

    def _make_steps(self, call: CollectCall) -> None:
        self._rows, self._turns = iter(call.buffer.obs), self._play(call, what=A_STEP)
        self._collector.frames_per_batch = call.buffer.steps
        try:
            made = self._call(call.plan, self._collector.rollout)
            next(self._turns, None)
        finally:
            self._turns = None
        for step, after in enumerate(made["next"].unbind(1)):
            put_step(after, call.buffer.cells(step))
        call.buffer.obs[-1] = array(self._now, "observation")

    def _act(self, tensors: TensorDictBase) -> TensorDictBase:
        """Ask the policy of the call; before there is one, the library only tries this out."""
        actions: NDArray[np.int64] = np.zeros(tensors.shape, dtype=np.int64)
        if self._turns is not None:
            next(self._rows)[...] = array(tensors, "observation")
            actions, _ = next(self._turns)
        return tensors.set("action", torch.from_numpy(actions))
