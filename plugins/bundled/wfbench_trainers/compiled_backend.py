"""Who runs the networks and computes their gradients: compiled passes, on the CPU.

Rows are shared out by their number alone and the shares' gradients are added up in their order, so
results are the same bit for bit however many threads there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from functools import partial
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from wfbench.policies.layers import BLOCK

from .batch import Batch
from .crew import Crew, Task
from .grouping import Groups, inputs_of
from .layouts import (
    Floats,
    Inputs,
    new_gradients,
    new_scratch,
    new_weights,
    pack,
    shape_of,
    unpack,
)
from .networks import ActorCritic, Layer
from .objective import Acted, Parts, Transitions, Weighting, acted_of, new_sums, parts_of
from .passes import ACTOR, CRITIC, VALUES, add_up, pass_over_share

SHARES = 4
"""Shares of the rows of a network, at most; each has a gradient of its own."""
_SHARE = 4 * BLOCK
"""Rows of a share, at least, if there are that many."""

_EMPTY, _NO_ROWS = np.empty(0, dtype=np.float32), np.empty(0, dtype=np.int64)
_NOTHING = acted_of(
    Transitions(_NO_ROWS, _NO_ROWS, _NO_ROWS, _EMPTY, np.empty(0, dtype=np.bool_)),
    _EMPTY,
    _EMPTY,
    Weighting(0.0, 0.0, 0.0),
    1,
)


class _Net:
    """One of the networks as the passes take it."""

    def __init__(self, layers: list[Layer], gradient: list[Layer], condition: int) -> None:
        (first, _), *_, (last, _) = layers
        self.shape = shape_of(first.shape[1] - condition, first.shape[0], last.shape[0])
        self.weights = new_weights(self.shape)
        self.every, self.gradients = new_gradients(self.shape, SHARES)
        self._layers = [array for layer in layers for array in layer]
        self._found = [array for layer in gradient for array in layer]

    def read(self, condition: Floats) -> None:
        """Take over the present weights."""
        pack(self.shape, condition, self.weights, *self._layers)

    def write(self, condition: Floats, shares: int) -> None:
        """Add up the shares' gradients, and leave the sum with the network."""
        add_up(self.every, shares)
        unpack(self.shape, self.gradients[0], condition, *self._found)


class CompiledBackend:
    """Runs the networks by compiled passes, in several threads."""

    def __init__(self, network: ActorCritic, condition: int, threads: int) -> None:
        self._crew = Crew(threads)
        parts = zip(network.layers(network.flat), network.layers(network.gradient), strict=True)
        self._actor, self._critic = (_Net(*part, condition) for part in parts)
        shapes = self._actor.shape, self._critic.shape
        self._rooms = [new_scratch(*shapes) for _ in range(threads)]
        self._known: list[tuple[Floats, Inputs]] = []

    def at_work(self) -> AbstractContextManager[None]:
        """Have threads until the end of the block."""
        return self._crew.at_work()

    def values(self, rows: Floats, condition: Floats) -> Floats:
        """Return the critic's values of rows of its inputs."""
        every = np.arange(len(rows) + 1)
        groups = Groups(every[:-1], every, every)
        values = np.empty(len(groups.rows), dtype=np.float32)
        self._critic.read(condition)
        sums = new_sums(SHARES)
        self._crew.run(self._tasks(VALUES, self._inputs(rows), groups, _NOTHING, sums, values))
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
        """Leave the gradient of the loss of some transitions with the networks; return the loss.

        `targets` and `advantages` are of the whole batch. Without `advantages` they are the targets
        minus the present values.
        """
        by_row, by_value = batch.groups if chosen is None else batch.grouped(chosen)
        acted = acted_of(batch.data, advantages, targets, weighting, len(by_row.order))
        values = np.empty(len(by_value.rows), dtype=np.float32)
        sums = new_sums(SHARES)  # actor and critic add to different ones
        value_tasks = self._tasks(
            CRITIC, self._inputs(batch.value_rows), by_value, acted, sums, values
        )
        for net in (self._actor, self._critic):
            net.read(condition)
        tasks = self._tasks(ACTOR, self._inputs(batch.rows), by_row, acted, sums, values)
        if advantages is not None:
            self._crew.run(tasks + value_tasks)
        elif by_value is by_row:  # the advantages of a share need the values of no other
            pairs = zip(value_tasks, tasks, strict=True)
            self._crew.run([partial(_one_by_one, pair) for pair in pairs])
        else:
            self._crew.run(value_tasks)
            self._crew.run(tasks)
        self._critic.write(condition, len(_shares(len(by_value.rows))))
        self._actor.write(condition, len(tasks))
        return parts_of(sums)

    def _tasks(
        self,
        kind: int,
        inputs: Inputs,
        groups: Groups,
        acted: Acted,
        sums: NDArray[np.float64],
        values: Floats,
    ) -> list[Task]:
        """Return the tasks of one kind of pass, one per share."""
        net = self._actor if kind == ACTOR else self._critic

        def task(number: int, first: int, last: int, thread: int) -> None:
            pass_over_share(
                kind,
                net.shape,
                net.weights,
                inputs,
                groups,
                acted,
                first,
                last,
                self._rooms[thread],
                net.every[number],
                net.gradients[number],
                sums[number],
                values,
            )

        shares = _shares(len(groups.rows))
        return [partial(task, number, *share) for number, share in enumerate(shares)]

    def _inputs(self, rows: Floats) -> Inputs:
        """Return rows as the passes take them; those of the last two calls are kept."""
        for known, inputs in self._known:
            if known is rows:
                return inputs
        self._known = [*self._known[-1:], (rows, inputs_of(rows))]
        return self._known[-1][1]


def _one_by_one(tasks: Sequence[Task], thread: int) -> None:
    for task in tasks:
        task(thread)


def _shares(rows: int) -> list[tuple[int, int]]:
    """Share rows out, in whole blocks; how depends on nothing but their number."""
    blocks = -(-rows // BLOCK)
    count = min(SHARES, -(-rows // _SHARE))
    ends = [BLOCK * (blocks * number // count) for number in range(count + 1)]
    return [(first, min(last, rows)) for first, last in pairwise(ends)]
