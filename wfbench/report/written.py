"""Numbers as people read them, the same in every format that is read."""

from __future__ import annotations

import math

from .document import Column, Value

NONE = "-"


def written(value: Value, column: Column | None = None) -> str:
    """A cell as text."""
    if value is None:
        return NONE
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value
    if isinstance(value, int):
        return f"{value:,}"
    digits = None if column is None else column.digits
    return short(value) if digits is None else _fixed(value, digits)


def short(value: float) -> str:
    """A number with about three digits that mean something."""
    if not math.isfinite(value):
        return NONE
    if value == 0:
        return "0"
    size = abs(value)
    if size >= 1e6:
        return f"{value / 1e6:,.3g} M"
    if size >= 100:
        return f"{value:,.0f}"
    if size < 1e-3:
        return f"{value:.2g}"
    return f"{value:.{max(0, 2 - math.floor(math.log10(size)))}f}"


def _fixed(value: float, digits: int) -> str:
    if not math.isfinite(value):
        return NONE
    text = f"{value:,.{digits}f}"
    return text.removeprefix("-") if float(text.replace(",", "")) == 0 else text
