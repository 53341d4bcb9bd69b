"""Bars, shares and dots: one row of the drawing per row of the table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from markupsafe import Markup

from wfbench.report.document import Bars, Dots, Shares, Table
from wfbench.report.written import written

from .axes import Scale, linear, tick_label
from .svg import EM, drawing, line, path, tag, text, width_of

_ROW, _GROUP, _AXIS, _GAP = 26.0, 30.0, 40.0, 8.0
_BEYOND = 0.4
"""Whiskers lengthen the axis by at most so many times the range of the dots themselves."""
_SMALL = 1.0
"""Percent; smaller parts are drawn together."""
COLOURS = 8


@dataclass(frozen=True)
class Layout:
    """Where rows and labels are."""

    width: float
    left: float
    places: tuple[float, ...]
    """Middle of each row."""
    heads: tuple[tuple[float, str], ...]
    bottom: float

    def stretches(self) -> Iterator[tuple[float, float]]:
        """Where rows follow each other without a heading between them."""
        starts = [y + 9 for y, _ in self.heads] or [self.places[0] - _ROW / 2]
        ends = [start - _GROUP for start in starts[1:]] + [self.bottom]
        yield from zip(starts, ends, strict=True)


def bars(table: Table, picture: Bars, width: float, label: str) -> Markup:
    """Horizontal bars from 0, each with its value, whiskers where there is an interval."""
    layout = _layout(table, picture.label, picture.group, width)
    column = table.column(picture.value)
    values = table.numbers(picture.value)
    texts = [written(value, column) for value in table.values(picture.value)]
    room = max(map(width_of, texts), default=0.0) + _GAP
    lows, highs = table.numbers(picture.low), table.numbers(picture.high)
    known = [value for value in (*values, *highs) if value is not None]
    scale = linear(known, layout.left, width - room, zero=True, wanted=_wanted(width))
    parts = [*_grid(layout, scale, column.title), *_labels(layout, table, picture.label)]
    for y, value, low, high, told in zip(layout.places, values, lows, highs, texts, strict=True):
        if value is None:
            parts.append(text(layout.left + _GAP, y + 4, "not measured", kind="faint"))
            continue
        at, zero = scale(value), scale(0.0)
        hint = f"{told} {column.unit}".strip()
        if low is not None and high is not None:
            hint += f" (95 % interval {written(low, column)} to {written(high, column)})"
        parts.append(
            tag(
                "rect",
                tag("title", hint),
                x=min(at, zero),
                y=y - 8,
                width=max(1.0, abs(at - zero)),
                height=16,
                class_="c0",
            )
        )
        end = max(at, zero)
        if low is not None and high is not None:
            parts += _whisker(scale, low, high, y)
            end = max(end, scale(high))
        parts.append(text(end + 5, y + 4, told, kind="value"))
    return drawing(width, layout.bottom + _AXIS, label, parts)


def shares(table: Table, picture: Shares, width: float, label: str) -> Markup:
    """Bars of 100 %, divided; parts that are too small to see are drawn as one."""
    biggest = {
        part: max((v or 0.0 for v in table.numbers(part)), default=0.0) for part in picture.parts
    }
    shown = [part for part in picture.parts if biggest[part] >= _SMALL]
    small = [part for part in picture.parts if biggest[part] < _SMALL]
    shown = sorted(sorted(shown, key=lambda p: -biggest[p])[: COLOURS - 1], key=picture.parts.index)
    small = [part for part in picture.parts if part not in shown]
    names = [*shown, f"other ({', '.join(small)})"] if small else shown
    legend, top = _legend(names, width)
    layout = _layout(table, picture.label, picture.group, width, top)
    scale = Scale(0.0, 100.0, layout.left, width - 14)
    parts = [*legend, *_grid(layout, scale, "share of the wall time (%)")]
    parts += _labels(layout, table, picture.label)
    columns = {part: table.numbers(part) for part in picture.parts}
    for row, y in enumerate(layout.places):
        at = 0.0
        pieces = [(part, columns[part][row] or 0.0) for part in shown]
        pieces += [("other", sum(columns[part][row] or 0.0 for part in small))] if small else []
        for place, (part, share) in enumerate(pieces):
            start, end = scale(at), scale(at + share)
            at += share
            if end - start < 0.3:
                continue
            told = f"{share:.0f} %"
            parts.append(
                tag(
                    "rect",
                    tag("title", f"{part}: {share:.1f} %"),
                    x=start,
                    y=y - 9,
                    width=end - start,
                    height=18,
                    class_=f"c{place} part",
                )
            )
            if end - start > width_of(told) + 4:
                middle = (start + end) / 2
                parts.append(text(middle, y + 4, told, anchor="middle", kind=f"on{place}"))
    return drawing(width, layout.bottom + _AXIS, label, parts)


def dots(table: Table, picture: Dots, width: float, label: str) -> Markup:
    """A dot per row; whiskers that would leave the axis end in an arrow."""
    layout = _layout(table, picture.label, None, width)
    column = table.column(picture.value)
    values = table.numbers(picture.value)
    lows, highs = table.numbers(picture.low), table.numbers(picture.high)
    texts = [written(value, column) for value in table.values(picture.value)]
    room = max(map(width_of, texts), default=0.0) + _GAP
    scale = linear(
        _dot_range(values, lows, highs), layout.left + 6, width - room - 6, wanted=_wanted(width)
    )
    parts = [*_grid(layout, scale, column.title), *_labels(layout, table, picture.label)]
    strong = table.values(picture.strong) if picture.strong else [True] * len(values)
    for y, value, low, high, told, filled in zip(
        layout.places, values, lows, highs, texts, strong, strict=True
    ):
        if value is None:
            parts.append(text(layout.left + _GAP, y + 4, "not measured", kind="faint"))
            continue
        hint = told
        if low is not None and high is not None:
            hint += f" (95 % interval {written(low, column)} to {written(high, column)})"
            parts += _whisker(scale, low, high, y)
        kind = "dot" if filled else "dot hollow"
        parts.append(tag("circle", tag("title", hint), cx=scale(value), cy=y, r=5, class_=kind))
        parts.append(text(width, y + 4, told, anchor="end", kind="value"))
    return drawing(width, layout.bottom + _AXIS, label, parts)


def _dot_range(
    values: list[float | None], lows: list[float | None], highs: list[float | None]
) -> list[float]:
    known = [value for value in values if value is not None]
    if not known:
        return []
    span = (max(known) - min(known)) or max(abs(known[0]), 1.0)
    floor, ceiling = min(known) - _BEYOND * span, max(known) + _BEYOND * span
    ends = [end for end in (*lows, *highs) if end is not None]
    return [*known, *(min(max(end, floor), ceiling) for end in ends)]


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


def _layout(table: Table, label: str, group: str | None, width: float, top: float = 4.0) -> Layout:
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
    return Layout(width, left, tuple(places), tuple(heads), y)


def _labels(layout: Layout, table: Table, label: str) -> Iterator[Markup]:
    for y, head in layout.heads:
        yield text(0, y, head, kind="head")
    for y, name in zip(layout.places, table.values(label), strict=True):
        limit = layout.left - _GAP
        yield text(layout.left - _GAP, y + 4, str(name), anchor="end", limit=limit)


def _grid(layout: Layout, scale: Scale, title: str) -> Iterator[Markup]:
    for tick in scale.ticks(_wanted(layout.width)):
        kind = "zero" if tick == 0 else "grid"
        for top, bottom in layout.stretches():
            yield line(scale(tick), top, scale(tick), bottom, kind)
        yield text(
            scale(tick), layout.bottom + EM + 3, tick_label(tick), anchor="middle", kind="tick"
        )
    middle = (scale.start + scale.end) / 2
    yield text(middle, layout.bottom + 2 * EM + 8, title, anchor="middle", kind="axis")


def _legend(names: list[str], width: float) -> tuple[list[Markup], float]:
    parts: list[Markup] = []
    x, y = 0.0, 12.0
    for place, name in enumerate(names):
        wide = width_of(name) + 30
        if x and x + wide > width:
            x, y = 0.0, y + 20
        parts.append(tag("rect", x=x, y=y - 10, width=12, height=12, class_=f"c{place}"))
        parts.append(text(x + 17, y, name, limit=width - x - 17))
        x += wide
    return parts, y + 12
