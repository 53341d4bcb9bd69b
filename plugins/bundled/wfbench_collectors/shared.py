"""Shared memory as arrays: named ones, and what workers let their supervisor see at any time."""

from __future__ import annotations

import math
import mmap
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wfbench.processes.segments import Segment

_LINE = 64
"""Bytes of a cache line: writers that have their own do not disturb each other."""


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


class Note(IntEnum):
    """The columns of the board."""

    ENV = 0
    """One more than the index of the environment that is running; 0: none."""
    ENV_NS = 1
    """Nanoseconds environments have been stepping."""
    POLICY_NS = 2
    """Nanoseconds the worker's own policy has been asked."""
    BEAT = 3
    """Rises whenever the worker gets something done."""
    WAITING = 4
    """1 while a free-running worker has nothing to do, so that no beat is expected of it."""


class Board:
    """One row of numbers per worker in shared memory, written by the worker, read by anyone."""

    def __init__(self, segment: Segment) -> None:
        self._segment = segment
        self.name = segment.name
        self._rows: NDArray[np.int64] = np.frombuffer(segment.view(), "i8").reshape(-1, _LINE // 8)

    @classmethod
    def create(cls, workers: int) -> Board:
        """Return a new board of zeros."""
        return cls(Segment.create(_LINE * workers))

    def row(self, worker: int) -> NDArray[np.int64]:
        """Return the numbers of one worker, indexed by `Note`."""
        row: NDArray[np.int64] = self._rows[worker]
        return row

    def column(self, note: Note) -> NDArray[np.int64]:
        """Return one number of every worker, as of now."""
        return self._rows[:, note].copy()

    def clear(self) -> None:
        """Set every number to 0; nobody may be writing."""
        self._rows[:] = 0

    def running_env(self, worker: int) -> int | None:
        """Return the environment that runs, or ran when the worker died."""
        mark = int(self._rows[worker, Note.ENV])
        return mark - 1 if mark else None

    def close(self) -> None:
        """Release the memory; the creator also removes it."""
        del self._rows
        self._segment.close()
