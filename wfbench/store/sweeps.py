"""Sweeps as files of plain arrays: how one policy did under each of several orders."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wfbench.contract import Order, UsageError

from .files import read_arrays, write_arrays

SCHEMA = "sweeps/1"
NORMAL, STRESS = "normal", "stress"
"""The sweeps of a joint run: from the start of an episode, and after blue was held."""
_ARRAYS = ("env_return", "choices", "right")
_MET = "met"


@dataclass(frozen=True)
class Sweep:
    """One policy, evaluated under each of several orders on the same env seeds."""

    orders: tuple[Order, ...]
    env_return: NDArray[np.float64]
    """[orders, episodes]; column e of every row has the same env seed."""
    choices: NDArray[np.int64]
    """[orders, episodes] fixes made where there was a choice."""
    right: NDArray[np.int64]
    """[orders, episodes] of those, the ones that follow the order."""
    met: NDArray[np.int64] = field(default_factory=lambda: np.zeros((0, 0, 0), dtype=np.int64))
    """[orders, sets of units, units] how often a choice was made while this set of unit types was
    compromised (bit u: unit u), by the type that was fixed."""


def write_sweeps(path: Path, sweeps: Mapping[str, Sweep]) -> None:
    """Write sweeps by name."""
    arrays = {f"{name}/{part}": getattr(s, part) for name, s in sweeps.items() for part in _ARRAYS}
    for name, sweep in sweeps.items():
        arrays[f"{name}/orders"] = np.array(sweep.orders, dtype=np.int64)
        arrays[f"{name}/{_MET}"] = sweep.met
    write_arrays(path, arrays, {"schema": f"wfbench/{SCHEMA}", "sweeps": list(sweeps)})


def read_sweeps(path: Path) -> dict[str, Sweep]:
    """Read sweeps by name."""
    arrays, meta = read_arrays(path, SCHEMA)
    found = {}
    for name in meta.get("sweeps", ()):
        parts = [arrays.get(f"{name}/{part}") for part in ("orders", *_ARRAYS)]
        if any(part is None or part.ndim != 2 for part in parts):
            raise UsageError(f"{path}: sweep {name!r} lacks arrays that it should have")
        orders, returns, choices, right = (np.asarray(part) for part in parts)
        values = (returns, choices, right)
        if any(value.shape != (len(orders), values[0].shape[1]) for value in values):
            raise UsageError(f"{path}: the arrays of sweep {name!r} differ in shape")
        units = orders.shape[1]
        if (np.sort(orders, axis=1) != np.arange(units)).any():
            raise UsageError(f"{path}: sweep {name!r} has a row that is not an order")
        met = arrays.get(f"{name}/{_MET}")
        if met is None or met.shape != (len(orders), 2**units, units):
            raise UsageError(f"{path}: sweep {name!r} does not say which choices were met")
        found[str(name)] = Sweep(tuple(map(tuple, orders.tolist())), returns, choices, right, met)
    return found


def right_by(sweep: Sweep, judges: Sequence[Order]) -> NDArray[np.float64]:
    """Return the share of each policy's choices that each judging order calls right.

    [orders, judges]; NaN where there was no choice.
    """
    units = sweep.met.shape[2]
    member = (np.arange(2**units)[:, None] >> np.arange(units)) & 1 == 1
    total = sweep.met.sum(axis=(1, 2))
    shares = np.full((len(sweep.orders), len(judges)), np.nan)
    for column, judge in enumerate(judges):
        place = np.argsort(judge)
        first = np.where(member, place, units).min(axis=1)
        right = (place[None, :] == first[:, None]) & member
        counted = (sweep.met * right).sum(axis=(1, 2))
        shares[total > 0, column] = counted[total > 0] / total[total > 0]
    return shares
