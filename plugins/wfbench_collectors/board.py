"""What workers let their supervisor see at any time, without being asked."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .layout import Field, Layout
from .segments import Segment


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

    def __init__(self, segment: Segment, workers: int) -> None:
        self._segment = segment
        layout = Layout(tuple(_row(worker) for worker in range(workers)))
        self._rows: dict[str, NDArray[Any]] = layout.arrays(segment.view())

    @classmethod
    def create(cls, workers: int) -> Board:
        """A new board of zeros."""
        layout = Layout(tuple(_row(worker) for worker in range(workers)))
        return cls(Segment.create(layout.size), workers)

    @classmethod
    def attach(cls, name: str, workers: int) -> Board:
        """A worker's view of the board."""
        return cls(Segment.attach(name), workers)

    @property
    def name(self) -> str:
        """The name to attach by."""
        return self._segment.name

    def row(self, worker: int) -> NDArray[np.int64]:
        """The numbers of one worker, indexed by `Note`."""
        return self._rows[str(worker)]

    def column(self, note: Note) -> NDArray[np.int64]:
        """One number of every worker, as of now."""
        return np.array([row[note] for row in self._rows.values()])

    def running_env(self, worker: int) -> int | None:
        """The environment that runs, or ran when the worker died."""
        mark = int(self.row(worker)[Note.ENV])
        return mark - 1 if mark else None

    def close(self) -> None:
        """Let go of the memory; the creator also removes it."""
        self._rows = {}
        self._segment.close()


def _row(worker: int) -> Field:
    return Field(str(worker), (len(Note),), "i8")
