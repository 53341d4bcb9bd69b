"""Find equal rows, so that a learner runs its networks once per distinct row."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .compiling import compiled
from .table import find_slot, hash_words, pack_row


@compiled
def _group(raw: Any, words: Any, hashes: Any, slots: Any, first: Any, inverse: Any) -> int:
    used = 0
    for row in range(raw.shape[0]):
        pack_row(raw, row, words[used])
        key = hash_words(words[used])
        slot = find_slot(slots, hashes, words, key, used)
        if slots[slot] < 0:
            slots[slot] = used
            hashes[used] = key
            first[used] = row
            used += 1
        inverse[row] = slots[slot]
    return used


def distinct_rows(rows: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the index of the first of each distinct row, and each row's distinct number.

    Rows are compared byte for byte; distinct rows are numbered in the order they appear.
    """
    flat = np.ascontiguousarray(rows.reshape(len(rows), -1))
    raw = flat.view(np.uint8)
    count = len(raw)
    first = np.empty(count, dtype=np.int64)
    inverse = np.empty(count, dtype=np.int64)
    used = _group(
        raw,
        np.empty((count, -(-raw.shape[1] // 8)), dtype=np.uint64),
        np.empty(count, dtype=np.uint64),
        np.full(4 << count.bit_length(), -1, dtype=np.int32),
        first,
        inverse,
    )
    return first[:used].copy(), inverse
