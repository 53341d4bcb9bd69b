"""Bars, shares and dots: one row of the drawing per row of the table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from markupsafe import Markup

from wfbench.report.document import Bars, Dots, Shares, Table
from wfbench.report.written import interval, written

from .axes import Scale, linear, logarithmic, tick_label
from .svg import EM, circle, drawing, legend, line, path, rect, text, width_of

_ROW, _GROUP, _AXIS, _GAP = 26.0, 30.0, 40.0, 8.0
_BEYOND = 0.4
"""Whiskers lengthen the axis by at most this share of the range of the dots."""
_SMALL = 1.0
"""Percent; smaller parts are drawn together."""
COLOURS = 8


@dataclass(frozen=True)
class RowLayout:
    """Where rows and labels are."""

    width: float
    left: float
    places: tuple[float, ...]
    """Middle of each row."""
    heads: tuple[tuple[float, str], ...]
    bottom: float

    def stretches(self) -> Iterator[tuple[float, float]]:
        """Yield where rows follow each other without a heading between them."""
        starts = [y + 9 for y, _ in self.heads] or [self.places[0] - _ROW / 2]
        ends = [start - _GROUP for start in starts[1:]] + [self.bottom]
        yield from zip(starts, ends, strict=True)


def bars(table: Table, picture: Bars | Dots, width: float, label: str) -> Markup:
    """Draw bars from 0 or dots, each with its value, with whiskers where there is an interval."""
    group = picture.group if isinstance(picture, Bars) else None
    layout = _layout(table, picture.label, group, width)
    column, values = table.column(picture.value), table.numbers(picture.value)
    lows, highs = table.numbers(picture.low), table.numbers(picture.high)
    texts = [written(value, column) for value in table.values(picture.value)]
    right = width - max(map(width_of, texts), default=0.0) - _GAP
    wanted = _wanted(width)
    if isinstance(picture, Bars):
        known = [value for value in (*values, *highs) if value is not None]
        if picture.log:
            known += [1.0, *(low for low in lows if low is not None)]
            scale = logarithmic(known, layout.left, right)
        else:
            scale = linear(known, layout.left, right, zero=True, wanted=wanted)
    else:
        known = _dot_range(values, [*lows, *highs])
        scale = linear(known, layout.left + 6, right - 6, wanted=wanted)
    parts = [*_grid(layout, scale, column.title), *_labels(layout, table, picture.label)]
    strong = getattr(picture, "strong", None)
    filled = table.values(strong) if strong else [True] * len(values)
    for row, (y, value) in enumerate(zip(layout.places, values, strict=True)):
        if value is None:
            parts.append(text(layout.left + _GAP, y + 4, "not measured", kind="faint"))
            continue
        low, high = lows[row], highs[row]
        hint = f"{texts[row]} {column.unit}".strip() + interval(low, high, column, "95 % interval ")
        whisker = [] if low is None or high is None else _whisker(scale, low, high, y)
        if isinstance(picture, Bars):
            start, end = sorted((scale(value), scale(1.0 if picture.log else 0.0)))
            parts.append(rect(start, y - 8, max(1.0, end - start), 16, class_="c0", hint=hint))
            parts += whisker
            end = end if high is None else max(end, scale(high))
            parts.append(text(end + 5, y + 4, texts[row], kind="value"))
        else:
            kind = "dot" if filled[row] else "dot hollow"
            parts += [*whisker, circle(scale(value), y, 5, kind, hint)]
            parts.append(text(width, y + 4, texts[row], anchor="end", kind="value"))
    return drawing(width, layout.bottom + _AXIS, label, parts)


def shares(table: Table, picture: Shares, width: float, label: str) -> Markup:
    """Draw bars of 100 %, divided; parts that are too small to see are drawn as one."""
    columns = {part: table.numbers(part) for part in picture.parts}
    biggest = {part: max((v or 0.0 for v in columns[part]), default=0.0) for part in columns}
    large = [part for part in picture.parts if biggest[part] >= _SMALL]
    large = sorted(sorted(large, key=lambda p: -biggest[p])[: COLOURS - 1], key=picture.parts.index)
    small = [part for part in picture.parts if part not in large]
    names = [*large, f"other ({', '.join(small)})"] if small else large

    def swatch(place: int, x: float, y: float) -> Markup:
        return rect(x, y - 10, 12, 12, class_=f"c{place}")

    parts, top = legend(names, width, 12, swatch)
    layout = _layout(table, picture.label, picture.group, width, top)
    scale = Scale(0.0, 100.0, layout.left, width - 14)
    parts += [*_grid(layout, scale, "share of the wall time (%)")]
    parts += _labels(layout, table, picture.label)
    for row, y in enumerate(layout.places):
        at = 0.0
        pieces = [(part, columns[part][row] or 0.0) for part in large]
        pieces += [("other", sum(columns[part][row] or 0.0 for part in small))] if small else []
        for place, (part, share) in enumerate(pieces):
            start, end = scale(at), scale(at + share)
            at += share
            if end - start < 0.3:
                continue
            kind, hint = f"c{place} part", f"{part}: {share:.1f} %"
            parts.append(rect(start, y - 9, end - start, 18, class_=kind, hint=hint))
            shown = f"{share:.0f} %"
            if end - start > width_of(shown) + 4:
                middle = (start + end) / 2
                parts.append(text(middle, y + 4, shown, anchor="middle", kind=f"on{place}"))
    return drawing(width, layout.bottom + _AXIS, label, parts)


def _dot_range(values: list[float | None], ends: list[float | None]) -> list[float]:
    known = [value for value in values if value is not None]
    if not known:
        return []
    span = (max(known) - min(known)) or max(abs(known[0]), 1.0)
    floor, ceiling = min(known) - _BEYOND * span, max(known) + _BEYOND * span
    return [*known, *(min(max(end, floor), ceiling) for end in ends if end is not None)]


def _whisker(scale: Scale, low: float, high: float, y: float) -> Iterator[Markup]:
    start, end = scale(low), scale(high)
    yield line(start, y, end, y, "whisker")
    for value, at, way in ((low, start, -1.0), (high, end, 1.0)):
        if scale.holds(value):
            yield line(at, y - 4, at, y + 4, "whisker")
        else:
            tip = [(at - 5 * way, y - 4), (at, y), (at - 5 * way, y + 4)]
            yield path(tip, "whisker open", hint="goes on beyond the axis")


def _wanted(width: float) -> int:
    return 6 if width > 500 else 3


def _layout(
    table: Table, label: str, group: str | None, width: float, top: float = 4.0
) -> RowLayout:
    names = [str(value) for value in table.values(label)]
    left = min(max(map(width_of, names), default=0.0) + 2 * _GAP, 0.38 * width)
    groups = table.values(group) if group is not None else [None] * len(names)
    places, heads, y, last = [], [], top, None
    for name in groups:
        if name != last and name is not None:
            y += _GROUP
            heads.append((y - 9, str(name)))
            last = name
        places.append(y + _ROW / 2)
        y += _ROW
    return RowLayout(width, left, tuple(places), tuple(heads), y)


def _labels(layout: RowLayout, table: Table, label: str) -> Iterator[Markup]:
    for y, head in layout.heads:
        yield text(0, y, head, kind="head")
    limit = layout.left - _GAP
    for y, name in zip(layout.places, table.values(label), strict=True):
        yield text(limit, y + 4, str(name), anchor="end", limit=limit)


def _grid(layout: RowLayout, scale: Scale, title: str) -> Iterator[Markup]:
    bottom = layout.bottom
    for tick in scale.ticks(_wanted(layout.width)):
        at = scale(tick)
        for start, end in layout.stretches():
            yield line(at, start, at, end, "zero" if tick == 0 else "grid")
        yield text(at, bottom + EM + 3, tick_label(tick), anchor="middle", kind="tick")
    middle = (scale.start + scale.end) / 2
    yield text(middle, bottom + 2 * EM + 8, title, anchor="middle", kind="axis")
