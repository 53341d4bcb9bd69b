"""The picture of an exhibit, at a given width."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from markupsafe import Markup

from wfbench.report.document import Bars, Curves, Dots, Exhibit, Heat, Shares, Spread, Timeline

from .bars import bars, dots, shares
from .grid import heat
from .lines import curves, spread, timeline

_DRAWN: dict[type[Any], Callable[..., Markup]] = {
    Bars: bars,
    Shares: shares,
    Dots: dots,
    Curves: curves,
    Timeline: timeline,
    Spread: spread,
    Heat: heat,
}


def draw(exhibit: Exhibit, width: float) -> Markup | None:
    """The drawing; None if there is nothing to draw."""
    table, picture, label = exhibit.table, exhibit.picture, exhibit.title
    if not table.rows:
        return None
    for kind, drawn in _DRAWN.items():
        if isinstance(picture, kind):
            made: Markup = drawn(table, picture, width, label)
            return made
    return None
