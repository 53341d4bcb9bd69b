"""One perceptron with two hidden layers, forward and backward, a block of rows at a time.

The numbers of a block stay in the cache from the inputs to the gradient. Inputs that are all bits
are lists of those that are set, and the first layer sums up their weights.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wfbench.policies.elementary import tangents
from wfbench.policies.tiles import HEIGHT, gather, multiply, scatter

from .compiling import part


@part
def _fill(out: Any, biases: Any, rows: int) -> None:
    """Begin each row with the biases."""
    width = biases.shape[0]
    for r in range(rows):
        line = out[r * width :]
        for j in range(width):
            line[j] = biases[j]


@part
def forward(shape: Any, weights: Any, inputs: Any, rows: Any, room: Any) -> None:
    """Compute the outputs of the inputs' rows `rows`, at most a block, into `room.out`."""
    size, hidden, width, _ = shape
    count = rows.shape[0]
    height = -(-count // HEIGHT) * HEIGHT
    _fill(room.one, weights.first_bias, height)
    if inputs.dense.shape[0]:
        for r in range(count):
            line = room.inputs[r * size :]
            for i in range(size):
                line[i] = inputs.dense[rows[r], i]
        multiply(room.one, hidden, room.inputs, size, 1, weights.first, height, size)
    else:
        for r in range(count):
            first, last = inputs.starts[rows[r]], inputs.starts[rows[r] + 1]
            gather(room.one, r, weights.first, hidden, inputs.bits, first, last)
    tangents(room.one, height * hidden)
    _fill(room.two, weights.second_bias, height)
    multiply(room.two, hidden, room.one, hidden, 1, weights.second, height, hidden)
    tangents(room.two, height * hidden)
    _fill(room.out, weights.third_bias, height)
    multiply(room.out, width, room.two, hidden, 1, weights.third, height, hidden)


@part
def _through_tangents(by: Any, outputs: Any, biases: Any, count: int) -> None:
    """Turn a gradient by outputs of a layer into that by its sums; add that of its biases."""
    width = biases.shape[0]
    one = np.float32(1.0)
    for i in range(count * width):
        by[i] *= one - outputs[i] * outputs[i]
    _add_rows(biases, by, count)


@part
def _add_rows(biases: Any, by: Any, count: int) -> None:
    width = biases.shape[0]
    for r in range(count):
        line = by[r * width :]
        for j in range(width):
            biases[j] += line[j]


@part
def backward(shape: Any, weights: Any, inputs: Any, rows: Any, room: Any, gradient: Any) -> None:
    """Add to `gradient` that of the block which `forward` left in `room`, from `room.by_out`."""
    size, hidden, width, outputs = shape
    count = rows.shape[0]
    height = -(-count // HEIGHT) * HEIGHT
    for i in range(height * hidden):
        room.by_two[i] = np.float32(0.0)
        room.by_one[i] = np.float32(0.0)
    _add_rows(gradient.third_bias, room.by_out, count)
    tall = -(-outputs // HEIGHT) * HEIGHT
    multiply(gradient.third, hidden, room.by_out, 1, width, room.two, tall, count)
    multiply(room.by_two, hidden, room.by_out, width, 1, weights.third_back, height, outputs)
    _through_tangents(room.by_two, room.two, gradient.second_bias, count)
    multiply(gradient.second, hidden, room.one, 1, hidden, room.by_two, hidden, count)
    multiply(room.by_one, hidden, room.by_two, hidden, 1, weights.second_back, height, hidden)
    _through_tangents(room.by_one, room.one, gradient.first_bias, count)
    if inputs.dense.shape[0]:
        tall = size - size % HEIGHT
        multiply(gradient.first, hidden, room.inputs, 1, size, room.by_one, tall, count)
        for r in range(count):  # the few inputs that fill no tile
            line = room.by_one[r * hidden :]
            for i in range(tall, size):
                x = room.inputs[r * size + i]
                found = gradient.first[i * hidden :]
                for j in range(hidden):
                    found[j] += x * line[j]
    else:
        for r in range(count):
            first, last = inputs.starts[rows[r]], inputs.starts[rows[r] + 1]
            scatter(gradient.first, hidden, inputs.bits, first, last, room.by_one, r)
