"""A collector that steps scalar environments in a pool of threads."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from time import perf_counter

import numpy as np

from wfbench.collecting.scalar import ScalarSlice
from wfbench.collecting.synchronous import CollectCall, SynchronousCollector
from wfbench.contract import EnvInfo, Plan

PLANTED = 0.0
"""Share by which every collect takes longer, in a busy wait."""


class ThreadsCollector(SynchronousCollector):
    """Deals the environments over threads; all make a step, then the policy is asked again."""

    name = "threads"

    def __init__(self, threads: int = 2) -> None:
        super().__init__()
        self._threads = threads
        self._slices: list[ScalarSlice] = []
        self._pool: ThreadPoolExecutor | None = None

    def _open(self, plan: Plan) -> EnvInfo:
        parts = np.array_split(np.arange(plan.n_envs), min(self._threads, plan.n_envs))
        self._rows = [slice(int(part[0]), int(part[-1]) + 1) for part in parts]
        self._slices = [
            ScalarSlice(plan.env, range(rows.start, rows.stop), plan.env_seeds[rows])
            for rows in self._rows
        ]
        self._pool = ThreadPoolExecutor(len(parts))
        self._obs = np.concatenate([part.first_obs() for part in self._slices])
        self._begin(plan)
        return self._slices[0].info

    def _fill(self, call: CollectCall) -> Sequence[str]:
        started = perf_counter()
        call.buffer.obs[0] = self._obs
        if self._pool is not None:
            for actions, out in self._play(call):
                stepping = [
                    self._pool.submit(part.step, actions[rows], out.rows(rows))
                    for part, rows in zip(self._slices, self._rows, strict=True)
                ]
                for one in stepping:
                    one.result(call.plan.deadlines.step)
        self._obs = call.buffer.obs[-1].copy()
        until = perf_counter() + PLANTED * (perf_counter() - started)
        while perf_counter() < until:
            pass
        return ()

    def _close(self, plan: Plan) -> None:  # noqa: ARG002 (nothing here waits)
        slices, self._slices = self._slices, []
        for part in slices:
            part.close()
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None
