"""Named arrays laid out one after the other in one piece of memory."""

from __future__ import annotations

import math
import mmap
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

_LINE = 64
"""Arrays start on their own cache line, so that writers of neighbours do not disturb each other."""


@dataclass(frozen=True)
class ArrayLayout:
    """Which arrays lie where; it crosses to workers, the arrays themselves do not."""

    shapes: Mapping[str, tuple[tuple[int, ...], str]]
    """Shape and type of each array."""

    @property
    def size(self) -> int:
        """Return the bytes of all arrays."""
        return sum(_size(*shape) for shape in self.shapes.values())

    def arrays(self, memory: mmap.mmap, offset: int = 0) -> dict[str, NDArray[Any]]:
        """Return the arrays, as views of `memory`."""
        found = {}
        for name, (shape, dtype) in self.shapes.items():
            found[name] = np.ndarray(shape, dtype, memory, offset)
            offset += _size(shape, dtype)
        return found


def _size(shape: tuple[int, ...], dtype: str) -> int:
    """Return the bytes up to where the next array may start."""
    size = math.prod(shape) * np.dtype(dtype).itemsize
    return -(-size // _LINE) * _LINE
