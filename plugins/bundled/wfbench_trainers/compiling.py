"""Compile the learner's passes, and give them memory they read fastest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numba import njit
from numpy.typing import NDArray

Function = TypeVar("Function", bound=Callable[..., Any])

_LINE = 64
"""Bytes of a cache line."""


def compiled(function: Function) -> Function:
    """Compile with sums that may be regrouped and products that may be fused into them.

    Both are decided when compiling, so the same numbers give the same results every time.
    """
    flags: Any = {"error_model": "numpy", "_nrt": False, "fastmath": {"reassoc", "contract"}}
    found: Function = njit(nogil=True, cache=True, **flags)(function)
    return found


def aligned(size: int) -> NDArray[np.float32]:
    """Return zeros that begin with a cache line."""
    spare = np.zeros(size + _LINE // 4, dtype=np.float32)
    first = -spare.ctypes.data % _LINE // 4
    return spare[first : first + size]
