"""What workers let their supervisor see at any time, without being asked."""

from __future__ import annotations

from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from wfbench.processes.segments import Segment


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


_WORDS = 8
"""Numbers per worker: a cache line, so that writers of neighbours do not disturb each other."""


class Board:
    """One row of numbers per worker in shared memory, written by the worker, read by anyone."""

    def __init__(self, segment: Segment) -> None:
        self._segment = segment
        self.name = segment.name
        self._rows: NDArray[np.int64] = np.frombuffer(segment.view(), "i8").reshape(-1, _WORDS)

    @classmethod
    def create(cls, workers: int) -> Board:
        """Return a new board of zeros."""
        return cls(Segment.create(8 * _WORDS * workers))

    def row(self, worker: int) -> NDArray[np.int64]:
        """Return the numbers of one worker, indexed by `Note`."""
        row: NDArray[np.int64] = self._rows[worker]
        return row

    def column(self, note: Note) -> NDArray[np.int64]:
        """Return one number of every worker, as of now."""
        return self._rows[:, note].copy()

    def running_env(self, worker: int) -> int | None:
        """Return the environment that runs, or ran when the worker died."""
        mark = int(self._rows[worker, Note.ENV])
        return mark - 1 if mark else None

    def close(self) -> None:
        """Release the memory; the creator also removes it."""
        del self._rows
        self._segment.close()
