"""Who runs the networks and computes their gradients: compiled passes, on the CPU.

Rows are shared out by their number alone and the shares' gradients are added up in their order, so
results are the same bit for bit however many threads there are.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from .batch import Batch
from .crew import Crew, Task
from .grouping import Groups, group_rows, inputs_of
from .layouts import (
    BLOCK,
    Floats,
    Inputs,
    new_gradients,
    new_scratch,
    new_weights,
    pack,
    shape_of,
    unpack,
)
from .networks import ActorCritic, linear_layers
from .objective import Parts, Weighting, new_sums, parts_of
from .passes import Acted, add_up, gradient_of_share, outputs_of_share

SHARES = 8
"""Shares of the rows of a network, at most; each has a gradient of its own."""
_SHARE = 2 * BLOCK
"""Rows of a share, at least, if there are that many."""


class _Net:
    """One of the networks as the passes take it."""

    def __init__(self, part: nn.Sequential, condition: int) -> None:
        layers = list(linear_layers(part))
        first, last = layers[0], layers[-1]
        inputs = first.in_features - condition
        self.shape = shape_of(inputs, first.out_features, last.out_features)
        self.weights = new_weights(self.shape)
        self.every, self.gradients = new_gradients(self.shape, SHARES)
        self._tensors = [tensor for layer in layers for tensor in (layer.weight, layer.bias)]
        self._found = [torch.zeros_like(tensor) for tensor in self._tensors]

    def read(self, condition: Floats) -> None:
        """Take over torch's weights."""
        arrays = (tensor.detach().numpy() for tensor in self._tensors)
        pack(self.shape, *arrays, condition, self.weights)

    def write(self, condition: Floats, shares: int) -> None:
        """Add up the shares' gradients, and leave the sum with torch's weights."""
        add_up(self.every, shares)
        arrays = (tensor.numpy() for tensor in self._found)
        unpack(self.shape, self.gradients[0], condition, *arrays)
        for tensor, found in zip(self._tensors, self._found, strict=True):
            tensor.grad = found


class CompiledBackend:
    """Runs the networks by compiled passes, in several threads."""

    def __init__(self, network: ActorCritic, condition: int, threads: int) -> None:
        self._crew = Crew(threads)
        self._actor, self._critic = (_Net(p, condition) for p in (network.actor, network.critic))
        shapes = self._actor.shape, self._critic.shape
        self._rooms = [new_scratch(*shapes) for _ in range(threads)]
        self._known: tuple[Batch, Inputs, Inputs] | None = None

    def at_work(self) -> AbstractContextManager[None]:
        """Have threads until the end of the block."""
        return self._crew.at_work()

    def values(self, rows: Tensor, condition: Floats) -> Floats:
        """Return the critic's values of rows of its inputs."""
        net, inputs = self._critic, inputs_of(rows.numpy())
        net.read(condition)
        values = np.empty(len(rows), dtype=np.float32)
        every = np.arange(len(rows))

        def task(first: int, last: int, thread: int) -> None:
            room = self._rooms[thread]
            outputs_of_share(net.shape, net.weights, inputs, every, first, last, room, values)

        self._crew.run([partial(task, first, last) for first, last in _shares(len(rows))])
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
        data = batch.data
        if chosen is None:
            chosen = np.arange(len(data))
        acting, seen = self._inputs(batch)
        by_row = group_rows(data.row, chosen, len(batch.rows))
        by_value = by_row
        if batch.value_rows is not batch.rows:
            by_value = group_rows(data.value_row, chosen, len(batch.value_rows))
        share = 1.0 / len(chosen)
        gains = targets if advantages is None else advantages
        acted = Acted(
            data.action,
            data.old_log_probs,
            data.fresh,
            gains,
            targets,
            weighting.clip,
            weighting.value,
            weighting.entropy,
            share,
        )
        values = np.empty(len(by_value.rows), dtype=np.float32)
        sums = new_sums(2 * SHARES)
        value_tasks = self._tasks(self._critic, seen, by_value, acted, sums[:SHARES], values)
        for net in (self._actor, self._critic):
            net.read(condition)
        if advantages is None:
            self._crew.run(value_tasks)
            value_tasks = []
            known = np.empty(len(batch.value_rows), dtype=np.float32)
            known[by_value.rows] = values
            acted = acted._replace(advantages=targets - known[data.value_row])
        tasks = self._tasks(self._actor, acting, by_row, acted, sums[SHARES:], values)
        self._crew.run(tasks + value_tasks)
        self._critic.write(condition, len(_shares(len(by_value.rows))))
        self._actor.write(condition, len(tasks))
        return parts_of(sums)

    def _tasks(
        self,
        net: _Net,
        inputs: Inputs,
        groups: Groups,
        acted: Acted,
        sums: NDArray[np.float64],
        values: Floats,
    ) -> list[Task]:
        """Return the tasks of a network, one per share."""

        def task(number: int, first: int, last: int, thread: int) -> None:
            net.every[number] = 0.0
            gradient_of_share(
                net is self._actor,
                net.shape,
                net.weights,
                inputs,
                groups,
                acted,
                first,
                last,
                self._rooms[thread],
                net.gradients[number],
                sums[number],
                values,
            )

        shares = _shares(len(groups.rows))
        return [partial(task, number, *share) for number, share in enumerate(shares)]

    def _inputs(self, batch: Batch) -> tuple[Inputs, Inputs]:
        """Return the inputs of actor and critic; those of the last batch are kept."""
        if self._known is None or self._known[0] is not batch:
            acting = seen = inputs_of(batch.rows.numpy())
            if batch.value_rows is not batch.rows:
                seen = inputs_of(batch.value_rows.numpy())
            self._known = batch, acting, seen
        return self._known[1:]


def _shares(rows: int) -> list[tuple[int, int]]:
    """Share rows out, in whole blocks; how depends on nothing but their number."""
    blocks = -(-rows // BLOCK)
    count = min(SHARES, -(-rows // _SHARE))
    ends = [BLOCK * (blocks * number // count) for number in range(count + 1)]
    return [(first, min(last, rows)) for first, last in zip(ends, ends[1:], strict=False)]
