"""Curves, timelines and spreads: things along a horizontal axis."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from markupsafe import Markup

from wfbench.report.document import Curves, Panel, Spread, Table, Timeline
from wfbench.report.written import interval, written

from .axes import Scale, linear, logarithmic, tick_label
from .svg import EM, circle, drawing, legend, line, path, rect, tag, text, width_of

_TOP, _BOTTOM, _LEFT, _RIGHT = 14.0, 44.0, 54.0, 12.0
_COLOURS = 8
_PANEL = 190.0
_WHISKERS = 12


class CurvePoint(NamedTuple):
    """A point of a series with its interval, and where it leads to."""

    x: float
    y: float
    low: float | None
    high: float | None
    link: str = ""


@dataclass(frozen=True)
class Frame:
    """The axes of a chart."""

    x: Scale
    y: Scale
    width: float

    def grid(self, y_title: str, x_title: str = "", raised: float = 0.0) -> Iterator[Markup]:
        """Yield lines and numbers; without a title the horizontal axis is another chart's."""
        wanted = 7 if self.width > 500 else 4
        for tick in self.y.ticks(5):
            at = self.y(tick)
            yield line(self.x.start, at, self.x.end, at, "zero" if tick == 0 else "grid")
            yield text(self.x.start - 6, at + 4, tick_label(tick), anchor="end", kind="tick")
        yield text(0, self.y.end - 13 - raised, y_title, kind="axis", limit=self.width)
        if x_title:
            for tick in self.x.ticks(wanted):
                at, label = self.x(tick), tick_label(tick)
                yield line(at, self.y.start, at, self.y.start + 4, "zero")
                yield text(at, self.y.start + EM + 6, label, anchor="middle", kind="tick")
            middle = (self.x.start + self.x.end) / 2
            yield text(middle, self.y.start + 2 * EM + 12, x_title, anchor="middle", kind="axis")


def curves(table: Table, picture: Curves, width: float, label: str) -> Markup:
    """Draw one line per series, in a colour and a dash of its own, with a legend."""
    series = _series(table, picture)
    kinds = [(name, f"curve s{place % _COLOURS}") for place, name in enumerate(series)]
    parts, top = _key(kinds, width) if len(kinds) > 1 else ([], 0.0)
    height = 0.5 * width + 60 if width < 500 else 300
    points = [point for one in series.values() for point in one]
    xs = [point.x for point in points]
    ends = [e for p in points for e in p[1:4] if e is not None]
    y_from, y_to = top + height - _BOTTOM, top + _TOP + 16
    if picture.log:
        x = logarithmic(xs, _LEFT, width - _RIGHT)
        y = logarithmic(ends, y_from, y_to)
    else:
        x = linear(xs, _LEFT, width - _RIGHT, wanted=7)
        whole = all(float(at).is_integer() for at in xs)
        x = Scale(min(xs), max(xs), x.start, x.end, whole=whole) if min(xs) < max(xs) else x
        y = linear(ends, y_from, y_to, zero=picture.from_zero)
    frame = Frame(x, y, width)
    note = ", logarithmic" if picture.log else ""
    y_title, x_title = table.column(picture.y).title, table.column(picture.x).title
    parts += frame.grid(y_title + note, x_title + note)
    marked = zip(table.numbers(picture.x), table.numbers(picture.mark), strict=True)
    parts += [
        line(x(at), y_from, x(at), y_to, "level") for at, on in marked if at is not None and on
    ]
    for (name, one), (_, kind) in zip(series.items(), kinds, strict=True):
        colour = kind[-1]
        parts += _band(frame, one, colour)
        through = [(x(p.x), y(p.y)) for p in one]
        parts.append(path(_stairs(through) if picture.steps else through, kind, hint=name))
        for point in one if len(one) <= 40 or picture.link else ():
            shown = (_shown(table, picture.x, point.x), _shown(table, picture.y, point.y))
            hint = f"{name}: {', '.join(shown)}"
            dot = circle(x(point.x), y(point.y), 3.5, f"c{colour}", hint)
            parts.append(tag("a", dot, href=point.link) if point.link else dot)
    return drawing(width, top + height, label, parts)


