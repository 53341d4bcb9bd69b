"""Compile functions that use nothing but arrays of their caller."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from numba import njit

Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function, *, cache: bool = True) -> Function:
    """Compile without reference counting and with numpy's division.

    There is nothing to count, and counting takes more than half the time; a check for a zero
    divisor keeps a loop from becoming vector code.
    """
    flags: Any = {"error_model": "numpy", "_nrt": False}
    found: Function = njit(nogil=True, cache=cache, **flags)(function)
    return found
