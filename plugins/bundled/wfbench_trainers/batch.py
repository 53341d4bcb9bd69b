"""The data of one update: transitions, grouped by distinct observation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from wfbench.contract import Rollout
from wfbench.policies.distinct import distinct_rows

from .objective import Transitions


@dataclass(frozen=True)
class Batch:
    """`rows` are the observations the networks are run on, `data` the transitions, by row.

    Running the networks on `rows` gives the same loss and gradient as running them on every
    transition, up to the order of summation.
    """

    rows: Tensor
    """[U, observation] float32."""
    data: Transitions

    def part(self, chosen: NDArray[np.int64]) -> Batch:
        """Return some of the transitions with only the rows they need."""
        row = self.data.row[chosen]
        used = np.zeros(len(self.rows), dtype=np.bool_)
        used[row] = True
        number = np.cumsum(used) - 1
        data = Transitions(
            number[row],
            self.data.action[chosen],
            self.data.old_log_probs[chosen],
            self.data.fresh[chosen],
        )
        return Batch(self.rows[torch.from_numpy(used)], data)


def make_batch(rollout: Rollout, version: int, device: str, *, distinct: bool) -> Batch:
    """Return the batch of a rollout, transitions in row-major order of [T, N]."""
    obs = rollout.obs.reshape(rollout.transitions, -1)
    if distinct:
        first, row = distinct_rows(obs)
    else:
        first = row = np.arange(len(obs))
    fresh = np.broadcast_to(rollout.policy_version == version, rollout.actions.shape)
    data = Transitions(
        row=row,
        action=rollout.actions.reshape(-1),
        old_log_probs=rollout.log_probs.reshape(-1),
        fresh=fresh.reshape(-1),
    )
    return Batch(network_inputs(obs[first], device), data)


def network_inputs(obs: NDArray[Any], device: str) -> Tensor:
    """Return observations as the networks take them."""
    rows = obs.reshape(len(obs), -1)
    return torch.from_numpy(rows.astype(np.float32)).to(device)
