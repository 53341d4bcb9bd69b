"""Compile the rules, with a cache that depends on all of their sources.

The rules only use arrays of their caller, so numba's reference counting has nothing to count. It is
switched off: counting every array view made a step three times slower.
"""

from __future__ import annotations

import hashlib
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from numba import njit
from numba.core import event

Function = TypeVar("Function", bound=Callable[..., Any])

NOTICE = "compiling the CAGE-2 kernel (first run only)"
_PATIENCE = 1.0
_SOURCES = (
    *("compiling", "draws", "kernel", "layout", "lookup", "red_agents"),
    *("rules_blue", "rules_red", "tables"),
)
_FLAGS: Any = {"nogil": True, "error_model": "numpy", "_nrt": False}


def rule(function: Function) -> Function:
    """Compile a rule as part of the entry points that use it."""
    compiled: Function = njit(**_FLAGS)(function)
    return compiled


def entry_point(signature: str) -> Any:
    """Compile a function that Python calls, for these types only; keep the result on disk."""
    return njit(signature, cache=True, **_FLAGS)


@cache
def sources_digest() -> str:
    """Return a digest of every source file that the compiled code is made of."""
    digest = hashlib.blake2b(digest_size=16)
    for name in _SOURCES:
        source = Path(__file__).with_name(f"{name}.py").read_bytes()
        digest.update(name.encode() + b"\0" + source + b"\0")
    return digest.hexdigest()


class _Starter(event.Listener):
    """Starts a timer with the first compilation."""

    def __init__(self, timer: threading.Timer) -> None:
        self._timer = timer

    def on_start(self, _event: Any) -> None:
        if self._timer.ident is None:
            self._timer.start()

    def on_end(self, _event: Any) -> None:
        """Do nothing: the timer goes on until the last compilation has ended."""


@contextmanager
def compile_notice() -> Iterator[None]:
    """Write one line to stderr if numba compiles for more than a second inside."""
    timer = threading.Timer(_PATIENCE, sys.stderr.write, [NOTICE + "\n"])
    timer.daemon = True
    try:
        with event.install_listener("numba:compile", _Starter(timer)):
            yield
    finally:
        timer.cancel()
        if timer.ident is not None:
            timer.join()
