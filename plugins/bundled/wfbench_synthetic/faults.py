"""Carry out faults for real."""

from __future__ import annotations

import ctypes
import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

from .options import Fault

EXIT_CODE = 3
"""Of the faults `exit` and `ctor-exit`."""


class TwoArgumentError(Exception):
    """An error that cannot be unpickled: it needs two arguments."""

    def __init__(self, first: str, second: str) -> None:
        super().__init__(f"{first} {second}")


class KeywordOnlyError(Exception):
    """An error that cannot be unpickled: its argument is keyword-only."""

    def __init__(self, *, detail: str) -> None:
        super().__init__(detail)


class UnpicklableError(Exception):
    """An error that cannot be pickled: it holds a lock."""

    def __init__(self, message: str) -> None:
        super().__init__(message, threading.Lock())

    def __str__(self) -> str:
        return str(self.args[0])


class NotAnException(BaseException):
    """An error that `except Exception` does not catch."""


def fire(fault: Fault | None, step: int, *, seconds: float, once: str) -> str | None:
    """Carry out a fault if it is due at `step` (0: constructor, -1: close), and return its name.

    With the file `once` it happens only if there is no such file, which it then creates.
    """
    if fault is None or fault.step != step:
        return None
    if once:
        try:
            Path(once).touch(exist_ok=False)
        except FileExistsError:
            return None
    _carry_out(fault, seconds)
    return fault.name


def _carry_out(fault: Fault, seconds: float) -> None:
    text = f"synthetic fault {fault.name} at step {fault.step}"
    if fault.name in _ERRORS:
        raise _ERRORS[fault.name](text)
    match fault.name:
        case "exit" | "ctor-exit":
            os._exit(EXIT_CODE)
        case "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        case "segv":
            ctypes.string_at(0)
        case "stop":
            os.kill(os.getpid(), signal.SIGSTOP)
        case "hang" | "ctor-hang" | "close-hang":
            while True:
                time.sleep(3600)
        case "slow":
            time.sleep(seconds)


_ERRORS: dict[str, Callable[[str], BaseException]] = {
    "raise": ValueError,
    "ctor-raise": ValueError,
    "raise-2arg": lambda text: TwoArgumentError(text, "with two arguments"),
    "raise-kwonly": lambda text: KeywordOnlyError(detail=text),
    "raise-unpicklable": UnpicklableError,
    "raise-base": NotAnException,
}
