"""Who runs the networks and computes their gradients: torch, on any device."""

from __future__ import annotations

import math
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.utils import clip_grad_norm_

from .batch import Batch
from .layouts import Floats
from .networks import ActorCritic
from .objective import Parts, Weighting, objective


class Backend(Protocol):
    """Runs the networks of a learner, under the condition it is given."""

    def at_work(self) -> AbstractContextManager[None]:
        """Be ready for many calls until the end of the block."""

    def values(self, rows: Tensor, condition: Floats) -> Floats:
        """Return the critic's values of rows of its inputs."""

    def differentiate(
        self,
        batch: Batch,
        chosen: NDArray[np.int64] | None,
        condition: Floats,
        targets: Floats,
        advantages: Floats | None,
        weighting: Weighting,
    ) -> Parts:
        """Store the gradient of the loss of some transitions with the weights; return the loss.

        `targets` and `advantages` are of the whole batch. Without `advantages` they are the targets
        minus the present values.
        """

    def step(self, optimiser: torch.optim.Adam, limit: float = math.inf) -> float:
        """Make a step with each network's gradient clipped to a norm; return the actor's norm."""


class TorchBackend:
    """Lets torch do everything but the objective."""

    def __init__(self, network: ActorCritic) -> None:
        self.network = network

    def at_work(self) -> AbstractContextManager[None]:
        """Need nothing."""
        return nullcontext()

    def values(self, rows: Tensor, condition: Floats) -> Floats:
        """Return the critic's values of rows of its inputs."""
        with torch.no_grad():
            values: Floats = self.network.values(rows, _on(rows, condition)).cpu().numpy()
        return values

    def differentiate(
        self,
        batch: Batch,
        chosen: NDArray[np.int64] | None,
        condition: Floats,
        targets: Floats,
        advantages: Floats | None,
        weighting: Weighting,
    ) -> Parts:
        """Store the gradient of the loss of some transitions with the weights; return the loss."""
        if chosen is not None:
            batch, targets = batch.part(chosen), targets[chosen]
            advantages = None if advantages is None else advantages[chosen]
        shared = _on(batch.rows, condition)
        logits = self.network.logits(batch.rows, shared)
        values = self.network.values(batch.value_rows, shared)
        plain_logits, plain_values = logits.detach().cpu().numpy(), values.detach().cpu().numpy()
        if advantages is None:
            advantages = targets - plain_values[batch.data.value_row]
        found = objective(plain_logits, plain_values, batch.data, advantages, targets, weighting)
        self.network.zero_grad(set_to_none=True)
        starts = [
            torch.from_numpy(by).to(logits.device) for by in (found.by_logits, found.by_values)
        ]
        torch.autograd.backward((logits, values), starts)
        return found

    def step(self, optimiser: torch.optim.Adam, limit: float = math.inf) -> float:
        """Make a step with each network's gradient clipped to a norm; return the actor's norm."""
        norm = clip_grad_norm_(self.network.actor.parameters(), limit)
        clip_grad_norm_(self.network.critic.parameters(), limit)
        optimiser.step()
        return norm.item()


def _on(rows: Tensor, condition: Floats) -> Tensor:
    return torch.from_numpy(condition).to(rows.device)
