"""Torch runs the networks, on any device."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from wfbench.contract import UsageError

from .batch import Batch
from .layouts import Floats
from .networks import ActorCritic
from .objective import Parts, Weighting, objective


class TorchBackend:
    """Lets torch do everything but the objective."""

    def __init__(self, network: ActorCritic, device: str, threads: int) -> None:
        _check_device(device)
        torch.set_num_threads(threads)
        self.network = network
        self._device = device

    def at_work(self) -> AbstractContextManager[None]:
        """Need nothing."""
        return nullcontext()

    def values(self, rows: Floats, condition: Floats) -> Floats:
        """Return the critic's values of rows of its inputs."""
        with torch.no_grad():
            layers = self._layers(self.network.critic)
            values: Floats = self._outputs(layers, rows, condition)[:, 0].cpu().numpy()
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
        """Leave the gradient of the loss of some transitions with the networks; return the loss."""
        if chosen is not None:
            batch, targets = batch.part(chosen), targets[chosen]
            advantages = None if advantages is None else advantages[chosen]
        actor, critic = self._layers(self.network.actor), self._layers(self.network.critic)
        logits = self._outputs(actor, batch.rows, condition)
        values = self._outputs(critic, batch.value_rows, condition)[:, 0]
        plain_logits, plain_values = logits.detach().cpu().numpy(), values.detach().cpu().numpy()
        if advantages is None:
            advantages = targets - plain_values[batch.data.value_row]
        found = objective(plain_logits, plain_values, batch.data, advantages, targets, weighting)
        starts = [self._tensor(by) for by in (found.by_logits, found.by_values)]
        weights = [tensor for layer in (*actor, *critic) for tensor in layer]
        gradients = torch.autograd.grad((logits, values), weights, starts)
        places = self.network.named(self.network.gradient).values()
        for place, gradient in zip(places, gradients, strict=True):
            place[:] = gradient.cpu().numpy()
        return found

    def _tensor(self, array: Floats) -> Tensor:
        return torch.from_numpy(array).to(self._device)

    def _layers(self, layers: list[tuple[Floats, Floats]]) -> list[tuple[Tensor, ...]]:
        """Return layers as tensors to differentiate by."""
        return [tuple(self._tensor(a).requires_grad_() for a in layer) for layer in layers]

    def _outputs(self, layers: list[tuple[Tensor, ...]], rows: Floats, condition: Floats) -> Tensor:
        """Run a perceptron on each row with the condition appended.

        All rows have the same condition, so its share of the first layer is computed once.
        """
        (weights, biases), *rest = layers
        size = rows.shape[1]
        constant = biases + weights[:, size:] @ self._tensor(condition)
        outputs = functional.linear(self._tensor(rows), weights[:, :size], constant)
        for weights, biases in rest:
            outputs = functional.linear(torch.tanh(outputs), weights, biases)
        return outputs


def _check_device(device: str) -> None:
    """Raise UsageError if torch cannot compute on the device."""
    try:
        torch.zeros((), device=device)
    # RuntimeError: unknown name. The others: this build of torch lacks the device.
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        cause = str(error).strip().splitlines()[0]
        raise UsageError(f"--device {device} cannot be used: {cause}; use --device cpu") from error
