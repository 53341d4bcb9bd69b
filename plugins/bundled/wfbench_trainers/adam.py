"""Adam and the clipping of gradients, compiled."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wfbench.contract import Arrays

from .compiling import compiled
from .layouts import Floats
from .networks import ActorCritic

_LEAST = 1e-8
"""What Adam adds to a divisor."""
_SMALL = 1e-6
"""What is added to a norm before dividing by it, as in torch."""
_MOMENTS = ("exp_avg", "exp_avg_sq")


@compiled
def _step(arrays: Any, count: float, limit: float, rate: float, betas: Any) -> float:
    """Clip the gradient of a network to a norm and make a step; return the norm."""
    weights, gradient, mean, square = arrays
    total = 0.0
    for i in range(gradient.shape[0]):
        total += float(gradient[i]) * float(gradient[i])
    norm = math.sqrt(total)
    scale = np.float32(min(1.0, limit / (norm + _SMALL)))
    slow, slower = np.float32(1.0 - betas[0]), np.float32(1.0 - betas[1])
    size = np.float32(rate / (1.0 - betas[0] ** count))
    part = np.float32(1.0 / math.sqrt(1.0 - betas[1] ** count))
    least = np.float32(_LEAST)
    for i in range(weights.shape[0]):
        by = gradient[i] * scale
        mean[i] += (by - mean[i]) * slow
        square[i] += (by * by - square[i]) * slower
        weights[i] -= size * mean[i] / (np.sqrt(square[i]) * part + least)
    return norm


class Adam:
    """Makes the steps of one network, with the gradient it holds."""

    def __init__(self, network: ActorCritic, rate: float, betas: tuple[float, float]) -> None:
        self.rate = rate
        self.count = 0
        self._network = network
        self._betas = betas
        self._moments: list[Floats] = [np.zeros_like(network.flat) for _ in _MOMENTS]
        every = (network.flat, network.gradient, *self._moments)
        self._parts = [tuple(array[part] for array in every) for part in network.parts]

    def step(self, limit: float = math.inf) -> float:
        """Make a step with each part's gradient clipped to a norm; return the actor's norm."""
        self.count += 1
        norms = [
            _step(arrays, float(self.count), limit, self.rate, self._betas)
            for arrays in self._parts
        ]
        return float(norms[0])

    def state(self) -> Arrays:
        """Return moments and count by number of the weight; nothing before the first step."""
        if not self.count:
            return {}
        named = [self._network.named(moment) for moment in self._moments]
        found: dict[str, NDArray[Any]] = {}
        for number, arrays in enumerate(zip(*(n.values() for n in named), strict=True)):
            found[f"optimiser.{number}.step"] = np.array(self.count, dtype=np.float32)
            for name, array in zip(_MOMENTS, arrays, strict=True):
                found[f"optimiser.{number}.{name}"] = array.copy()
        return found

    def load(self, state: Arrays) -> None:
        """Resume from a `state()`."""
        self.count = int(state.get("optimiser.0.step", 0))
        for name, moment in zip(_MOMENTS, self._moments, strict=True):
            for number, array in enumerate(self._network.named(moment).values()):
                array[:] = state[f"optimiser.{number}.{name}"] if self.count else 0.0
