"""The passage of Stable-Baselines3's actor-critic to and from plain arrays."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from wfbench.contract import Arrays
from wfbench.policies import NetworkPolicy


def network_policy(policy: Any, condition: NDArray[np.float32], version: int) -> NetworkPolicy:
    """Return the networks as a policy that a worker evaluates without torch."""
    extractor = policy.mlp_extractor
    actor = [*_layers(extractor.policy_net), *_layers(policy.action_net)]
    critic = [*_layers(extractor.value_net), *_layers(policy.value_net)]
    return NetworkPolicy(actor, critic, version=version, condition=condition)


def _layers(part: nn.Module) -> Iterator[tuple[NDArray[np.float32], NDArray[np.float32]]]:
    for layer in part.modules():
        if isinstance(layer, nn.Linear):
            yield (
                layer.weight.detach().cpu().numpy().T.copy(),
                layer.bias.detach().cpu().numpy().copy(),
            )


def state_to_arrays(policy: Any) -> dict[str, NDArray[Any]]:
    """Return every weight by name, and the moments of the optimiser."""
    arrays = {f"weights.{n}": _array(tensor) for n, tensor in policy.state_dict().items()}
    for index, moments in policy.optimizer.state_dict()["state"].items():
        arrays |= {f"optimiser.{index}.{name}": _array(value) for name, value in moments.items()}
    return arrays


def arrays_to_state(policy: Any, arrays: Arrays, *, optimiser: bool = True) -> None:
    """Take over weights and, unless it is to be left, the state of the optimiser."""
    policy.load_state_dict(
        {name: _tensor(arrays[f"weights.{name}"]) for name in policy.state_dict()}
    )
    if not optimiser:
        return
    moments: dict[int, dict[str, torch.Tensor]] = {}
    for name, value in arrays.items():
        if name.startswith("optimiser."):
            _, index, key = name.split(".")
            moments.setdefault(int(index), {})[key] = _tensor(value)
    policy.optimizer.load_state_dict({**policy.optimizer.state_dict(), "state": moments})


def _array(tensor: torch.Tensor) -> NDArray[Any]:
    array: NDArray[Any] = tensor.detach().cpu().numpy().copy()
    return array


def _tensor(array: NDArray[Any]) -> torch.Tensor:
    return torch.from_numpy(np.array(array))
