"""A table of distinct observations and what a policy makes of each.

An entry is found by its row as 64-bit words, compared in full, so a hash collision can never answer
for another row. The last row of words is for the row that is looked up.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .compiling import compiled, part
from .layers import BLOCK

_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(29)


@part
def pack_row(raw: Any, row: int, words: Any) -> None:
    """Pack the bytes of a row into 64-bit words, the last one padded with zeros."""
    size = raw.shape[1]
    for w in range(words.shape[0]):
        first = 8 * w
        word = np.uint64(0)
        if first + 8 <= size:  # a loop of fixed length is unrolled
            for b in range(8):
                word |= np.uint64(raw[row, first + b]) << np.uint64(8 * b)
        else:
            for b in range(size - first):
                word |= np.uint64(raw[row, first + b]) << np.uint64(8 * b)
        words[w] = word


@part
def hash_words(words: Any) -> Any:
    """Return a 64-bit hash of packed words."""
    key = np.uint64(words.shape[0])
    for w in range(words.shape[0]):
        key = (key ^ words[w]) * _MULTIPLIER
        key ^= key >> _SHIFT
    return key


@part
def find_slot(slots: Any, hashes: Any, words: Any, key: Any, wanted: int) -> Any:
    """Return the slot of the entry equal to entry `wanted`, or the empty slot where it belongs."""
    mask = slots.shape[0] - 1
    slot = int(key >> np.uint64(20)) & mask
    while slots[slot] >= 0:
        entry = slots[slot]
        if hashes[entry] == key:
            same = True
            for w in range(words.shape[1]):
                if words[entry, w] != words[wanted, w]:
                    same = False
                    break
            if same:
                return slot
        slot = (slot + 1) & mask
    return slot


@compiled
def index_entries(slots: Any, hashes: Any, used: int) -> None:
    """Enter the first `used` entries, all different, into empty `slots`."""
    mask = slots.shape[0] - 1
    for entry in range(used):
        slot = int(hashes[entry] >> np.uint64(20)) & mask
        while slots[slot] >= 0:
            slot = (slot + 1) & mask
        slots[slot] = entry


class Entries(NamedTuple):
    """Entries of a table; after those that are found, room for a block of others."""

    hashes: NDArray[np.uint64]
    words: NDArray[np.uint64]
    cdf: NDArray[np.float32]
    log_probs: NDArray[np.float32]
    values: NDArray[np.float32]


class EntryTable:
    """Entries for the distinct observations seen so far; doubles until `max_rows`."""

    def __init__(self, row_bytes: int, num_actions: int, max_rows: int, first_bytes: int) -> None:
        self.max_rows = max_rows
        self.used = np.zeros(1, dtype=np.int64)
        self._words = -(-row_bytes // 8)
        self._num_actions = num_actions
        first_rows = first_bytes // (8 * (self._words + num_actions))
        self._allocate(min(max(first_rows, 1), max_rows))

    @property
    def capacity(self) -> int:
        """Return how many entries fit without growing."""
        return len(self.entries.hashes) - 1

    def grow(self) -> None:
        """Make room for twice as many entries, `max_rows` at most."""
        old = self.entries
        used = int(self.used[0])
        self._allocate(min(2 * self.capacity, self.max_rows))
        pairs: Any = zip(old, self.entries, strict=True)
        for source, target in pairs:
            target[:used] = source[:used]
        index_entries(self.slots, self.entries.hashes, used)

    def _allocate(self, capacity: int) -> None:
        self.may_grow = capacity < self.max_rows
        slots = 2 << max(capacity, 1).bit_length()
        self.slots: NDArray[np.int32] = np.full(slots, -1, dtype=np.int32)
        rows = capacity + BLOCK
        self.entries = Entries(
            np.empty(capacity + 1, dtype=np.uint64),
            np.empty((capacity + 1, self._words), dtype=np.uint64),
            np.empty((rows, self._num_actions), dtype=np.float32),
            np.empty((rows, self._num_actions), dtype=np.float32),
            np.empty(rows, dtype=np.float32),
        )
