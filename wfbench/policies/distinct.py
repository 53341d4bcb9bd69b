"""Which rows of an array are equal: what lets a learner run its networks once per distinct row."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from .kernel import _hash, _pack


@njit(nogil=True, cache=True)
def _group(raw: Any, words: Any, hashes: Any, slots: Any, first: Any, inverse: Any) -> int:
    mask = slots.shape[0] - 1
    used = 0
    for row in range(raw.shape[0]):
        _pack(raw, row, words[used])
        key = _hash(words[used])
        slot = int(key >> np.uint64(20)) & mask
        while True:
            entry = slots[slot]
            if entry < 0:
                slots[slot] = used
                hashes[used] = key
                first[used] = row
                inverse[row] = used
                used += 1
                break
            if hashes[entry] == key and (words[entry] == words[used]).all():
                inverse[row] = entry
                break
            slot = (slot + 1) & mask
    return used


def distinct_rows(rows: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The index of the first of each distinct row, and for every row which distinct one it is.

    Rows are compared byte for byte; distinct rows are numbered in the order they appear.
    """
    flat = np.ascontiguousarray(rows.reshape(len(rows), -1))
    raw = flat.view(np.uint8)
    count = len(raw)
    first = np.empty(count, dtype=np.int64)
    inverse = np.empty(count, dtype=np.int64)
    used = _group(
        raw,
        np.empty((count + 1, -(-raw.shape[1] // 8)), dtype=np.uint64),
        np.empty(count, dtype=np.uint64),
        np.full(4 << max(count, 1).bit_length(), -1, dtype=np.int32),
        first,
        inverse,
    )
    return first[:used].copy(), inverse
