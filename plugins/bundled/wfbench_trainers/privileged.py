"""What a critic may see while training, although blue cannot: compromised hosts and the time."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from wfbench.contract import Rollout

_HOSTS = 32
_STEPS = 8
"""Steps of an episode that count as the same time."""
_TIMES = 16
SIZE = _HOSTS + _TIMES

Bits = NDArray[np.uint8]


class EpisodeClock:
    """Knows how many steps of its episode every environment has made."""

    def __init__(self) -> None:
        self.ages: NDArray[np.int64] = np.zeros(0, dtype=np.int64)

    def advance(self, rollout: Rollout) -> NDArray[np.int64]:
        """Return the steps made before each row, [T, N], and before what follows the last row."""
        envs = int(rollout.env_id.max()) + 1
        self.ages = np.append(self.ages, np.zeros(max(0, envs - len(self.ages)), dtype=np.int64))
        steps = len(rollout.actions)
        ages = np.empty((steps + 1, rollout.actions.shape[1]), dtype=np.int64)
        ages[0] = self.ages[rollout.env_id]
        ended = rollout.ended
        for step in range(steps):
            ages[step + 1] = np.where(ended[step], 0, ages[step] + 1)
        self.ages[rollout.env_id] = ages[-1]
        return ages


def features(compromised: NDArray[np.uint32], ages: NDArray[np.int64]) -> Bits:
    """Return one row of bits for each mask and age, which have the same shape."""
    masks = np.ascontiguousarray(compromised, dtype="<u4").reshape(-1, 1)
    hosts = np.unpackbits(masks.view(np.uint8), axis=1, bitorder="little")
    times = np.minimum(ages.reshape(-1) // _STEPS, _TIMES - 1)
    return np.concatenate([hosts, np.eye(_TIMES, dtype=np.uint8)[times]], axis=1)


def with_features(obs: NDArray[Any], bits: Bits) -> NDArray[Any]:
    """Return flattened observations followed by the bits."""
    rows = obs.reshape(len(bits), -1)
    return np.concatenate([rows, bits.astype(rows.dtype)], axis=1)
