"""Numbers, times and tables as people read them, the same in every format that is read."""

from __future__ import annotations

import math
from dataclasses import dataclass

from .document import Column, Exhibit, Heat, Table, Value

NONE = "-"


def written(value: Value, column: Column | None = None) -> str:
    """Return a cell as text."""
    if value is None:
        return NONE
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value
    if isinstance(value, int):
        return f"{value:,}"
    digits = None if column is None else column.digits
    return short(value) if digits is None else fixed(value, digits)


def short(value: float | None) -> str:
    """Return a number with about three significant digits; `-` if there is none."""
    if value is None or not math.isfinite(value):
        return NONE
    if value == 0:
        return "0"
    size = abs(value)
    if size >= 1e6:
        return f"{value / 1e6:,.3g} M"
    if size < 1e-3:
        return f"{value:.2g}"
    return f"{value:,.{max(0, 2 - math.floor(math.log10(size)))}f}"


def fixed(value: float | None, digits: int = 2) -> str:
    """Return a number with so many decimals; `-` if there is none."""
    if value is None or not math.isfinite(value):
        return NONE
    text = f"{value:,.{digits}f}"
    return text.removeprefix("-") if float(text.replace(",", "")) == 0 else text


def duration(seconds: float) -> str:
    """Return a time as people say it."""
    if seconds < 60:
        return f"{short(seconds)} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"


def many(count: int, singular: str) -> str:
    """Return a count with its noun: `1 run`, `2 runs`."""
    return f"{count:,} {singular}" if count == 1 else f"{count:,} {singular}s"


def interval(low: Value, high: Value, column: Column, what: str = "") -> str:
    """Return an interval in brackets, to follow its value; nothing if it has no ends."""
    if low is None or high is None:
        return ""
    return f" ({what}{written(low, column)} to {written(high, column)})"


@dataclass(frozen=True)
class WrittenCell:
    """A cell as text."""

    text: str
    is_number: bool = False


@dataclass(frozen=True)
class WrittenTable:
    """A table as text: an interval stands behind its value, a grid is a grid."""

    heads: tuple[str, ...]
    rows: tuple[tuple[WrittenCell, ...], ...]


def written_table(exhibit: Exhibit) -> WrittenTable:
    """Return the table of an exhibit as text."""
    table, picture = exhibit.table, exhibit.picture
    if isinstance(picture, Heat) and picture.count is None:
        return _crossed(table, picture)
    ends = {name for column in table.columns for name in column.interval or ()}
    places = [(i, column) for i, column in enumerate(table.columns) if column.name not in ends]
    return WrittenTable(
        tuple(column.title for _, column in places),
        tuple(tuple(_cell(table, row, i, column) for i, column in places) for row in table.rows),
    )


def _cell(table: Table, row: tuple[Value, ...], index: int, column: Column) -> WrittenCell:
    value = row[index]
    ends = column.interval
    low, high = (row[table.place(name)] for name in ends) if ends else (None, None)
    text = written(value, column) + interval(low, high, column)
    return WrittenCell(text, isinstance(value, (int, float)) and not isinstance(value, bool))


def _crossed(table: Table, picture: Heat) -> WrittenTable:
    column = table.column(picture.value)
    xs, ys = table.values(picture.x), table.values(picture.y)
    cells = dict(zip(zip(ys, xs, strict=True), table.values(picture.value), strict=True))
    across = list(dict.fromkeys(xs))
    rows = []
    for y in dict.fromkeys(ys):
        texts = [written(cells.get((y, x)), column) for x in across]
        rows.append((WrittenCell(str(y)), *(WrittenCell(text, text != NONE) for text in texts)))
    return WrittenTable((f"{picture.y} \\ {picture.x}", *map(str, across)), tuple(rows))
