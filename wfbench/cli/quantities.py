"""Amounts as people write them: shares such as 10% and times such as 90s or 5m."""

from __future__ import annotations

import math

from wfbench.contract import UsageError

_SECONDS = {"s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}


def share(text: str) -> float:
    """Return a share: `10%` and `0.1` are the same."""
    number = text.strip()
    scale = 0.01 if number.endswith("%") else 1.0
    return scale * _number(number.removesuffix("%"), f"{text!r} is not a share such as 10%")


def seconds(text: str) -> float:
    """Return a time in seconds: `90`, `90s`, `1.5m` and `2h`."""
    number = text.strip()
    unit = number.lstrip("0123456789.eE+- ")
    problem = f"{text!r} is not a time such as 90s, 5m or 1h"
    if unit and unit not in _SECONDS:
        raise UsageError(problem)
    return _SECONDS.get(unit, 1.0) * _number(number.removesuffix(unit), problem)


def _number(text: str, problem: str) -> float:
    try:
        found = float(text)
    except ValueError:
        raise UsageError(problem) from None
    if not math.isfinite(found) or found <= 0.0:
        raise UsageError(problem)
    return found
