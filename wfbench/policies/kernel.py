"""Compiled evaluation of a policy, one row at a time, through a table of distinct observations.

Every sum runs in a fixed order over one row only, so a row's result is the same bit for bit
whatever else is in the batch, with or without the table.

A network is one flat float32 array: for each layer its weights [inputs, outputs] in row-major order
and then its biases; `sizes` lists the widths from input to output. The table holds one entry per
distinct observation: the row as 64-bit words (compared in full, so a hash collision can never
answer for another row), the cumulative distribution, the log-probabilities and the value. The last
entry is never looked up: it is where the row at hand is worked out.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

NOT_FINITE = -1
"""What `act_rows` returns when a row gives no probabilities."""

_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(29)


@njit(nogil=True, cache=True)
def _pack(raw: Any, row: int, words: Any) -> None:
    """The bytes of a row as 64-bit words, the last one filled up with zeros."""
    size = raw.shape[1]
    for w in range(words.shape[0]):
        first = 8 * w
        word = np.uint64(0)
        if first + 8 <= size:
            for b in range(8):
                word |= np.uint64(raw[row, first + b]) << np.uint64(8 * b)
        else:
            for b in range(size - first):
                word |= np.uint64(raw[row, first + b]) << np.uint64(8 * b)
        words[w] = word


@njit(nogil=True, cache=True)
def _hash(words: Any) -> Any:
    key = np.uint64(words.shape[0])
    for w in range(words.shape[0]):
        key = (key ^ words[w]) * _MULTIPLIER
        key ^= key >> _SHIFT
    return key


@njit(nogil=True, cache=True)
def _layer(weights: Any, biases: Any, inputs: Any, sums: Any) -> None:
    for j in range(biases.shape[0]):
        sums[j] = biases[j]
    for i in range(weights.shape[0]):
        x = inputs[i]
        if x != np.float32(0.0):
            for j in range(weights.shape[1]):
                sums[j] += x * weights[i, j]


@njit(nogil=True, cache=True)
def _tanh(values: Any) -> None:
    for j in range(values.shape[0]):
        # A third of the library function's cost, and exact to float32.
        values[j] = 1.0 - 2.0 / (math.exp(2.0 * float(values[j])) + 1.0)


@njit(nogil=True, cache=True)
def _forward(params: Any, sizes: Any, units: Any) -> Any:
    """The network's outputs for the inputs that `units` begins with; the rest is work space."""
    layers = sizes.shape[0] - 1
    offset = 0
    first = 0
    for layer in range(layers):
        width_in = sizes[layer]
        width = sizes[layer + 1]
        bias = offset + width_in * width
        inputs = units[first : first + width_in]
        first += width_in
        sums = units[first : first + width]
        weights = params[offset:bias].reshape(width_in, width)
        _layer(weights, params[bias : bias + width], inputs, sums)
        if layer + 1 < layers:
            _tanh(sums)
        offset = bias + width
    return units[first : first + sizes[layers]]


@njit(nogil=True, cache=True)
def _softmax(logits: Any, odds: Any, cdf: Any, log_probs: Any) -> bool:
    """Fill in the distribution; False if there is none because a number is not finite."""
    n = cdf.shape[0]
    top = logits[0]
    for a in range(1, n):
        top = max(top, logits[a])
    total = 0.0
    for a in range(n):
        total += math.exp(float(logits[a]) - float(top))
        odds[a] = total
    if not math.isfinite(total):
        return False
    log_total = math.log(total)
    for a in range(n):
        cdf[a] = odds[a] / total
        log_probs[a] = float(logits[a]) - float(top) - log_total
    return True


@njit(nogil=True, cache=True)
def _choose(cdf: Any, draw: float) -> int:
    """The first action whose cumulative probability exceeds the draw."""
    low = 0
    high = cdf.shape[0] - 1
    while low < high:
        middle = (low + high) >> 1
        if float(cdf[middle]) > draw:
            high = middle
        else:
            low = middle + 1
    return low


@njit(nogil=True, cache=True)
def _find(slots: Any, hashes: Any, words: Any, key: Any, wanted: int) -> Any:
    """The slot of the entry equal to entry `wanted`, or the empty slot where it belongs."""
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


