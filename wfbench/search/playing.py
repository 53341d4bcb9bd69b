"""Whole episodes of a frozen policy on fresh seeds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wfbench.compliance import Shaper
from wfbench.contract import CollectError, Collector, EnvRef, Policy, Rollout
from wfbench.seeding import Purpose, make_plan
from wfbench.selection import Choice

from .episodes import FIELDS, rows_of

MAX_ENVS = 1000
_PATIENCE = 4
"""How many times the expected steps are played before missing episodes are given up."""


@dataclass(frozen=True)
class Played:
    """Episodes, judged by each of several orders."""

    rows: tuple[NDArray[np.float64], ...]
    """For each shaper the same episodes as rows of `FIELDS`."""
    env_steps: int


def play(
    ref: EnvRef,
    collector: Choice,
    policy: Policy,
    shapers: Sequence[Shaper],
    *,
    episodes: int,
    episode_steps: int,
    seed: int,
    n_envs: int = MAX_ENVS,
    watch: Callable[[Rollout], None] = lambda _: None,
) -> Played:
    """Exactly `episodes` episodes: the first ones of each environment.

    The seeds follow from `seed` and are of another stream than any that is trained on. `watch` is
    shown every rollout.
    """
    n_envs = min(episodes, n_envs)
    built: Collector = collector.build()
    with built:
        built.open(make_plan(ref, n_envs, seed, purpose=Purpose.EVALUATION))
        wanted = np.full(n_envs, episodes // n_envs) + (np.arange(n_envs) < episodes % n_envs)
        seen = np.zeros(n_envs, dtype=np.int64)
        kept: list[list[NDArray[np.float64]]] = [[] for _ in shapers]
        steps = 0
        for _ in range(_PATIENCE * int(wanted.max())):
            rollout = built.collect(policy, episode_steps)
            steps += rollout.transitions
            watch(rollout)
            judged = [shaper.shape(rollout).episodes for shaper in shapers]
            take = _take(judged[0].env_id, seen, wanted)
            for rows, found in zip(kept, judged, strict=True):
                rows.append(rows_of(found)[take])
            if (seen >= wanted).all():
                break
        else:
            raise CollectError(
                f"only {int(np.minimum(seen, wanted).sum())} of {episodes} episodes ended within "
                f"{steps} steps; the environment's episodes are longer than {episode_steps} steps"
            )
    return Played(tuple(np.concatenate(rows).reshape(-1, len(FIELDS)) for rows in kept), steps)


def _take(
    env_id: NDArray[np.int64], seen: NDArray[np.int64], wanted: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Which episodes are among the first ones of their environment; counts them in `seen`."""
    take = np.zeros(len(env_id), dtype=np.bool_)
    for index, env in enumerate(env_id.tolist()):
        take[index] = seen[env] < wanted[env]
        seen[env] += 1
    return take
