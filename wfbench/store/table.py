"""`workflows.csv` and `updates.csv`: the events of a run as rows, for spreadsheets."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from .events import PHASES, RunEvent, UpdateFinished, Values, WorkflowFinished, WorkflowStarted
from .files import AppendedFile, write_whole

STAT = "stat_"
"""Prefix of the columns that hold a trainer's statistics."""


class CsvTable:
    """A CSV file that grows row by row. Its first column is `schema`; missing values are empty."""

    def __init__(self, path: Path, schema: str, columns: Sequence[str]) -> None:
        self.path = path
        self.columns = tuple(columns)
        self._schema = f"wfbench/{schema}"
        self._file: AppendedFile | None = None

    def rewrite(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Replace the file by one with these rows, and open it for more."""
        self.close()
        text = _line(("schema", *self.columns)) + "".join(map(self._row, rows))
        write_whole(self.path, text.encode())
        self._file = AppendedFile(self.path)

    def append(self, row: Mapping[str, Any]) -> None:
        """Write one row; `rewrite` must have opened the file."""
        if self._file is None:
            raise ValueError(f"{self.path} is closed")
        self._file.write(self._row(row).encode())

    def close(self) -> None:
        """Release the file; safe to call twice."""
        if self._file is not None:
            self._file.close()

    def _row(self, row: Mapping[str, Any]) -> str:
        return _line((self._schema, *(cell_text(row.get(column)) for column in self.columns)))


def cell_text(value: Any) -> str:
    """Return a value as it is written; a missing one is empty."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, float):
        return f"{value:.13g}"
    if isinstance(value, (list, tuple)):
        return "; ".join(map(cell_text, value))
    if isinstance(value, Mapping):
        return " ".join(f"{name}={cell_text(part)}" for name, part in value.items())
    return str(value)


class EventRows:
    """Makes rows of encoded events; a workflow's row has the work of all its events."""

    def __init__(self) -> None:
        self._work: dict[str, float] = {}

    def row(self, values: Values) -> Values:
        """Return the row of the next event."""
        row = event_row(values)
        if values["event"] == WorkflowStarted.kind:
            self._work = dict.fromkeys(_WORK, 0.0)
        for name in self._work:
            self._work[name] += row[name]
        return {**row, **self._work} if values["event"] == WorkflowFinished.kind else row


def event_row(values: Values) -> Values:
    """Return an encoded event, of this version or of 0.1.0, as a row."""
    time = dict(values["time"])
    return {
        **values,
        **{f"{STAT}{name}": value for name, value in (values.get("stats") or {}).items()},
        "at": time.pop("at"),
        "wall_seconds": time.pop("training", None),
        **{f"{name}_seconds": seconds for name, seconds in time.items()},
    }


def stat_columns(rows: Iterable[Values]) -> list[str]:
    """Return the columns of all statistics in these rows, in the sequence they appeared."""
    return list(dict.fromkeys(name for row in rows for name in row if name.startswith(STAT)))


def _columns(kind: type[RunEvent], *without: str) -> tuple[str, ...]:
    names = [field.name for field in fields(kind) if field.name not in without]
    at = names.index("order") + 1
    return (*names[:at], "order_index", *names[at:], "env_steps_spent", "at", "elapsed_seconds")


def _line(cells: Iterable[str]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerow(list(cells))
    return out.getvalue()


_WORK = tuple(f"{name}_seconds" for name in ("work", *PHASES))
_UPDATES = _columns(UpdateFinished, "stats")
UPDATE_COLUMNS = (*("return" if name == "env_return" else name for name in _UPDATES), *_WORK)
WORKFLOW_COLUMNS = (*_columns(WorkflowFinished, "best", "says"), "wall_seconds", *_WORK)
