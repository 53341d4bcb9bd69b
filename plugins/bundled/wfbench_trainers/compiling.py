"""Compile the learner's passes, and give them memory they read fastest."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from wfbench.policies import compiling
from wfbench.policies.compiling import Function

_LINE = 64
"""Bytes of a cache line."""
_FLAGS: Any = {"fastmath": {"reassoc", "contract"}}
"""Sums may be regrouped and products fused into them.

Both are decided when compiling, so the same numbers give the same results every time.
"""


def part(function: Function) -> Function:
    """Compile a pass as part of those that call it."""
    return compiling.part(function, **_FLAGS)


def compiled(function: Function) -> Function:
    """Compile a pass that Python calls."""
    return compiling.compiled(function, **_FLAGS)


def aligned(size: int) -> NDArray[np.float32]:
    """Return zeros that begin with a cache line."""
    spare = np.zeros(size + _LINE // 4, dtype=np.float32)
    first = -spare.ctypes.data % _LINE // 4
    return spare[first : first + size]
