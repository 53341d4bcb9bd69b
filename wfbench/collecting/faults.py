"""Turn exceptions that cannot be trusted into text."""

from __future__ import annotations

import traceback

IN_PROCESS_FAULTS: tuple[type[BaseException], ...] = (Exception, SystemExit)
"""What counts as an environment's fault in the caller's own process; not KeyboardInterrupt."""

_LONGEST = 500


def cause_of(error: BaseException) -> str:
    """Return type and message of an exception in one line, even if it cannot print itself."""
    kind = type(error).__name__
    try:
        message = " ".join(str(error).split())
    except Exception:  # noqa: BLE001 - a broken __str__ must not hide the fault
        message = "(its message cannot be printed)"
    return f"{kind}: {message[:_LONGEST]}" if message else kind


def trace_of(error: BaseException) -> str:
    """Return the traceback as text."""
    try:
        return "".join(traceback.format_exception(error))
    except Exception:  # noqa: BLE001 - as above
        return "".join(traceback.format_tb(error.__traceback__)) + cause_of(error) + "\n"
