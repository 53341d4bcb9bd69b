"""Evaluate a policy, one row at a time, through a table of distinct observations.

Every sum runs in a fixed order over one row, so a row's result is the same bit for bit whatever
else is in the batch, with or without the table.

A network is one flat float32 array: for each layer its weights [inputs, outputs] in row-major order
and then its biases; `sizes` lists the widths from input to output. The table holds one entry per
distinct observation: the row as 64-bit words (compared in full, so a hash collision can never
answer for another row), the cumulative distribution, the log-probabilities and the value. The last
entry is scratch space for the current row and is never looked up.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .compiling import compiled, part

NOT_FINITE = -1
"""What `act_rows` returns if a row gives no probabilities."""


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
def _layer(weights: Any, biases: Any, inputs: Any, active: Any, sums: Any) -> None:
    """Sum up the weighted non-zero inputs, four at a time to save passes over `sums`."""
    width = biases.shape[0]
    for j in range(width):
        sums[j] = biases[j]
    count = 0
    for i in range(weights.shape[0]):
        if inputs[i] != np.float32(0.0):
            active[count] = i
            count += 1
    paired = count - count % 4
    for k in range(0, paired, 4):
        a, b, c, d = active[k], active[k + 1], active[k + 2], active[k + 3]
        u, v, w, x = inputs[a], inputs[b], inputs[c], inputs[d]
        for j in range(width):
            left = u * weights[a, j] + v * weights[b, j]
            right = w * weights[c, j] + x * weights[d, j]
            sums[j] += left + right
    for k in range(paired, count):
        i = active[k]
        x = inputs[i]
        for j in range(width):
            sums[j] += x * weights[i, j]


_LARGEST = np.float32(87.0)
"""Larger powers of e count as infinite."""
_SMALLEST = np.float32(-69.0)
"""Smaller powers of e count as 0; products with 1e-30 stay normal numbers, and so fast."""
_LOG2_E = np.float32(1.0 / math.log(2.0))
_LN2_HIGH = np.float32(0.693359375)
_LN2_LOW = np.float32(math.log(2.0) - 0.693359375)
_HALF = np.float32(0.5)
_TERM_3, _TERM_4, _TERM_5, _TERM_6, _TERM_7 = (
    np.float32(1.0 / math.factorial(n)) for n in range(3, 8)
)


@part
def exponentials(powers: Any, bits: Any, count: int) -> None:
    """Replace the first `count` numbers by e to their power, to about 7 digits; below 1e-30 by 0.

    Written so that the compiler turns every loop into vector code, which a call per number would
    prevent: the whole part of the power of 2 becomes an exponent, a polynomial does the rest.
    """
    one = np.float32(1.0)
    for j in range(count):
        power = powers[j]
        # Not min and max: NaN must stay NaN.
        if power > _LARGEST:  # noqa: PLR1730 (see above)
            power = _LARGEST
        if power < _SMALLEST:  # noqa: PLR1730 (see above)
            power = _SMALLEST
        whole = np.floor(power * _LOG2_E + _HALF)
        if not whole == whole:  # noqa: PLR0124, SIM201 (NaN, in a form that is vector code)
            whole = np.float32(0.0)
        rest = power - whole * _LN2_HIGH - whole * _LN2_LOW
        series = _TERM_7
        series = series * rest + _TERM_6
        series = series * rest + _TERM_5
        series = series * rest + _TERM_4
        series = series * rest + _TERM_3
        series = series * rest + _HALF
        series = series * rest + one
        powers[j] = series * rest + one
        exponent = (np.int32(whole) + np.int32(127)) << np.int32(23)
        bits[j] = np.int32(0) if power == _SMALLEST else exponent
    scale = bits.view(np.float32)
    for j in range(count):
        powers[j] *= scale[j]


@part
def _tanh(values: Any, powers: Any, bits: Any) -> None:
    count = values.shape[0]
    one, two = np.float32(1.0), np.float32(2.0)
    for j in range(count):
        powers[j] = two * values[j]
    exponentials(powers, bits, count)
    for j in range(count):
        values[j] = one - two / (powers[j] + one)


@part
def _forward(params: Any, sizes: Any, units: Any, active: Any, powers: Any, bits: Any) -> Any:
    """Run the network on the inputs at the start of `units`; return where its outputs begin."""
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
        _layer(weights, params[bias : bias + width], inputs, active, sums)
        if layer + 1 < layers:
            _tanh(sums, powers, bits)
        offset = bias + width
    return first


@part
def _softmax(logits: Any, powers: Any, bits: Any, cdf: Any, log_probs: Any) -> bool:
    """Fill in the distribution; return False if a number is not finite."""
    n = cdf.shape[0]
    top = logits[0]
    for a in range(1, n):
        top = max(top, logits[a])
    for a in range(n):
        powers[a] = logits[a] - top
    exponentials(powers, bits, n)
    total = 0.0
    for a in range(n):
        total += float(powers[a])
        cdf[a] = total
    if not math.isfinite(total):
        return False
    log_total = math.log(total)
    share = np.float32(1.0 / total)
    for a in range(n - 1):
        cdf[a] *= share
        log_probs[a] = float(logits[a]) - float(top) - log_total
    cdf[n - 1] = 1.0
    log_probs[n - 1] = float(logits[n - 1]) - float(top) - log_total
    return True


@part
def _choose(cdf: Any, draw: float) -> int:
    """Return the first action whose cumulative probability exceeds the draw."""
    low = 0
    high = cdf.shape[0] - 1
    while low < high:
        middle = (low + high) >> 1
        if float(cdf[middle]) > draw:
            high = middle
        else:
            low = middle + 1
    return low


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


@compiled
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
    units: Any,
    active: Any,
    powers: Any,
    bits: Any,
) -> Any:
    """Act on rows from `start` on; return the row it stopped at.

    That is the number of rows if all are done, an earlier row if the table is full and `may_grow`,
    and `NOT_FINITE` if a row gives no probabilities.
    """
    rows = obs.shape[0]
    work = hashes.shape[0] - 1
    for row in range(start, rows):
        pack_row(raw, row, words[work])
        key = hash_words(words[work])
        slot = find_slot(slots, hashes, words, key, work)
        entry = slots[slot]
        if entry < 0:
            if used[0] == work and may_grow:
                return row
            for i in range(obs.shape[1]):
                units[i] = obs[row, i]
            entry = used[0]
            first = _forward(actor, actor_sizes, units, active, powers, bits)
            sound = _softmax(units[first:], powers, bits, cdf[entry], entry_log_probs[entry])
            first = _forward(critic, critic_sizes, units, active, powers, bits)
            entry_values[entry] = units[first]
            if not (sound and math.isfinite(units[first])):
                return NOT_FINITE
            if entry != work:
                for w in range(words.shape[1]):
                    words[entry, w] = words[work, w]
                hashes[entry] = key
                slots[slot] = entry
                used[0] += 1
        action = _choose(cdf[entry], draws[row])
        actions[row] = action
        log_probs[row] = entry_log_probs[entry, action]
        values[row] = entry_values[entry]
    return rows


def work_space(
    actor_sizes: NDArray[np.int64], critic_sizes: NDArray[np.int64]
) -> tuple[NDArray[Any], ...]:
    """Return the last arguments of `act_rows`: room for the numbers of one row."""
    widest = int(max(actor_sizes.max(), critic_sizes.max()))
    return (
        np.empty(max(actor_sizes.sum(), critic_sizes.sum()), dtype=np.float32),
        np.empty(widest, dtype=np.int64),
        np.empty(widest, dtype=np.float32),
        np.empty(widest, dtype=np.int32),
    )


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
