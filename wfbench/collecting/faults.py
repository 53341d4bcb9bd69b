"""How an exception that cannot be trusted becomes text."""

from __future__ import annotations

import traceback

IN_PROCESS_FAULTS: tuple[type[BaseException], ...] = (Exception, SystemExit)
"""What an environment in the caller's own process may raise without it being meant for others."""

_LONGEST = 500


def cause_of(error: BaseException) -> str:
    """Type and message of any exception in one line, even of one that cannot print itself."""
    kind = type(error).__name__
    try:
        message = " ".join(str(error).split())
    except Exception:  # noqa: BLE001 - a broken __str__ must not hide the fault
        message = "(its message cannot be printed)"
    return f"{kind}: {message[:_LONGEST]}" if message else kind


def trace_of(error: BaseException) -> str:
    """The traceback as text."""
    try:
        return "".join(traceback.format_exception(error))
    except Exception:  # noqa: BLE001 - as above
        return "".join(traceback.format_tb(error.__traceback__)) + cause_of(error) + "\n"
