"""Adam and the clipping of gradients, compiled, on the weights and moments that torch holds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from .compiling import compiled, part

_EPSILON = 1e-6
"""What torch adds to a norm it divides by."""


@part
def _move(
    weights: Any,
    gradient: Any,
    mean: Any,
    square: Any,
    scale: Any,
    rates: Any,
    size: Any,
    part: Any,
) -> None:
    """Move the weights of one tensor; `part` and the third rate are of the divisor."""
    slow, slower, least = rates
    for i in range(weights.shape[0]):
        by = gradient[i] * scale
        mean[i] += (by - mean[i]) * slow
        square[i] += (by * by - square[i]) * slower
        weights[i] -= size * mean[i] / (np.sqrt(square[i]) * part + least)


@compiled
def _step(tensors: Any, limit: float, rate: float, betas: Any, least: float) -> float:
    """Clip the gradient of a network to a norm and make a step; return the norm."""
    weights, gradients, means, squares, counts = tensors
    total = 0.0
    for n in range(len(gradients)):
        for i in range(gradients[n].shape[0]):
            total += float(gradients[n][i]) * float(gradients[n][i])
    norm = math.sqrt(total)
    scale = np.float32(min(1.0, limit / (norm + _EPSILON)))
    rates = (np.float32(1.0 - betas[0]), np.float32(1.0 - betas[1]), np.float32(least))
    for n in range(len(weights)):
        counts[n][0] += np.float32(1.0)
        size = np.float32(rate / (1.0 - betas[0] ** float(counts[n][0])))
        part = np.float32(1.0 / math.sqrt(1.0 - betas[1] ** float(counts[n][0])))
        _move(weights[n], gradients[n], means[n], squares[n], scale, rates, size, part)
    return norm


class Stepper:
    """Makes the steps of an optimiser, until that one loads another state."""

    def __init__(self, optimiser: torch.optim.Adam, parts: Sequence[Sequence[Tensor]]) -> None:
        self.optimiser = optimiser
        self._parts = [self._arrays(tensors) for tensors in parts]

    def step(self, limit: float) -> float:
        """Make a step with the gradient of each part clipped to a norm; return the first part's."""
        group = self.optimiser.param_groups[0]
        norms = [
            _step(arrays, limit, group["lr"], group["betas"], group["eps"])
            for arrays in self._parts
        ]
        return float(norms[0])

    def _arrays(self, tensors: Sequence[Tensor]) -> tuple[tuple[Any, ...], ...]:
        """Return weights, gradients, moments and counts, the latter made as torch makes them."""
        for tensor in tensors:
            state = self.optimiser.state[tensor]
            if not state:
                state["step"] = torch.tensor(0.0)
                state["exp_avg"], state["exp_avg_sq"] = (torch.zeros_like(tensor) for _ in range(2))
        states = [self.optimiser.state[tensor] for tensor in tensors]
        moments = [[s[name] for s in states] for name in ("exp_avg", "exp_avg_sq", "step")]
        found = [tensor.grad for tensor in tensors if tensor.grad is not None]
        return tuple(
            tuple(t.detach().numpy().reshape(-1) for t in each)
            for each in (tensors, found, *moments)
        )
