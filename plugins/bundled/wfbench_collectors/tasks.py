"""How a plan is divided among worker processes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from wfbench.collecting.checks import spaces_of
from wfbench.contract import EnvInfo, EnvRef, Plan, PluginError

from .options import ProcessOptions


@dataclass(frozen=True)
class WorkerTask:
    """What one worker is for."""

    handler: str
    """Import path of the `Handler` class."""
    worker: int
    env: EnvRef
    first: int
    """Index of its first environment."""
    seeds: tuple[int, ...]
    """One per environment."""
    check: bool
    batched: bool
    """Whether to step the batched form."""

    @property
    def envs(self) -> range:
        """Return the indices of its environments."""
        return range(self.first, self.first + len(self.seeds))

    @property
    def rows(self) -> slice:
        """Return where its environments are in arrays of all environments."""
        return slice(self.first, self.first + len(self.seeds))


def divide(
    plan: Plan, options: ProcessOptions, handler: str, *, default: int, batched: bool = True
) -> list[WorkerTask]:
    """Return one task per worker: runs of environments whose lengths differ by one at most.

    There is never more than one worker per environment. The batched form is used where a worker has
    more than one environment.
    """
    workers = min(options.workers or default, plan.n_envs)
    edges = pairwise(plan.n_envs * worker // workers for worker in range(workers + 1))
    batched = batched and options.batched and plan.env.batched is not None and workers < plan.n_envs
    return [
        WorkerTask(
            handler, worker, plan.env, first, plan.env_seeds[first:stop], plan.check, batched
        )
        for worker, (first, stop) in enumerate(edges)
    ]


def can_keep_workers(plan: Plan, old: Plan) -> bool:
    """Tell whether the workers of an old plan can go on with another one.

    They can if they are as many. Other code is better loaded once, before workers are forked.
    """
    return (plan.n_envs, plan.env.factory, plan.env.batched) == (
        old.n_envs,
        old.env.factory,
        old.env.batched,
    )


def fresh_seeds(seeds: tuple[int, ...], generation: int) -> tuple[int, ...]:
    """Return new seeds for environments that are started again for the `generation`-th time."""
    return tuple(
        int(np.random.SeedSequence([seed, generation]).generate_state(1, np.uint64)[0])
        for seed in seeds
    )


def common_info(infos: Sequence[EnvInfo]) -> EnvInfo:
    """Return what all workers say of their environments; raise PluginError if they differ."""
    first = infos[0]
    for worker, info in enumerate(infos):
        if spaces_of(info) != spaces_of(first):
            raise PluginError(f"environments differ: worker {worker} has {info}, others {first}")
    return first
