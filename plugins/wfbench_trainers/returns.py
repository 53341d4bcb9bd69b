"""Returns and advantages of a rollout, column by column, never across the end of an episode."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

Floats = NDArray[np.float32]


@njit(nogil=True, cache=True)
def _discount(rewards: Any, ended: Any, gamma: float, out: Any) -> None:
    for n in range(rewards.shape[1]):
        running = 0.0
        for t in range(rewards.shape[0] - 1, -1, -1):
            if ended[t, n]:
                running = 0.0
            running = rewards[t, n] + gamma * running
            out[t, n] = running


@njit(nogil=True, cache=True)
def _advantages(
    rewards: Any, values: Any, following: Any, ended: Any, gamma: float, gae: float, out: Any
) -> None:
    for n in range(rewards.shape[1]):
        running = 0.0
        for t in range(rewards.shape[0] - 1, -1, -1):
            if ended[t, n]:
                running = 0.0
            delta = rewards[t, n] + gamma * following[t, n] - values[t, n]
            running = delta + gamma * gae * running
            out[t, n] = running


def discounted_returns(rewards: Floats, ended: NDArray[np.bool_], gamma: float) -> Floats:
    """Discounted sums of the rewards to come in the same episode, as far as the rollout goes."""
    out = np.empty(rewards.shape, dtype=np.float32)
    _discount(rewards, ended, gamma, out)
    return out


def gae_advantages(
    rewards: Floats,
    values: Floats,
    following: Floats,
    ended: NDArray[np.bool_],
    gamma: float,
    gae: float,
) -> Floats:
    """Generalised advantage estimates.

    `following` is the value of what follows each step: of the next row within an episode, and
    whatever the end of an episode or of the rollout is taken to be worth.
    """
    out = np.empty(rewards.shape, dtype=np.float32)
    _advantages(rewards, values, following, ended, gamma, gae, out)
    return out
