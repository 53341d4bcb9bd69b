"""Named arrays laid out one after the other in one piece of memory."""

from __future__ import annotations

import math
import mmap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wfbench.contract import EnvInfo, StepArrays

_LINE = 64
"""Arrays start on their own cache line, so that writers of neighbours do not disturb each other."""


@dataclass(frozen=True)
class Field:
    """One array of a layout."""

    name: str
    shape: tuple[int, ...]
    dtype: str

    @property
    def size(self) -> int:
        """Bytes up to where the next array may start."""
        size = math.prod(self.shape) * np.dtype(self.dtype).itemsize
        return -(-size // _LINE) * _LINE


@dataclass(frozen=True)
class Layout:
    """Which arrays lie where; it crosses to workers, the arrays themselves do not."""

    fields: tuple[Field, ...]

    @property
    def size(self) -> int:
        """Bytes of all arrays; at least one, because nothing cannot be mapped."""
        return max(1, sum(field.size for field in self.fields))

    def arrays(self, memory: mmap.mmap, offset: int = 0) -> dict[str, NDArray[Any]]:
        """The arrays, as views of `memory`."""
        found = {}
        for field in self.fields:
            found[field.name] = np.ndarray(field.shape, field.dtype, memory, offset)
            offset += field.size
        return found


def step_fields(info: EnvInfo, cells: Sequence[int]) -> tuple[Field, ...]:
    """The fields of `StepArrays` with these leading dimensions."""
    lead = tuple(cells)
    return (
        Field("obs", (*lead, *info.obs_shape), info.obs_dtype),
        Field("rewards", lead, "f4"),
        Field("terminated", lead, "?"),
        Field("truncated", lead, "?"),
        Field("final_obs", (*lead, *info.obs_shape), info.obs_dtype),
        Field("compromised", lead, "u4"),
        Field("ended_session", lead, "?"),
    )


def step_arrays(arrays: dict[str, NDArray[Any]], rows: Any = ...) -> StepArrays:
    """`StepArrays` that look at these rows of the arrays of a layout."""
    return StepArrays(
        obs=arrays["obs"][rows],
        rewards=arrays["rewards"][rows],
        terminated=arrays["terminated"][rows],
        truncated=arrays["truncated"][rows],
        final_obs=arrays["final_obs"][rows],
        compromised=arrays["compromised"][rows],
        ended_session=arrays["ended_session"][rows],
    )
