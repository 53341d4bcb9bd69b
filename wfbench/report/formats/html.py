"""One self-contained page: no script, no network, light and dark, desktop and phone."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from wfbench.report import document as doc
from wfbench.report.written import written_table

from .bars import bars, shares
from .grid import heat
from .lines import curves, spread, timeline

WIDE, NARROW = 760.0, 336.0
"""Every picture is drawn for both: text that is scaled down cannot be read on a phone."""
_LISTED = 12
"""Checks that did not pass and are named in the summary."""
_DRAWN: dict[type[Any], Callable[..., Markup]] = {
    doc.Bars: bars,
    doc.Shares: shares,
    doc.Dots: bars,
    doc.Curves: curves,
    doc.Timeline: timeline,
    doc.Spread: spread,
    doc.Heat: heat,
}


def render_html(report: doc.Report) -> str:
    """Return the report as one HTML file."""
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
    environment.globals["outcome_names"] = doc.OUTCOME_NAMES
    return environment


def _shown(section: doc.Section) -> dict[str, Any]:
    """Return a section with its pictures drawn and its numbers written."""
    remarkable = [check for check in section.checks if check.outcome != "good"]
    return {
        "section": section,
        "count": doc.count_outcomes(section.checks),
        "remarkable": remarkable[:_LISTED],
        "unlisted": max(0, len(remarkable) - _LISTED),
        "exhibits": [
            {
                "exhibit": exhibit,
                "wide": draw(exhibit, WIDE),
                "narrow": draw(exhibit, NARROW),
                "table": written_table(exhibit),
            }
            for exhibit in section.exhibits
        ],
    }


def draw(exhibit: doc.Exhibit, width: float) -> Markup | None:
    """Return the drawing of an exhibit; None if there is nothing to draw."""
    make = _DRAWN.get(type(exhibit.picture))
    if make is None or not exhibit.table.rows:
        return None
    return make(exhibit.table, exhibit.picture, width, exhibit.title)