@njit(nogil=True, cache=True)
def index_entries(slots: Any, hashes: Any, used: int) -> None:
    """Enter the first `used` entries, all different, into empty `slots`."""
    mask = slots.shape[0] - 1
    for entry in range(used):
        slot = int(hashes[entry] >> np.uint64(20)) & mask
        while slots[slot] >= 0:
            slot = (slot + 1) & mask
        slots[slot] = entry


@njit(nogil=True, cache=True)
def act_rows(
    obs: Any,
    raw: Any,
    draws: Any,
    start: int,
    may_grow: bool,  # noqa: FBT001 (compiled code takes its arguments by position)
    actor: Any,
    actor_sizes: Any,
    critic: Any,
    critic_sizes: Any,
    used: Any,
    slots: Any,
    hashes: Any,
    words: Any,
    cdf: Any,
    entry_log_probs: Any,
    entry_values: Any,
    actions: Any,
    log_probs: Any,
    values: Any,
) -> Any:
    """Act on rows from `start` on. Returns the row it stopped at.

    That is the number of rows when all are done, an earlier row when the table is full and
    `may_grow`, and `NOT_FINITE` when a row gives no probabilities.
    """
    rows = obs.shape[0]
    work = hashes.shape[0] - 1
    actor_units = np.empty(actor_sizes.sum(), dtype=np.float32)
    critic_units = np.empty(critic_sizes.sum(), dtype=np.float32)
    odds = np.empty(cdf.shape[1], dtype=np.float64)
    for row in range(start, rows):
        _pack(raw, row, words[work])
        key = _hash(words[work])
        slot = _find(slots, hashes, words, key, work)
        entry = slots[slot]
        if entry < 0:
            if used[0] == work and may_grow:
                return row
            for i in range(obs.shape[1]):
                actor_units[i] = obs[row, i]
                critic_units[i] = obs[row, i]
            logits = _forward(actor, actor_sizes, actor_units)
            entry = work if used[0] == work else used[0]
            if not _softmax(logits, odds, cdf[entry], entry_log_probs[entry]):
                return NOT_FINITE
            entry_values[entry] = _forward(critic, critic_sizes, critic_units)[0]
            if not math.isfinite(entry_values[entry]):
                return NOT_FINITE
            if entry != work:
                words[entry] = words[work]
                hashes[entry] = key
                slots[slot] = entry
                used[0] += 1
        action = _choose(cdf[entry], draws[row])
        actions[row] = action
        log_probs[row] = entry_log_probs[entry, action]
        values[row] = entry_values[entry]
    return rows


class Table:
    """Entries for the distinct observations seen so far; doubles until `max_rows`."""

    def __init__(self, row_bytes: int, num_actions: int, max_rows: int, first_rows: int) -> None:
        self.max_rows = max_rows
        self.used = np.zeros(1, dtype=np.int64)
        self._words = -(-row_bytes // 8)
        self._num_actions = num_actions
        self._allocate(min(first_rows, max_rows))

    @property
    def capacity(self) -> int:
        """How many entries fit without growing."""
        return len(self.hashes) - 1

    def grow(self) -> None:
        """Make room for twice as many entries, `max_rows` at most."""
        old = self._entries()
        used = int(self.used[0])
        self._allocate(min(2 * self.capacity, self.max_rows))
        for source, target in zip(old, self._entries(), strict=True):
            target[:used] = source[:used]
        index_entries(self.slots, self.hashes, used)

    def _entries(self) -> tuple[NDArray[Any], ...]:
        return (self.hashes, self.words, self.cdf, self.log_probs, self.values)

    def _allocate(self, capacity: int) -> None:
        entries = capacity + 1
        slots = 2 << max(capacity, 1).bit_length()
        self.slots: NDArray[np.int32] = np.full(slots, -1, dtype=np.int32)
        self.hashes: NDArray[np.uint64] = np.empty(entries, dtype=np.uint64)
        self.words: NDArray[np.uint64] = np.empty((entries, self._words), dtype=np.uint64)
        self.cdf: NDArray[np.float32] = np.empty((entries, self._num_actions), dtype=np.float32)
        self.log_probs: NDArray[np.float32] = np.empty_like(self.cdf)
        self.values: NDArray[np.float32] = np.empty(entries, dtype=np.float32)
