"""Where a figure that is followed over time changed its level."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

FALSE_ALARMS = 0.01
"""The share of series without a change in which one is found all the same."""
_LEAST = 3
"""Values that a level has at least."""
_SHUFFLES = 1999
_SEED = 20_261_117

_Rows = NDArray[np.float64]


def change_points(values: Sequence[float]) -> tuple[int, ...]:
    """Return the indices at which a new level begins.

    The split of the ranks that sets earlier and later values furthest apart is compared with the
    best split of the same values shuffled: for values that differ by chance only, in whatever
    distribution, it wins in 1 of 100 series. Both sides of a change are searched again, and each
    change is then placed between its neighbours where the means lie furthest apart.
    """
    found = [0, *_found(values, 0), len(values)]
    neighbours = zip(found, found[2:], strict=False)
    data = np.asarray(values, dtype=np.float64)[None, :]
    return tuple(begin + _best(_apart(data[:, begin:end]))[0] for begin, end in neighbours)


def levels(values: Sequence[float], changes: Sequence[int]) -> list[float]:
    """Return the median of each stretch between changes."""
    ends = pairwise((0, *changes, len(values)))
    return [float(np.median(values[begin:end])) for begin, end in ends]


def _found(values: Sequence[float], begin: int) -> list[int]:
    """Return where `values`, which begin at an index, change."""
    if len(values) < 2 * _LEAST:
        return []
    ranks = _ranks(values)
    at, distance = _best(_apart(ranks))
    shuffled = np.random.default_rng(_SEED).permuted(np.tile(ranks[0], (_SHUFFLES, 1)), axis=1)
    wins = int((_apart(shuffled).max(axis=1) >= distance * (1.0 - 1e-12)).sum())
    if (1 + wins) / (1 + _SHUFFLES) > FALSE_ALARMS:
        return []
    return [*_found(values[:at], begin), begin + at, *_found(values[at:], begin + at)]


def _ranks(values: Sequence[float]) -> _Rows:
    """Return the ranks of values as a single row; equal values share theirs."""
    _, places, counts = np.unique(np.asarray(values), return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) - (counts - 1) / 2)[places])[None, :]


def _best(apart: _Rows) -> tuple[int, float]:
    """Return the first index after the best split, and how far it sets its sides apart."""
    return _LEAST + int(apart[0].argmax()), float(apart[0].max())


def _apart(rows: _Rows) -> _Rows:
    """Return how far both sides of every split of each row lie apart, in like units."""
    size = rows.shape[1]
    before = np.arange(_LEAST, size - _LEAST + 1)
    sums = np.cumsum(rows, axis=1)[:, before - 1] - before * rows.mean(axis=1, keepdims=True)
    return np.asarray(np.abs(sums) / np.sqrt(before * (size - before)))
