"""One self-contained page: no script, no network, light and dark, desktop and phone."""

from __future__ import annotations

from collections.abc import Callable
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from wfbench.report import document as doc
from wfbench.report.written import written_table

from .bars import bars, shares
from .grid import heat
from .lines import curves, spread, timeline

WIDE, NARROW = 760.0, 336.0
"""Every picture is drawn for both: text that is scaled down cannot be read on a phone."""
_DRAWN: dict[type[Any], Callable[..., Markup]] = {
    doc.Bars: bars,
    doc.Shares: shares,
    doc.Dots: bars,
    doc.Curves: curves,
    doc.Timeline: timeline,
    doc.Spread: spread,
    doc.Heat: heat,
}


_TEMPLATES = Environment(
    loader=PackageLoader(__package__ or "", "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
)


def render_html(report: doc.Report) -> str:
    """Return the report as one HTML file."""
    return _TEMPLATES.get_template("report.html.j2").render(
        report=report,
        outcome_names=doc.OUTCOME_NAMES,
        count_outcomes=doc.count_outcomes,
        written_table=written_table,
        draw=draw,
        sizes={"wide": WIDE, "narrow": NARROW},
    )


def standalone_svg(exhibit: doc.Exhibit) -> str:
    """Return the drawing of an exhibit as a file of its own, with its colours."""
    drawn = draw(exhibit, WIDE)
    if drawn is None:
        raise ValueError(f"{exhibit.title!r} has nothing to draw")
    style = files(__package__).joinpath("templates", "style.css").read_text(encoding="utf-8")
    opening, end, rest = str(drawn).partition(">")
    xmlns = 'xmlns="http://www.w3.org/2000/svg" style="background: var(--card)"'
    return f"{opening} {xmlns}{end}<style>{escape(style)}</style>{rest}\n"


def draw(exhibit: doc.Exhibit, width: float) -> Markup | None:
    """Return the drawing of an exhibit; None if there is nothing to draw."""
    make = _DRAWN.get(type(exhibit.picture))
    if make is None or not exhibit.table.rows:
        return None
    return make(exhibit.table, exhibit.picture, width, exhibit.title)
