"""Run a perceptron on a block of rows.

A network is one flat float32 array: for each layer its weights [inputs, outputs] in row-major order
and then its biases, outputs padded with zeros; `sizes` lists the widths from input to output. Every
sum runs in a fixed order over one row, so a row's result is the same bit for bit whatever else is
in the block.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import mul
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .compiling import part
from .elementary import tangents
from .tiles import HEIGHT, LANES, aligned, gather, multiply

BLOCK = 64
"""Rows of a block, at most."""


def flatten(
    layers: Sequence[tuple[NDArray[np.float32], NDArray[np.float32]]],
    condition: NDArray[np.float32],
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Return a network and its sizes, the condition merged into the first biases."""
    (weights, biases), *rest = layers
    size = weights.shape[0] - condition.size
    constant = condition.astype(np.float64) @ weights[size:].astype(np.float64)
    merged = [(weights[:size], (biases + constant).astype(np.float32)), *rest]
    sizes = [size, *(len(biases) for _, biases in merged)]
    heights = [size + 1 for size in sizes[:-1]]
    widths = [-(-size // LANES) * LANES for size in sizes[1:]]
    flat = aligned(sum(map(mul, heights, widths)))
    left = flat
    for (weights, biases), height, width in zip(merged, heights, widths, strict=True):
        place, left = left[: height * width].reshape(height, width), left[height * width :]
        place[:-1, : len(biases)], place[-1, : len(biases)] = weights, biases
    return flat, np.array(sizes, dtype=np.int64)


@part
def list_inputs(obs: Any, rows: Any, lists: Any, counts: Any) -> None:
    """List the inputs of each row that are not 0; count them, negatively if one is not 1 either."""
    size = obs.shape[1]
    for r in range(rows.shape[0]):
        row = rows[r]
        line = lists[r * size :]
        count = 0
        others = 0
        for i in range(size):  # without branches: bits are hard to guess
            line[count] = i
            count += obs[row, i] != 0
            others += (obs[row, i] != 0) & (obs[row, i] != 1)
        counts[r] = -count if others else count


@part
def _first_layer(
    obs: Any, rows: Any, lists: Any, counts: Any, weights: Any, width: int, sums: Any
) -> None:
    """Add up the weights of the inputs that are not 0, times the input."""
    step = obs.shape[1]
    for r in range(rows.shape[0]):
        if counts[r] >= 0:
            gather(sums, r, weights, width, lists, r * step, r * step + counts[r])
            continue
        line = sums[r * width :]
        for k in range(r * step, r * step - counts[r]):
            x = np.float32(obs[rows[r], lists[k]])
            of_input = weights[lists[k] * width :]
            for j in range(width):
                line[j] += x * of_input[j]


@part
def forward(
    network: Any, sizes: Any, obs: Any, rows: Any, lists: Any, counts: Any, units: Any
) -> Any:
    """Run the network on rows of `obs`; return where their outputs begin in `units`, and how wide.

    `lists` and `counts` are those of `list_inputs`.
    """
    height = -(-rows.shape[0] // HEIGHT) * HEIGHT
    begin = first = before = width = 0
    for layer in range(sizes.shape[0] - 1):
        size, wide = sizes[layer], -(-sizes[layer + 1] // LANES) * LANES
        weights, biases, sums = network[begin:], network[begin + size * wide :], units[first:]
        for r in range(height):
            for j in range(wide):
                sums[r * wide + j] = biases[j]
        if layer == 0:
            _first_layer(obs, rows, lists, counts, weights, wide, sums)
        else:
            multiply(sums, wide, units[before:], width, 1, weights, height, size)
        if layer + 2 < sizes.shape[0]:
            tangents(sums, height * wide)
        begin += (size + 1) * wide
        before, width = first, wide
        first += height * wide
    return before, width
