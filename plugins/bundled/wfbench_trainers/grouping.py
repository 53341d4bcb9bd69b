"""Which transitions are of which row, and which bits of a row are set."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .compiling import compiled
from .layouts import Floats, Inputs

Indices = NDArray[np.int64]


class Groups(NamedTuple):
    """Transitions by row: those of row rows[g] are order[starts[g]:starts[g + 1]]."""

    rows: Indices
    starts: Indices
    order: Indices


@compiled
def _group(
    row: Any,
    chosen: Any,
    empty: bool,  # noqa: FBT001 (compiled code takes its arguments by position)
    place: Any,
    rows: Any,
    starts: Any,
    order: Any,
) -> int:
    """Sort by counting; return how many groups there are."""
    for u in range(place.shape[0]):
        place[u] = 0
    for c in range(chosen.shape[0]):
        place[row[chosen[c]]] += 1
    groups = 0
    total = 0
    for u in range(place.shape[0]):
        count = place[u]
        if count or empty:
            rows[groups] = u
            starts[groups] = total
            place[u] = total
            groups += 1
            total += count
    starts[groups] = total
    for c in range(chosen.shape[0]):
        u = row[chosen[c]]
        order[place[u]] = chosen[c]
        place[u] += 1
    return groups


def group_rows(row: Indices, chosen: Indices, rows: int, *, empty: bool = False) -> Groups:
    """Group some transitions by their row, with a group for rows without transitions if `empty`."""
    most = rows if empty else min(rows, len(chosen))
    place, used = np.empty(rows, dtype=np.int64), np.empty(most, dtype=np.int64)
    starts, order = np.empty(most + 1, dtype=np.int64), np.empty(len(chosen), dtype=np.int64)
    count = _group(row, chosen, empty, place, used, starts, order)
    return Groups(used[:count], starts[: count + 1], order)


@compiled
def _set_bits(rows: Any, starts: Any, bits: Any) -> int:
    """List the inputs that are 1; return how many, or -1 if one is neither 1 nor 0."""
    zero, one = np.float32(0.0), np.float32(1.0)
    count = 0
    starts[0] = 0
    for r in range(rows.shape[0]):
        row = rows[r]
        others = 0
        for i in range(row.shape[0]):
            others += (row[i] != zero) & (row[i] != one)
        if others:
            return -1
        for i in range(row.shape[0]):  # without branches: bits are hard to guess
            bits[count] = i
            count += row[i] != zero
        starts[r + 1] = count
    return count


def inputs_of(rows: Floats) -> Inputs:
    """Return rows as the compiled passes take them."""
    starts = np.empty(len(rows) + 1, dtype=np.int64)
    bits = np.empty(rows.size, dtype=np.int32)
    count = _set_bits(rows, starts, bits)
    if count < 0:
        return Inputs(starts[:1], bits[:0], rows)
    return Inputs(starts, bits[:count].copy(), rows[:0])
