"""Choose actions through a table of distinct observations.

Rows that are not in the table yet are evaluated together, in blocks.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .compiling import compiled, part
from .elementary import exponentials
from .layers import BLOCK, forward, list_inputs
from .table import Entries, find_slot, hash_words, pack_row
from .tiles import LANES

NOT_FINITE = -1
"""What `act_rows` returns if a row gives no probabilities."""


class Networks(NamedTuple):
    """Actor and critic as `layers.flatten` makes them."""

    actor: NDArray[np.float32]
    actor_sizes: NDArray[np.int64]
    critic: NDArray[np.float32]
    critic_sizes: NDArray[np.int64]


class Room(NamedTuple):
    """Room for the numbers of one block."""

    entries: NDArray[np.int64]
    """The entry of each row."""
    new_rows: NDArray[np.int64]
    new_entries: NDArray[np.int64]
    lists: NDArray[np.int32]
    counts: NDArray[np.int64]
    units: NDArray[np.float32]
    powers: NDArray[np.float32]
    exponents: NDArray[np.int32]


def new_room(networks: Networks) -> Room:
    """Return room for the blocks of a policy."""
    sizes = (networks.actor_sizes, networks.critic_sizes)
    units = max(sum(-(-int(width) // LANES) * LANES for width in each[1:]) for each in sizes)
    actions = int(networks.actor_sizes[-1])
    return Room(
        np.empty(BLOCK, dtype=np.int64),
        np.empty(BLOCK, dtype=np.int64),
        np.empty(BLOCK, dtype=np.int64),
        np.empty(BLOCK * int(networks.actor_sizes[0]), dtype=np.int32),
        np.empty(BLOCK, dtype=np.int64),
        np.zeros(BLOCK * units, dtype=np.float32),
        np.empty(actions, dtype=np.float32),
        np.empty(actions, dtype=np.int32),
    )


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
    first = 0
    for a in range(cdf.shape[0] - 1):  # as vector code it takes half the time of bisection
        first += float(cdf[a]) <= draw
    return first


@part
def _evaluate(obs: Any, rows: Any, networks: Networks, found: Entries, room: Room) -> bool:
    """Fill in the entries of new rows; return False if one gives no probabilities."""
    list_inputs(obs, rows, room.lists, room.counts)
    lists, counts, units = room.lists, room.counts, room.units
    first, width = forward(networks.critic, networks.critic_sizes, obs, rows, lists, counts, units)
    sound = True
    for r in range(rows.shape[0]):
        value = units[first + r * width]
        found.values[room.new_entries[r]] = value
        sound = sound and math.isfinite(value)
    first, width = forward(networks.actor, networks.actor_sizes, obs, rows, lists, counts, units)
    for r in range(rows.shape[0]):
        entry = room.new_entries[r]
        logits = units[first + r * width :]
        cdf, log_probs = found.cdf[entry], found.log_probs[entry]
        sound = sound and _softmax(logits, room.powers, room.exponents, cdf, log_probs)
    return sound


@compiled
def act_rows(
    obs: Any,
    raw: Any,
    draws: Any,
    start: int,
    may_grow: bool,  # noqa: FBT001 (compiled code takes its arguments by position)
    networks: Networks,
    used: Any,
    slots: Any,
    found: Entries,
    room: Room,
    actions: Any,
    log_probs: Any,
    values: Any,
) -> Any:
    """Act on rows from `start` on; return the row it stopped at.

    That is the number of rows if all are done, an earlier row if the table is full and `may_grow`,
    and `NOT_FINITE` if a row gives no probabilities.
    """
    rows = obs.shape[0]
    capacity = found.hashes.shape[0] - 1
    row = start
    full = False
    while row < rows and not full:
        first, new, spare = row, 0, capacity
        while row < min(rows, first + BLOCK):
            pack_row(raw, row, found.words[capacity])
            key = hash_words(found.words[capacity])
            slot = find_slot(slots, found.hashes, found.words, key, capacity)
            entry = slots[slot]
            if entry < 0:
                full = used[0] == capacity and may_grow
                if full:
                    break
                if used[0] < capacity:
                    entry = used[0]
                    for w in range(found.words.shape[1]):
                        found.words[entry, w] = found.words[capacity, w]
                    found.hashes[entry] = key
                    slots[slot] = entry
                    used[0] += 1
                else:
                    entry = spare
                    spare += 1
                room.new_rows[new], room.new_entries[new] = row, entry
                new += 1
            room.entries[row - first] = entry
            row += 1
        if new and not _evaluate(obs, room.new_rows[:new], networks, found, room):
            return NOT_FINITE
        for r in range(first, row):
            entry = room.entries[r - first]
            action = _choose(found.cdf[entry], draws[r])
            actions[r] = action
            log_probs[r] = found.log_probs[entry, action]
            values[r] = found.values[entry]
    return row
