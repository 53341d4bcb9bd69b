"""Tidy CSV: one line per value, with every digit."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

from wfbench.report.document import Report, Value

COLUMNS = ("schema", "section", "kind", "exhibit", "row", "column", "unit", "value")
SCHEMA = "wfbench/report-values/1"
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def render_csv(report: Report) -> str:
    """Return checks and the tables of all exhibits as CSV."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows([SCHEMA, *row] for row in _rows(report))
    return out.getvalue()


def _rows(report: Report) -> Iterator[list[str]]:
    for section in report.sections:
        where = [_text(section.title), section.kind]
        for number, check in enumerate((section.headline, *section.checks)):
            for name in ("name", "outcome", "says"):
                yield [*where, "checks", str(number), name, "", _text(getattr(check, name))]
        for exhibit in section.exhibits:
            for number, row in enumerate(exhibit.table.rows):
                for column, value in zip(exhibit.table.columns, row, strict=True):
                    names = map(_text, (column.name, column.unit))
                    yield [*where, _text(exhibit.title), str(number), *names, _cell(value)]


def _cell(value: Value) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return repr(value) if isinstance(value, float) else _text(str(value))


def _text(text: str) -> str:
    """Return a text that no spreadsheet takes for a formula; numbers stay numbers."""
    if not text.startswith(_FORMULA):
        return text
    try:
        float(text)
    except ValueError:
        return f"'{text}"
    return text
