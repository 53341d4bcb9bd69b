"""The uniform numbers actions are drawn with, many steps at a time."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from wfbench.contract import uniform_draws

_AT_ONCE = 1 << 16
"""Numbers made at once: enough to hide the cost of the call, few enough to stay cached."""


def draw_rows(
    seeds: NDArray[np.uint64], first_step: int, steps: int
) -> Iterator[NDArray[np.float64]]:
    """Yield a row of draws per step, one number per seed, as `uniform_draws` defines them."""
    for rows in draw_blocks(seeds, first_step, steps):
        yield from rows


def draw_blocks(
    seeds: NDArray[np.uint64], first_step: int, steps: int
) -> Iterator[NDArray[np.float64]]:
    """Yield the same rows, some steps at a time."""
    chunk = max(1, _AT_ONCE // max(1, len(seeds)))
    for start in range(0, steps, chunk):
        numbers = np.arange(start, min(start + chunk, steps), dtype=np.uint64)
        yield uniform_draws(seeds[np.newaxis, :], numbers[:, np.newaxis] + np.uint64(first_step))
