"""How a plan is divided among worker processes."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from wfbench.contract import EnvInfo, Plan, PluginError, UsageError

from .options import DEATH_ANSWERS, START_METHODS
from .worker import Task


@dataclass(frozen=True)
class ProcessSettings:
    """The options every collector with worker processes has, checked."""

    workers: int
    """0: as many as `default` says."""
    start_method: str
    batched: bool
    on_worker_death: str
    restarts: int

    def __post_init__(self) -> None:
        _one_of("start_method", self.start_method, START_METHODS)
        _one_of("on_worker_death", self.on_worker_death, DEATH_ANSWERS)
        _at_least("workers", self.workers, 0)
        _at_least("restarts", self.restarts, 0)

    @property
    def survives_deaths(self) -> bool:
        """Whether a dead worker is replaced."""
        return self.on_worker_death == "restart"

    def tasks(
        self,
        plan: Plan,
        handler: str,
        *,
        default: int,
        batched: bool = True,
        extra: Mapping[str, Any] | None = None,
    ) -> list[Task]:
        """One task per worker: runs of environments whose lengths differ by one at most.

        There is never more than one worker per environment. The batched form is used where a
        worker has more than one environment.
        """
        workers = min(self.workers or default, plan.n_envs)
        edges = [plan.n_envs * worker // workers for worker in range(workers + 1)]
        together = batched and self.batched and plan.env.batched is not None
        return [
            Task(
                handler=handler,
                worker=worker,
                workers=workers,
                env=plan.env,
                first=edges[worker],
                seeds=plan.env_seeds[edges[worker] : edges[worker + 1]],
                check=plan.check,
                batched=together and workers < plan.n_envs,
                extra=extra or {},
            )
            for worker in range(workers)
        ]


def cores() -> int:
    """The cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def fresh_seeds(seeds: tuple[int, ...], generation: int) -> tuple[int, ...]:
    """New seeds for environments that are started again for the `generation`-th time."""
    return tuple(
        int(np.random.SeedSequence([seed, generation]).generate_state(1, np.uint64)[0])
        for seed in seeds
    )


def common_info(infos: Sequence[EnvInfo]) -> EnvInfo:
    """What all workers say their environments look like; PluginError if they do not agree."""
    first = infos[0]
    for worker, info in enumerate(infos):
        if (info.obs_shape, info.obs_dtype, info.num_actions) != (
            first.obs_shape,
            first.obs_dtype,
            first.num_actions,
        ):
            raise PluginError(f"environments differ: worker {worker} has {info}, others {first}")
    return first


def _one_of(name: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise UsageError(f"{name} is {value!r}; it can be {' or '.join(allowed)}")


def _at_least(name: str, value: int, least: int) -> None:
    if value < least:
        raise UsageError(f"{name} is {value}; it must be at least {least}")
