"""Compile functions that use nothing but arrays of their caller, and keep the result on disk.

Without arrays of its own a function has nothing to count references of; counting takes more than
half the time. A check for a zero divisor would keep a loop from becoming vector code.
"""

from __future__ import annotations

import gc
import hashlib
from collections.abc import Callable
from functools import cache, update_wrapper
from pathlib import Path
from types import CellType, FunctionType
from typing import Any, TypeVar

from numba import njit
from numba.core import event
from numba.extending import register_jitable

Function = TypeVar("Function", bound=Callable[..., Any])

_FLAGS: Any = {"nogil": True, "error_model": "numpy", "_nrt": False}


class _CollectionPause(event.Listener):
    """Switches garbage collection off while numba compiles, which makes much and leaves little."""

    def __init__(self) -> None:
        self._nested = 0
        self._switch_on = False

    def on_start(self, _event: Any) -> None:
        """Switch it off at the start of the outermost compilation."""
        if self._nested == 0:
            self._switch_on = gc.isenabled()
            gc.disable()
        self._nested += 1

    def on_end(self, _event: Any) -> None:
        """Switch it on again at the end of that one."""
        self._nested -= 1
        if self._nested == 0 and self._switch_on:
            gc.enable()


_register: Any = event.register  # without annotations of its own
_register("numba:compile", _CollectionPause())


def part(function: Function, **flags: Any) -> Function:
    """Compile a function as part of the compiled ones that call it; Python runs it as it stands.

    Making it callable from Python would take as long as all the rest of its compilation.
    """
    found: Function = register_jitable(no_cfunc_wrapper=True, **_FLAGS, **flags)(function)
    return found


def compiled(function: Function, signature: str | None = None, **flags: Any) -> Function:
    """Compile a function that Python calls, and keep it until a source of its package changes."""
    made: Any = njit(signature, cache=True, **_FLAGS, **flags)
    found: Function = made(_keyed(function))
    return found


def _keyed(function: Any) -> Any:
    """Return the function with a further captured variable, the digest of its sources.

    The cache of numba looks at one source file only, but captured variables are part of its key.
    """
    folder = Path(function.__code__.co_filename).parent
    sources = CellType((sources_digest(folder), sources_digest(Path(__file__).parent)))
    code = function.__code__.replace(co_freevars=(*function.__code__.co_freevars, "sources"))
    closure = (*(function.__closure__ or ()), sources)
    keyed = FunctionType(code, function.__globals__, function.__name__, None, closure)
    return update_wrapper(keyed, function)


@cache
def sources_digest(folder: Path) -> str:
    """Return a digest of every source file in a folder."""
    digest = hashlib.blake2b(digest_size=16)
    for path in sorted(folder.glob("*.py")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()
