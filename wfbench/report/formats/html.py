"""One self-contained page: no script, no network, light and dark, desktop and phone."""

from __future__ import annotations

from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from wfbench.report.document import (
    OUTCOME_NAMES,
    Exhibit,
    Heat,
    Report,
    Section,
    Table,
    count_outcomes,
)
from wfbench.report.written import NONE, written

from .draw import draw

WIDE, NARROW = 760.0, 336.0
"""Every picture is drawn for both: text that is scaled down cannot be read on a phone."""
_LISTED = 12
"""Checks that did not pass and are named in the summary."""


def render_html(report: Report) -> str:
    """The report as one HTML file."""
    template = _environment().get_template("report.html.j2")
    return template.render(report=report, sections=[_shown(s) for s in report.sections])


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader(__package__ or "", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals["outcome_names"] = OUTCOME_NAMES
    return environment


def _shown(section: Section) -> dict[str, Any]:
    """A section with its pictures drawn and its numbers written."""
    remarkable = [check for check in section.checks if check.outcome != "good"]
    return {
        "section": section,
        "count": count_outcomes(section.checks),
        "remarkable": remarkable[:_LISTED],
        "unlisted": max(0, len(remarkable) - _LISTED),
        "exhibits": [_exhibit(exhibit) for exhibit in section.exhibits],
    }


def _exhibit(exhibit: Exhibit) -> dict[str, Any]:
    heads, rows = _cells(exhibit)
    return {
        "exhibit": exhibit,
        "wide": draw(exhibit, WIDE),
        "narrow": draw(exhibit, NARROW),
        "heads": heads,
        "rows": rows,
    }


def _cells(exhibit: Exhibit) -> tuple[list[str], list[list[tuple[str, bool]]]]:
    """The table as texts, each with whether it is a number."""
    table, picture = exhibit.table, exhibit.picture
    if isinstance(picture, Heat) and picture.count is None:
        return _crossed(table, picture)
    heads = [column.title for column in table.columns]
    rows = [
        [
            (written(value, column), _is_number(value))
            for column, value in zip(table.columns, row, strict=True)
        ]
        for row in table.rows
    ]
    return heads, rows


def _crossed(table: Table, picture: Heat) -> tuple[list[str], list[list[tuple[str, bool]]]]:
    """A grid is read as a grid."""
    column = table.column(picture.value)
    xs, ys = table.values(picture.x), table.values(picture.y)
    cells = dict(zip(zip(ys, xs, strict=True), table.values(picture.value), strict=True))
    across = list(dict.fromkeys(xs))
    heads = [f"{picture.y} \\ {picture.x}", *map(str, across)]
    rows = []
    for y in dict.fromkeys(ys):
        told = [written(cells.get((y, x)), column) for x in across]
        rows.append([(str(y), False), *((text, text != NONE) for text in told)])
    return heads, rows


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
