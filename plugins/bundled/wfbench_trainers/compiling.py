"""Compile the learner's passes."""

from __future__ import annotations

from typing import Any

from wfbench.policies import compiling
from wfbench.policies.compiling import Function

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