def timeline(table: Table, picture: Timeline, width: float, label: str) -> Markup:
    """Draw panels one below the other, the series side by side as they happened."""
    xs = [x for x in table.numbers(picture.x) if x is not None]
    x = Scale(0.0, max(xs, default=1.0), _LEFT, width - _RIGHT)
    kinds = [(picture.reached, "curve reached"), (picture.missed, "curve missed")]
    parts, begin = _key([*kinds, ("best so far", "curve best")], width)
    bottom = 0.0
    for number, panel in enumerate(picture.panels):
        top = begin + 44.0 + number * (_PANEL + 56)
        bottom = top + _PANEL
        parts += _panel(table, picture, panel, (x, top, bottom), width)
    return drawing(width, bottom + _BOTTOM, label, parts)


def _panel(
    table: Table, picture: Timeline, panel: Panel, where: tuple[Scale, float, float], width: float
) -> Iterator[Markup]:
    x, top, bottom = where
    xs, ys = table.numbers(picture.x), table.numbers(panel.y)
    best = table.numbers(panel.best)
    known = [value for value in (*ys, *best) if value is not None]
    floor = _floor(known)
    low = min(known, default=0.0)
    y = linear([v for v in known if v >= floor], bottom, top)
    y = Scale(0.0, 1.0, bottom, top) if panel.unit_scale else y
    frame = Frame(x, y, width)
    x_title = table.column(picture.x).title if panel is picture.panels[-1] else ""
    yield from frame.grid(table.column(panel.y).title, x_title, raised=16.0)
    if low < y.low:
        cut = f"cut off: the lowest is {tick_label(round(low))}"
        yield text(x.end, bottom - 6, cut, anchor="end", kind="faint")
    if panel.line is not None:
        yield line(x.start, y(panel.line), x.end, y(panel.line), "level")
    series, strong = table.values(picture.series), table.values(picture.strong)
    label_from = 0.0
    for name in dict.fromkeys(series):
        rows = [row for row, one in enumerate(series) if one == name]
        points = [(x(xs[r] or 0.0), y(ys[r] or 0.0)) for r in rows if ys[r] is not None]
        if not points:
            continue
        begin = x(xs[rows[0] - 1] or 0.0) if rows[0] else x.start
        yield line(begin, top, begin, bottom, "boundary")
        kind = "curve reached" if strong[rows[0]] else "curve missed"
        hint = _row_hint(table, rows[-1])
        yield path(points, kind, hint=hint)
        yield circle(*points[-1], 3.5, kind.replace("curve", "end"), hint)
        if begin >= label_from and x(xs[rows[-1]] or 0.0) - begin > width_of(str(name)) + 4:
            shown = f"{picture.series} {name}" if not label_from else str(name)
            yield text(begin + 3, top - 7, shown, kind="faint")
            label_from = begin + width_of(shown) + 6
    pairs = zip(xs, best, strict=True)
    steps = [(x(a), y(b)) for a, b in pairs if a is not None and b is not None]
    if steps:
        hint = "best of the workflows that had ended"
        yield path(_corners(_stairs(steps)), "curve best", hint=hint)


