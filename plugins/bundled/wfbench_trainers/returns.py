"""Compute returns and advantages, column by column, never across the end of an episode."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from wfbench.policies.compiling import compiled

Floats = NDArray[np.float32]


@compiled
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
    """Return discounted sums of the rewards to come in the same episode and rollout."""
    nothing = np.zeros(rewards.shape, dtype=np.float32)
    return gae_advantages(rewards, nothing, nothing, ended, gamma, 1.0)


def gae_advantages(
    rewards: Floats,
    values: Floats,
    following: Floats,
    ended: NDArray[np.bool_],
    gamma: float,
    gae: float,
) -> Floats:
    """Return generalised advantage estimates.

    `following` is the value after each step: that of the next row within an episode, else what the
    end of the episode or of the rollout is worth.
    """
    out = np.empty(rewards.shape, dtype=np.float32)
    _advantages(rewards, values, following, ended, gamma, gae, out)
    return out
