"""Actor and critic in torch, converted to and from plain arrays."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from wfbench.policies import NetworkPolicy

Arrays = dict[str, NDArray[Any]]


class ActorCritic(nn.Module):
    """Two separate perceptrons with tanh between their layers.

    The critic takes `seen` more inputs than the actor, between observation and condition.
    """

    def __init__(self, inputs: int, actions: int, hidden: int, seen: int = 0) -> None:
        super().__init__()
        self.actor = _perceptron(inputs, hidden, actions)
        self.critic = _perceptron(inputs + seen, hidden, 1)

    def logits(self, rows: Tensor, condition: Tensor) -> Tensor:
        """Return logits [rows, actions] of observations under one condition."""
        return _outputs(self.actor, rows, condition)

    def values(self, rows: Tensor, condition: Tensor) -> Tensor:
        """Return values [rows] of observations under one condition."""
        return _outputs(self.critic, rows, condition).squeeze(1)


def _outputs(part: nn.Sequential, rows: Tensor, condition: Tensor) -> Tensor:
    """Run a perceptron on each row with the condition appended.

    All rows have the same condition, so its share of the first layer is computed once.
    """
    first = next(linear_layers(part))
    size = rows.shape[1]
    constant = first.bias + first.weight[:, size:] @ condition
    outputs = nn.functional.linear(rows, first.weight[:, :size], constant)
    for layer in list(part)[1:]:
        outputs = layer(outputs)
    return outputs


def _perceptron(inputs: int, hidden: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Linear(inputs, hidden),
        nn.Tanh(),
        nn.Linear(hidden, hidden),
        nn.Tanh(),
        nn.Linear(hidden, outputs),
    )


def orthogonal(network: ActorCritic, generator: torch.Generator) -> None:
    """Set orthogonal weights: gain sqrt(2), at the actor's end 0.01, at the critic's end 1."""
    for part, last_gain in ((network.actor, 0.01), (network.critic, 1.0)):
        layers = list(linear_layers(part))
        for index, layer in enumerate(layers):
            gain = last_gain if index == len(layers) - 1 else 2.0**0.5
            nn.init.orthogonal_(layer.weight, gain, generator=generator)
            nn.init.zeros_(layer.bias)


def uniform(network: ActorCritic, generator: torch.Generator) -> None:
    """Draw weights uniformly within 1/sqrt(inputs), as torch does, from a given generator."""
    for part in (network.actor, network.critic):
        for layer in linear_layers(part):
            bound = layer.in_features**-0.5
            for parameter in (layer.weight, layer.bias):
                nn.init.uniform_(parameter, -bound, bound, generator=generator)


def linear_layers(part: nn.Sequential) -> Iterator[nn.Linear]:
    """Yield the layers that have weights."""
    return (layer for layer in part if isinstance(layer, nn.Linear))


def network_policy(
    network: ActorCritic, condition: NDArray[np.float32], version: int, value_scale: float
) -> NetworkPolicy:
    """Return the networks as a policy of plain arrays, with values in units of the rewards."""
    actor, critic = (
        [
            (
                layer.weight.detach().cpu().numpy().T.copy(),
                layer.bias.detach().cpu().numpy().copy(),
            )
            for layer in linear_layers(part)
        ]
        for part in (network.actor, network.critic)
    )
    first, biases = critic[0]
    obs = len(actor[0][0]) - condition.size
    # Whoever acts does not see what the critic saw; its values then assume that nothing is there.
    critic[0] = np.concatenate([first[:obs], first[len(first) - condition.size :]]), biases
    weights, biases = critic[-1]
    critic[-1] = (weights * np.float32(value_scale), biases * np.float32(value_scale))
    return NetworkPolicy(actor, critic, version=version, condition=condition)


def weights_to_arrays(network: ActorCritic) -> Arrays:
    """Return every weight by name."""
    return {
        f"weights.{name}": tensor.detach().cpu().numpy().copy()
        for name, tensor in network.state_dict().items()
    }


def arrays_to_weights(network: ActorCritic, arrays: Any) -> None:
    """Load weights by name."""
    network.load_state_dict(
        {
            name: torch.from_numpy(np.array(arrays[f"weights.{name}"]))
            for name in network.state_dict()
        }
    )
