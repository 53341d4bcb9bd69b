"""A perceptron and its part of the objective over a share of the rows, in one compiled call."""

from __future__ import annotations

from typing import Any

import numpy as np

from wfbench.policies.layers import BLOCK

from .compiling import compiled
from .objective import policy_rows, value_rows
from .perceptron import backward, forward

ACTOR, CRITIC, VALUES = range(3)
"""Kinds of passes: the gradient of either network, or only the critic's values."""


@compiled
def pass_over_share(
    kind: int,
    shape: Any,
    weights: Any,
    inputs: Any,
    groups: Any,
    acted: Any,
    first: int,
    last: int,
    room: Any,
    every: Any,
    gradient: Any,
    sums: Any,
    values: Any,
) -> None:
    """Compute loss and gradient of the groups first ... last - 1; `every` is all of the gradient.

    `values` gets the critic's, by group.
    """
    _, _, width, outputs = shape
    if kind != VALUES:
        for i in range(every.shape[0]):
            every[i] = np.float32(0.0)
    for begin in range(first, last, BLOCK):
        end = min(begin + BLOCK, last)
        rows = groups.rows[begin:end]
        starts = groups.starts[begin : end + 1]
        forward(shape, weights, inputs, rows, room)
        if kind == ACTOR:
            policy_rows(
                room.out,
                width,
                outputs,
                starts,
                groups.order,
                acted,
                room.by_out,
                room.powers,
                room.exponents,
                sums,
            )
        else:
            for r in range(end - begin):
                values[begin + r] = room.out[r * width]
            if kind == VALUES:
                continue
            value_rows(
                room.out,
                width,
                starts,
                groups.order,
                acted,
                room.by_out,
                sums,
            )
        backward(shape, weights, inputs, rows, room, gradient)


@compiled
def add_up(every: Any, count: int) -> None:
    """Add the first gradients to the very first, in their order."""
    total = every[0]
    for n in range(1, count):
        one = every[n]
        for j in range(total.shape[0]):
            total[j] += one[j]
