"""How the compiled passes hold inputs, weights and gradients: flat, padded, in reading order."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wfbench.policies.layers import BLOCK
from wfbench.policies.tiles import LANES, aligned

from .compiling import compiled

Floats = NDArray[np.float32]


class Inputs(NamedTuple):
    """Rows of inputs, as lists of set bits if `dense` is empty."""

    starts: NDArray[np.int64]
    """[rows + 1] the bits set in row r are bits[starts[r]:starts[r + 1]]."""
    bits: NDArray[np.int32]
    dense: Floats
    """[rows, inputs] or [0, inputs]."""


class Weights(NamedTuple):
    """Weights as the passes read them: padded with zeros, flat, each matrix [inputs, outputs]."""

    first: Floats
    first_bias: Floats
    """With the share of the condition."""
    second: Floats
    second_bias: Floats
    second_back: Floats
    """[outputs, inputs]."""
    third: Floats
    third_bias: Floats
    third_back: Floats


class Gradient(NamedTuple):
    """The gradient of a loss by the weights, in their padded shapes."""

    first: Floats
    first_bias: Floats
    second: Floats
    second_bias: Floats
    third: Floats
    """[outputs, inputs]."""
    third_bias: Floats


class Scratch(NamedTuple):
    """Room for the numbers of one block, by layer and for the way back."""

    inputs: Floats
    one: Floats
    two: Floats
    out: Floats
    by_out: Floats
    by_two: Floats
    by_one: Floats
    powers: Floats
    exponents: NDArray[np.int32]


class Shape(NamedTuple):
    """Padded sizes of a perceptron, and how many of its outputs there are."""

    inputs: int
    hidden: int
    width: int
    outputs: int


def shape_of(inputs: int, hidden: int, outputs: int) -> Shape:
    """Return the padded shape of a perceptron."""
    return Shape(inputs, _padded(hidden, LANES), _padded(outputs, LANES), outputs)


def new_weights(shape: Shape) -> Weights:
    """Return weights of zero."""
    inputs, hidden, width, _ = shape
    square = hidden * hidden
    sizes = (inputs * hidden, hidden, square, hidden, square, hidden * width, width, width * hidden)
    return Weights(*(aligned(size) for size in sizes))


def new_gradients(shape: Shape, count: int) -> tuple[Floats, list[Gradient]]:
    """Return gradients of zero, all in one array [count, numbers]."""
    inputs, hidden, width, _ = shape
    sizes = (inputs * hidden, hidden, hidden * hidden, hidden, width * hidden, width)
    ends = np.cumsum(sizes)
    every = aligned(count * int(ends[-1])).reshape(count, -1)
    return every, [Gradient(*np.split(one, ends[:-1])) for one in every]


def new_scratch(*shapes: Shape) -> Scratch:
    """Return room for a block of any of the perceptrons."""
    inputs, hidden, width, _ = (max(sizes) for sizes in zip(*shapes, strict=True))
    widths = (inputs, hidden, hidden, width, width, hidden, hidden, width)
    rooms: list[Any] = [aligned(BLOCK * each) for each in widths]
    return Scratch._make([*rooms, np.zeros(BLOCK * width, dtype=np.int32)])


def _padded(size: int, step: int) -> int:
    return -(-size // step) * step


@compiled
def pack(
    shape: Any,
    condition: Any,
    out: Any,
    first: Any,
    first_bias: Any,
    second: Any,
    second_bias: Any,
    third: Any,
    third_bias: Any,
) -> None:
    """Write weights [outputs, inputs], as torch has them, in the order the passes read them."""
    inputs, hidden, width, outputs = shape
    units = first_bias.shape[0]
    for j in range(units):
        total = first_bias[j]
        for i in range(condition.shape[0]):
            total += first[j, inputs + i] * condition[i]
        out.first_bias[j] = total
        out.second_bias[j] = second_bias[j]
        for i in range(inputs):
            out.first[i * hidden + j] = first[j, i]
        for i in range(units):
            out.second[i * hidden + j] = second[j, i]
            out.second_back[j * hidden + i] = second[j, i]
    for o in range(outputs):
        out.third_bias[o] = third_bias[o]
        for i in range(units):
            out.third[i * width + o] = third[o, i]
            out.third_back[o * hidden + i] = third[o, i]


@compiled
def unpack(
    shape: Any,
    found: Any,
    condition: Any,
    first: Any,
    first_bias: Any,
    second: Any,
    second_bias: Any,
    third: Any,
    third_bias: Any,
) -> None:
    """Write a gradient in the shapes of torch's weights."""
    inputs, hidden, _, outputs = shape
    units = first_bias.shape[0]
    for j in range(units):
        first_bias[j] = found.first_bias[j]
        second_bias[j] = found.second_bias[j]
        for i in range(inputs):
            first[j, i] = found.first[i * hidden + j]
        for i in range(condition.shape[0]):
            first[j, inputs + i] = found.first_bias[j] * condition[i]
        for i in range(units):
            second[j, i] = found.second[i * hidden + j]
    for o in range(outputs):
        third_bias[o] = found.third_bias[o]
        for i in range(units):
            third[o, i] = found.third[o * hidden + i]
