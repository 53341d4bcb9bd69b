"""Play whole episodes of a frozen policy on fresh seeds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wfbench.collecting.seeding import Purpose, make_plan
from wfbench.contract import CollectError, EnvRef, Policy, Rollout
from wfbench.orders.compliance import Shaper
from wfbench.settings.selection import Choice

from .collectors import build_collector
from .episodes import FIELDS, rows_of

MAX_ENVS = 1000
MAX_SCALAR_ENVS = 32
"""The limit without a batched form, where each environment is built and stepped on its own."""

_PATIENCE = 4
"""How many times the expected steps are played before missing episodes are an error."""


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
    n_envs: int | None = None,
    watch: Callable[[Rollout], None] = lambda _: None,
) -> Played:
    """Play exactly `episodes` episodes: the first ones of each environment.

    With async collectors the first episodes to finish count. The seeds follow from `seed` and
    differ from all that are trained on. `watch` receives every rollout. By default there are as
    many environments as are cheap to have.
    """
    n_envs = min(episodes, n_envs or (MAX_SCALAR_ENVS if ref.batched is None else MAX_ENVS))
    with build_collector(collector) as built:
        built.open(make_plan(ref, n_envs, seed, purpose=Purpose.EVALUATION))
        quota = _Quota(episodes, n_envs, each="deterministic" in collector.spec.capabilities)
        kept: list[list[NDArray[np.float64]]] = [[] for _ in shapers]
        steps = 0
        for _ in range(_PATIENCE * -(-episodes // n_envs)):
            rollout = built.collect(policy, episode_steps)
            steps += rollout.transitions
            watch(rollout)
            judged = [shaper.shape(rollout).episodes for shaper in shapers]
            take = quota.take(judged[0].env_id)
            for rows, found in zip(kept, judged, strict=True):
                rows.append(rows_of(found)[take])
            if not quota.missing:
                break
        else:
            raise CollectError(
                f"{quota.missing} of {episodes} episodes did not end within {steps} steps; the "
                f"environment's episodes are longer than {episode_steps} steps"
            )
    return Played(tuple(np.concatenate(rows).reshape(-1, len(FIELDS)) for rows in kept), steps)


def steps_to_play(episodes: int, n_envs: int, episode_steps: int) -> int:
    """Return the environment steps that `play` takes if every episode has its full length."""
    n_envs = min(episodes, n_envs)
    return -(-episodes // n_envs) * n_envs * episode_steps


class _Quota:
    """Decides which episodes count: the first ones of each env, or the first ones of all."""

    def __init__(self, episodes: int, n_envs: int, *, each: bool) -> None:
        share = np.arange(n_envs) < episodes % n_envs
        self._left = (np.full(n_envs, episodes // n_envs) + share).tolist()
        self._each = each
        self.missing = episodes

    def take(self, env_id: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Tell for each of these episodes, in the sequence in which they ended, if it counts."""
        chosen = np.zeros(len(env_id), dtype=np.bool_)
        for index, env in enumerate(env_id.tolist()):
            if self.missing and (self._left[env] or not self._each):
                chosen[index] = True
                self._left[env] -= 1
                self.missing -= 1
        return chosen
