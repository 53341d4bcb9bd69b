"""Reference policies for blue, which a learned policy has to beat.

All use the 145 actions and the plain observation. `greedy-oracle` also sees the true state, through
`RevealedBatch`: it bounds what following an order can achieve, and blue could not play it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wfbench.contract import Acts, EnvInfo, Order, Policy, PolicySnapshot, StepArrays
from wfbench.policies import RandomPolicy

from . import tables
from .batch import Cage2Batch
from .layout import read_field
from .tables import ANALYSE, FOOTHOLD, HOSTS, NUM_HOSTS, OBS_SIZE, REMOVE, RESTORE, SLEEP

PRIORITY = np.array([7, 3, 2, 1, 4, 5, 6, 9, 10, 11, 12, 0])
"""Hosts by how much their loss costs, without the foothold."""

REMOVABLE, STUBBORN = 1, 2
"""What `RevealedBatch` shows of a compromised host: whether a Remove ends all its sessions."""


class _Rule(ABC):
    """A policy without weights: observation and draw determine the action."""

    version = 0

    def __init__(self, order: Order) -> None:
        self.order = tuple(order)

    def act(self, obs: NDArray[Any], draws: NDArray[np.float64]) -> Acts:
        """Choose one action per row."""
        actions = self._choose(obs, draws).astype(np.int64)
        nothing = np.zeros(len(actions), dtype=np.float32)
        return Acts(actions, nothing, nothing.copy())

    def snapshot(self) -> PolicySnapshot:
        """Return the order, which is all the state there is."""
        path = f"{__name__}:{type(self).__name__}.restored"
        return PolicySnapshot(path, self.version, {"order": np.array(self.order, dtype=np.int64)})

    @classmethod
    def restored(cls, snapshot: PolicySnapshot) -> Policy:
        """Restore a policy from its snapshot."""
        return cls(tuple(snapshot.arrays["order"].tolist()))

    @abstractmethod
    def _choose(self, obs: NDArray[Any], draws: NDArray[np.float64]) -> NDArray[np.int64]: ...


class Asleep(_Rule):
    """Does nothing."""

    def _choose(self, obs: NDArray[Any], draws: NDArray[np.float64]) -> NDArray[np.int64]:
        del draws
        return np.full(len(obs), SLEEP)


class Reactive(_Rule):
    """Repairs the most important host that looks compromised, else sleeps or analyses."""

    def _choose(self, obs: NDArray[Any], draws: NDArray[np.float64]) -> NDArray[np.int64]:
        beliefs = obs[:, :OBS_SIZE].reshape(len(obs), NUM_HOSTS, 4)[:, PRIORITY, 2:]
        suspect = (beliefs[:, :, 0] | beliefs[:, :, 1]) > 0
        place = suspect.argmax(axis=1)
        rows = np.arange(len(obs))
        known: NDArray[np.uint8] = beliefs[rows, place]
        user_level = (known[:, 0] == 0) & (known[:, 1] == 1)
        repair = np.where(user_level, REMOVE, RESTORE) + PRIORITY[place]
        look = ANALYSE + PRIORITY[(draws * 2 * len(PRIORITY)).astype(np.int64) % len(PRIORITY)]
        idle = np.where(draws < 0.5, SLEEP, look)
        return np.where(suspect.any(axis=1), repair, idle)


class GreedyOracle(_Rule):
    """Fixes a host of the first compromised type of the order, with the action that works."""

    def _choose(self, obs: NDArray[Any], draws: NDArray[np.float64]) -> NDArray[np.int64]:
        del draws
        rank = np.argsort(self.order)
        hosts = np.array(sorted(range(NUM_HOSTS), key=lambda h: (rank[int(HOSTS[h].unit)], h)))
        state = obs[:, OBS_SIZE:][:, hosts]
        place = (state > 0).argmax(axis=1)
        rows = np.arange(len(obs))
        fix = np.where(state[rows, place] == REMOVABLE, REMOVE, RESTORE) + hosts[place]
        return np.where((state > 0).any(axis=1), fix, SLEEP)


def uniform(order: Order) -> Policy:
    """Return the policy that finds every action equally likely."""
    del order
    return RandomPolicy(tables.NUM_ACTIONS)


class RevealedBatch:
    """The environment with the true state appended to each observation.

    One number per host: 0 if red has no session there (ignoring the foothold), `REMOVABLE` if a
    Remove would end all of them, else `STUBBORN`.
    """

    def __init__(self, num_envs: int, **options: Any) -> None:
        plain = options | {"memory": False, "actions": "all", "history": False}
        self._inner = Cage2Batch(num_envs, **plain)
        self.num_envs = num_envs
        self.info: EnvInfo = replace(self._inner.info, obs_shape=(OBS_SIZE + NUM_HOSTS,))
        self._obs = np.zeros((num_envs, OBS_SIZE), dtype=np.uint8)
        self._final = np.zeros_like(self._obs)

    def reset(self, seeds: NDArray[np.uint64], obs: NDArray[np.uint8]) -> None:
        """Start every row's episodes afresh from its seed."""
        self._inner.reset(seeds, self._obs)
        self._reveal(obs)

    def step(self, actions: NDArray[np.int64], out: StepArrays) -> None:
        """Step every row."""
        self._inner.step(actions, replace(out, obs=self._obs, final_obs=self._final))
        self._reveal(out.obs)
        ended = out.terminated | out.truncated
        out.final_obs[ended, :OBS_SIZE] = self._final[ended]
        out.final_obs[ended, OBS_SIZE:] = 0  # the state of an ended episode is gone

    def close(self) -> None:
        """Release the environments."""
        self._inner.close()

    def _reveal(self, obs: NDArray[np.uint8]) -> None:
        state = self._inner.state
        stubborn = (read_field(state, "root") > 0) | (read_field(state, "oth") > 0)
        levels = np.where(stubborn, STUBBORN, np.where(read_field(state, "sus") > 0, REMOVABLE, 0))
        levels[:, FOOTHOLD] = 0
        obs[:, :OBS_SIZE] = self._obs
        obs[:, OBS_SIZE:] = levels