def _stairs(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Hold every value until the next."""
    found = list(points[:1])
    for x, y in points[1:]:
        if y != found[-1][1]:
            found.append((x, found[-1][1]))
        found.append((x, y))
    return found


def _floor(values: Sequence[float]) -> float:
    """Return a limit below which values are cut off, so that early ones do not hide the rest."""
    if len(values) < 10:
        return min(values, default=0.0)
    ranked = sorted(values)
    low, high = ranked[len(ranked) // 5], ranked[-1]
    return low - 0.8 * (high - low)


def _corners(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Drop the points in the middle of a straight stretch."""
    inner = [
        point
        for before, point, after in zip(points, points[1:], points[2:], strict=False)
        if not before[1] == point[1] == after[1]
    ]
    return [points[0], *inner, points[-1]]


def spread(table: Table, picture: Spread, width: float, label: str) -> Markup:
    """Draw values with their ranges side by side, from the first row on the left."""
    height = 300.0
    values = table.numbers(picture.value)
    lows, highs = table.numbers(picture.low), table.numbers(picture.high)
    marks = table.numbers(picture.mark)
    known = [v for v in (*values, *lows, *highs, *marks) if v is not None]
    x = Scale(0.0, max(1.0, float(len(values))), _LEFT, width - _RIGHT)
    y = linear(known, height - _BOTTOM, _TOP + 16)
    frame = Frame(x, y, width)
    column = table.column(picture.value)
    parts = list(frame.grid(column.title, "orders, the best on the left"))
    step = (x.end - x.start) / x.high
    size = min(4.0, max(1.8, 0.2 * step))
    names = table.values(picture.label)
    for row, value in enumerate(values):
        if value is None:
            continue
        at = x(row + 0.5)
        low, high, mark = lows[row], highs[row], marks[row]
        hint = f"{names[row]}: {written(value, column)}{interval(low, high, column)}"
        if low is not None and high is not None:
            kind = "range tried" if mark is not None else "range"
            thick = min(14.0, max(1.0, 0.6 * step))
            hint += f", measured {written(mark, column)}" if mark is not None else ""
            tall = y(low) - y(high)
            parts.append(rect(at - thick / 2, y(high), thick, tall, class_=kind, hint=hint))
        parts.append(circle(at, y(value), size, "c0", hint))
        if mark is not None:
            middle = y(mark)
            ends = [(at, middle - 5), (at + 5, middle), (at, middle + 5), (at - 5, middle)]
            parts.append(path([*ends, ends[0]], "diamond", hint=hint))
    return drawing(width, height, label, parts)


def _series(table: Table, picture: Curves) -> dict[str, list[CurvePoint]]:
    found: dict[str, list[CurvePoint]] = {}
    columns = (picture.x, picture.y, picture.low, picture.high)
    numbers = [table.numbers(name) for name in columns]
    links = table.values(picture.link) if picture.link else [""] * len(table.rows)
    rows = zip(table.values(picture.series), *numbers, links, strict=True)
    for name, x, y, low, high, link in rows:
        if x is not None and y is not None:
            found.setdefault(str(name), []).append(CurvePoint(x, y, low, high, str(link)))
    return {name: sorted(points, key=lambda p: p.x) for name, points in found.items()}


def _band(frame: Frame, points: Sequence[CurvePoint], colour: str) -> Iterator[Markup]:
    """Draw intervals: whiskers at a few points, a band along many."""
    edges = [(p.x, p.low, p.high) for p in points if p.low is not None and p.high is not None]
    if len(edges) <= _WHISKERS:
        for x, low, high in edges:
            at = frame.x(x)
            yield line(at, frame.y(low), at, frame.y(high), f"interval s{colour}")
    else:
        outline = [(frame.x(x), frame.y(high)) for x, _, high in edges]
        outline += [(frame.x(x), frame.y(low)) for x, low, _ in reversed(edges)]
        yield path(outline, f"band c{colour}")


def _shown(table: Table, name: str, value: float) -> str:
    column = table.column(name)
    shown = int(value) if value.is_integer() and column.digits is None else value
    return f"{column.title} {written(shown, column)}"


def _row_hint(table: Table, row: int) -> str:
    return ", ".join(
        f"{column.name} {written(value, column)}"
        for column, value in zip(table.columns, table.rows[row], strict=True)
    )


def _key(entries: Sequence[tuple[str, str]], width: float) -> tuple[list[Markup], float]:
    """Return what the lines mean, and where that ends."""

    def stroke(place: int, x: float, y: float) -> Markup:
        return path([(x, y - 4), (x + 22, y - 4)], entries[place][1])

    return legend([name for name, _ in entries], width, 22, stroke)
