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


@dataclass(frozen=True)
class Batch:
    """`rows` are the networks' inputs; transition i is of row `row[i]`.

    Running the networks on `rows` and gathering gives the same loss and gradient as running them
    on every transition, up to the order of summation.
    """

    rows: Tensor
    """[U, inputs] float32."""
    row: Tensor
    """[B] which row each transition is of."""
    place: Tensor
    """[B] row * actions + action: where it stands in the flattened [U, actions]."""
    old_log_probs: Tensor
    fresh: Tensor
    """[B] whether the policy that acted is the one that is updated."""

    @property
    def size(self) -> int:
        """How many transitions there are."""
        return len(self.row)


def make_batch(
    rollout: Rollout,
    condition: NDArray[np.float32],
    num_actions: int,
    version: int,
    device: str,
    *,
    distinct: bool,
) -> Batch:
    """The batch of a rollout, transitions in row-major order of [T, N]."""
    obs = rollout.obs.reshape(rollout.transitions, -1)
    if distinct:
        first, inverse = distinct_rows(obs)
    else:
        first = inverse = np.arange(len(obs))
    inputs = network_inputs(obs[first], condition, device)
    row = torch.from_numpy(inverse).to(device)
    actions = torch.from_numpy(rollout.actions.reshape(-1)).to(device)
    steps = rollout.actions.shape[0]
    fresh = np.broadcast_to(rollout.policy_version == version, (steps, len(rollout.env_id)))
    return Batch(
        rows=inputs,
        row=row,
        place=row * num_actions + actions,
        old_log_probs=torch.from_numpy(rollout.log_probs.reshape(-1).copy()).to(device),
        fresh=torch.from_numpy(fresh.reshape(-1).copy()).to(device),
    )


def network_inputs(obs: NDArray[Any], condition: NDArray[np.float32], device: str) -> Tensor:
    """Observations with the code of the order behind each."""
    rows = obs.reshape(len(obs), -1)
    inputs = np.empty((len(rows), rows.shape[1] + condition.size), dtype=np.float32)
    inputs[:, : rows.shape[1]] = rows
    inputs[:, rows.shape[1] :] = condition
    return torch.from_numpy(inputs).to(device)
