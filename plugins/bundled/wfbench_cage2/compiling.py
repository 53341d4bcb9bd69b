"""Compile the rules, which happens once, and say so."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from numba.core import event

from wfbench.contract import OWNER_VARIABLE
from wfbench.policies import compiling
from wfbench.policies.compiling import Function

NOTICE = "compiling the CAGE-2 kernel (first run only)"
_PATIENCE = 1.0


def part(function: Function) -> Function:
    """Compile a rule as part of those that call it.

    Most are called from one place, and steps are up to a third faster if they call none.
    """
    return compiling.part(function, forceinline=True)


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
    """Write one line to stderr if numba compiles for more than a second inside.

    Workers keep silent: the process they work for compiles, too, or waits for them.
    """
    if OWNER_VARIABLE in os.environ:
        yield
        return
    timer = threading.Timer(_PATIENCE, sys.stderr.write, [NOTICE + "\n"])
    timer.daemon = True
    try:
        with event.install_listener("numba:compile", _Starter(timer)):
            yield
    finally:
        timer.cancel()
        if timer.ident is not None:
            timer.join()
