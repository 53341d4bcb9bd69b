"""Sweeps as files of plain arrays: how one policy did under each of several orders."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from wfbench.contract import Order, UsageError

from .files import read_arrays, write_arrays

SCHEMA = "sweeps/1"
NORMAL, STRESS = "normal", "stress"
"""The sweeps of a joint run: from the start of an episode, and after blue was held."""
_ARRAYS = ("env_return", "choices", "right")


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


def write_sweeps(path: Path, sweeps: Mapping[str, Sweep]) -> None:
    """Write sweeps by name."""
    arrays = {f"{name}/{part}": getattr(s, part) for name, s in sweeps.items() for part in _ARRAYS}
    arrays |= {f"{name}/orders": np.array(s.orders, dtype=np.int64) for name, s in sweeps.items()}
    write_arrays(path, arrays, {"schema": f"wfbench/{SCHEMA}", "sweeps": list(sweeps)})


def read_sweeps(path: Path) -> dict[str, Sweep]:
    """Read sweeps by name."""
    arrays, meta = read_arrays(path, SCHEMA)
    found = {}
    for name in meta.get("sweeps", ()):
        parts = [arrays.get(f"{name}/{part}") for part in ("orders", *_ARRAYS)]
        if any(part is None or part.ndim != 2 for part in parts):
            raise UsageError(f"{path}: sweep {name!r} lacks arrays that it should have")
        orders, *values = (np.asarray(part) for part in parts)
        if any(value.shape != (len(orders), values[0].shape[1]) for value in values):
            raise UsageError(f"{path}: the arrays of sweep {name!r} differ in shape")
        found[str(name)] = Sweep(tuple(map(tuple, orders.tolist())), *values)
    return found
