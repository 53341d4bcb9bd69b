"""Give each environment random state of its own in a simulator that draws from the global one."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np


class OwnRandomness:
    """The state from which `random` and `numpy.random` draw inside `drawn_here`."""

    def __init__(self, seed: int) -> None:
        words = [(seed >> shift) & 0xFFFFFFFF for shift in (0, 32)]
        self._state: Any = (
            random.Random(seed).getstate(),  # noqa: S311 (a simulation)
            np.random.RandomState(words).get_state(),
        )

    @contextmanager
    def drawn_here(self) -> Iterator[None]:
        """Switch the global generators to this state, and back afterwards."""
        outside = _global_state()
        _set_global_state(self._state)
        try:
            yield
        finally:
            self._state = _global_state()
            _set_global_state(outside)


def _global_state() -> Any:
    return random.getstate(), np.random.get_state()  # noqa: NPY002 (as above)


def _set_global_state(state: Any) -> None:
    random.setstate(state[0])
    np.random.set_state(state[1])  # noqa: NPY002 (as above)
