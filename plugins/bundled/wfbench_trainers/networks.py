"""Actor and critic as plain arrays, and the policy they make."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from wfbench.contract import Arrays
from wfbench.policies import NetworkPolicy

from .layouts import Floats

Layer = tuple[Floats, Floats]
"""Weights [outputs, inputs] and biases [outputs]."""
_LAYERS = 3


class ActorCritic:
    """Two separate perceptrons with tanh between their layers; every weight is in `flat`.

    The critic takes `seen` more inputs than the actor, between observation and condition.
    `gradient` has the places of `flat`; whoever differentiates a loss leaves it there.
    """

    def __init__(self, inputs: int, actions: int, hidden: int, seen: int = 0) -> None:
        self._shapes: dict[str, tuple[int, ...]] = {}
        for part, first, last in (("actor", inputs, actions), ("critic", inputs + seen, 1)):
            for number, (left, right) in enumerate(pairwise((first, hidden, hidden, last))):
                # Named as in the files of release 0.1.0, which counted the tanh between layers.
                self._shapes[f"{part}.{2 * number}.weight"] = (right, left)
                self._shapes[f"{part}.{2 * number}.bias"] = (right,)
        ends = np.cumsum([0, *map(math.prod, self._shapes.values())]).tolist()
        self._places = [slice(*here) for here in pairwise(ends)]
        size = ends[-1]
        self.flat: Floats = np.zeros(size, dtype=np.float32)
        self.gradient: Floats = np.zeros(size, dtype=np.float32)

    @property
    def actor(self) -> list[Layer]:
        """Return the actor's layers, which share memory with `flat`."""
        return self.layers(self.flat)[0]

    @property
    def critic(self) -> list[Layer]:
        """Return the critic's layers, which share memory with `flat`."""
        return self.layers(self.flat)[1]

    @property
    def parts(self) -> list[slice]:
        """Return where the actor's and the critic's weights are in `flat`."""
        end = sum(array.size for layer in self.actor for array in layer)
        return [slice(0, end), slice(end, self.flat.size)]

    def layers(self, flat: Floats) -> tuple[list[Layer], list[Layer]]:
        """Return numbers in the places of `flat` as the actor's and the critic's layers."""
        arrays = list(self.named(flat).values())
        layers = list(zip(arrays[::2], arrays[1::2], strict=True))
        return layers[:_LAYERS], layers[_LAYERS:]

    def named(self, flat: Floats) -> dict[str, Floats]:
        """Return numbers in the places of `flat` by the name of their weight, without a copy."""
        pieces = zip(self._shapes.items(), self._places, strict=True)
        return {name: flat[place].reshape(shape) for (name, shape), place in pieces}

    def read(self, arrays: Arrays) -> None:
        """Take over weights by name."""
        for name, array in self.named(self.flat).items():
            array[:] = arrays[f"weights.{name}"]

    def written(self) -> Arrays:
        """Return a copy of every weight by name."""
        return {f"weights.{name}": array.copy() for name, array in self.named(self.flat).items()}

    def policy(self, condition: Floats, version: int, value_scale: float) -> NetworkPolicy:
        """Return the networks as a policy, with values in units of the rewards."""
        actor, critic = (
            [(weights.T, biases) for weights, biases in part] for part in self.layers(self.flat)
        )
        first, biases = critic[0]
        obs = len(actor[0][0]) - condition.size
        # Whoever acts does not see what the critic saw; its values then assume nothing is there.
        critic[0] = np.concatenate([first[:obs], first[len(first) - condition.size :]]), biases
        weights, biases = critic[-1]
        critic[-1] = (weights * np.float32(value_scale), biases * np.float32(value_scale))
        return NetworkPolicy(actor, critic, version=version, condition=condition)


def orthogonal(network: ActorCritic, rng: np.random.Generator) -> None:
    """Set orthogonal weights: gain sqrt(2), at the actor's end 0.01, at the critic's end 1."""
    for layers, last_gain in ((network.actor, 0.01), (network.critic, 1.0)):
        for weights, biases in layers:
            drawn = rng.standard_normal(sorted(weights.shape, reverse=True))
            found, upper = np.linalg.qr(drawn)
            found *= np.sign(np.diag(upper))
            gain = last_gain if weights is layers[-1][0] else 2.0**0.5
            weights[:] = gain * (found if found.shape == weights.shape else found.T)
            biases[:] = 0.0


def uniform(network: ActorCritic, rng: np.random.Generator) -> None:
    """Draw weights and biases uniformly within 1/sqrt(inputs)."""
    for weights, biases in (*network.actor, *network.critic):
        bound = weights.shape[1] ** -0.5
        for array in (weights, biases):
            array[:] = rng.uniform(-bound, bound, array.shape)
