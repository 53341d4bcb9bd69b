"""CSV files that grow row by row."""

from __future__ import annotations

import csv
import io
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from .files import write_whole, writing


class Table:
    """A CSV file with fixed columns; the first is `schema`. Missing values are empty."""

    def __init__(self, path: Path, schema: str, columns: Sequence[str]) -> None:
        self.path = path
        self._schema = f"wfbench/{schema}"
        self._columns = tuple(columns)
        self._descriptor = -1

    def rewrite(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Begin anew with these rows, and be open for more."""
        text = _line(("schema", *self._columns)) + "".join(map(self._row, rows))
        write_whole(self.path, text.encode())
        with writing(self.path):
            flags = os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC
            self._descriptor = os.open(self.path, flags)

    def append(self, row: Mapping[str, Any]) -> None:
        """Write one row."""
        data = self._row(row).encode()
        with writing(self.path):
            while data:
                data = data[os.write(self._descriptor, data) :]

    def close(self) -> None:
        """Release the file; safe to call twice."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    def _row(self, row: Mapping[str, Any]) -> str:
        return _line((self._schema, *(cell_text(row.get(column)) for column in self._columns)))


def cell_text(value: Any) -> str:
    """A value as it is written; missing ones are empty."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, float):
        return f"{value:.13g}"
    if isinstance(value, (list, tuple)):
        return "; ".join(map(cell_text, value))
    if isinstance(value, Mapping):
        return " ".join(f"{name}={cell_text(part)}" for name, part in value.items())
    return str(value)


def _line(cells: Iterable[str]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerow(list(cells))
    return out.getvalue()
