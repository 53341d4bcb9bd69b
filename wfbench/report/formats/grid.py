"""Heat maps: a colour per pair, on a scale that colour-blind readers can read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product

from markupsafe import Markup

from wfbench.report.document import Column, Heat, Table, number
from wfbench.report.written import NONE, written

from .svg import EM, Attribute, drawing, rect, tag, text, width_of

VIRIDIS = (
    (0x44, 0x01, 0x54), (0x48, 0x28, 0x78), (0x3E, 0x49, 0x89), (0x31, 0x68, 0x8E),
    (0x26, 0x82, 0x8E), (0x1F, 0x9E, 0x89), (0x35, 0xB7, 0x79), (0x6E, 0xCE, 0x58),
    (0xB5, 0xDE, 0x2B), (0xFD, 0xE7, 0x25),
)  # fmt: skip
"""Equal steps look equal, in grey too."""
_LEVELS = 24
_LEGEND = 46.0
_ROOMY = 26.0
"""Pixels a cell needs for a number in it."""

Cells = Mapping[tuple[str, str], tuple[float | None, object]]


def heat(table: Table, picture: Heat, width: float, label: str) -> Markup:
    """Draw a grid of cells with their numbers, or of colours alone where there is no room."""
    columns = [table.values(name) for name in (picture.x, picture.y, picture.value)]
    xs, ys = ([str(value) for value in dict.fromkeys(one)] for one in columns[:2])
    counts = table.values(picture.count) if picture.count else [None] * len(table.rows)
    cells: Cells = {
        (str(x), str(y)): (number(value), count)
        for x, y, value, count in zip(*columns, counts, strict=True)
    }
    known = [value for value, _ in cells.values() if value is not None]
    low, high = (min(known), max(known)) if known else (0.0, 1.0)
    left = min(max(map(width_of, ys), default=0.0) + 10, 0.3 * width)
    size = (width - left) / max(1, len(xs))
    roomy = size >= _ROOMY
    if not roomy:
        left, size = 0.0, width / len(xs)
    tall = min(size, 44.0) if roomy else size
    column = table.column(picture.value)
    head, top = _heads(xs, left, size) if roomy else ([], 4.0)
    grid = (left, top, size, tall)
    parts = list(head)
    if roomy:
        for row, name in enumerate(ys):
            middle = top + (row + 0.5) * tall + 4
            parts.append(text(left - 6, middle, name, anchor="end", limit=left - 6))
        parts += _numbers(cells, (xs, ys), grid, (low, high), column)
    else:
        parts += _colours(cells, (xs, ys), grid, (low, high))
    bottom = top + tall * len(ys)
    if not roomy:
        shown = f"{len(ys)} rows: {picture.y}; {len(xs)} columns: {picture.x}; {xs[0]} to {xs[-1]}"
        parts.append(text(0, bottom + EM + 4, shown, kind="axis", limit=width))
        bottom += EM + 10
    parts += _scale(low, high, bottom + 18, width, column)
    return drawing(width, bottom + 18 + _LEGEND, label, parts)


def colour(share: float) -> tuple[int, int, int]:
    """Return the colour at a share of the scale, from 0 to 1."""
    place = min(max(share, 0.0), 1.0) * (len(VIRIDIS) - 1)
    first = min(int(place), len(VIRIDIS) - 2)
    part = place - first
    one, other = VIRIDIS[first], VIRIDIS[first + 1]
    red, green, blue = (round(a + part * (b - a)) for a, b in zip(one, other, strict=True))
    return red, green, blue


def ink_on(rgb: tuple[int, int, int]) -> str:
    """Return black or white, whichever is easier to read on a colour."""
    light = [
        c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (v / 255 for v in rgb)
    ]
    luminance = 0.2126 * light[0] + 0.7152 * light[1] + 0.0722 * light[2]
    return "#000" if luminance > 0.179 else "#fff"


def _share(value: float, ends: tuple[float, float]) -> float:
    low, high = ends
    return 0.5 if high == low else (value - low) / (high - low)


def _heads(xs: Sequence[str], left: float, size: float) -> tuple[list[Markup], float]:
    """Return the names of the columns, upright if they do not fit side by side."""
    middles = [left + (place + 0.5) * size for place in range(len(xs))]
    widest = max(map(width_of, xs), default=0.0)
    heads = list(zip(middles, xs, strict=True))
    if widest <= size:
        return [text(x, EM, name, anchor="middle") for x, name in heads], EM + 8
    deep = widest + 4
    parts = []
    for x, name in heads:
        turn = f"rotate(-90 {x + 4:.1f} {deep:.1f})"
        parts.append(tag("text", name, x=x + 4, y=deep, class_="label", transform=turn))
    return parts, deep + 6


def _numbers(
    cells: Cells,
    names: tuple[Sequence[str], Sequence[str]],
    grid: tuple[float, float, float, float],
    ends: tuple[float, float],
    column: Column,
) -> Iterator[Markup]:
    (xs, ys), (left, top, size, tall) = names, grid
    for (row, y_name), (place, x_name) in product(enumerate(ys), enumerate(xs)):
        value, count = cells.get((x_name, y_name), (None, None))
        x, y = left + place * size, top + row * tall
        box = (x + 1, y + 1, size - 2, tall - 2)
        middle, centre = x + size / 2, y + tall / 2
        if value is None:
            yield rect(*box, rx=2, class_="empty", hint=f"{y_name}, {x_name}: none")
            yield text(middle, centre + 4, NONE, anchor="middle", kind="faint")
            continue
        rgb = colour(_share(value, ends))
        shown = written(value, column)
        hint = f"{y_name}, {x_name}: {shown} {column.unit}".rstrip()
        hint += f" ({count} trainings)" if count is not None else ""
        yield rect(*box, rx=2, fill=_hex(rgb), hint=hint)
        counted = count is not None and tall >= 34
        ink: dict[str, Attribute] = {"text_anchor": "middle", "fill": ink_on(rgb), "x": middle}
        fits = shown if width_of(shown) <= size else shown.lstrip("0")
        yield tag("text", fits, y=centre + (-1 if counted else 4), class_="cell", **ink)
        if counted:
            yield tag("text", f"n={count}", y=centre + 13, class_="count", **ink)


def _hex(rgb: tuple[int, int, int]) -> str:
    return "#{:02x}{:02x}{:02x}".format(*rgb)


def _colours(
    cells: Cells,
    names: tuple[Sequence[str], Sequence[str]],
    grid: tuple[float, float, float, float],
    ends: tuple[float, float],
) -> Iterator[Markup]:
    """Draw one path per level of the scale, so that a big grid stays a small file."""
    (xs, ys), (left, top, size, tall) = names, grid
    levels: dict[int, list[str]] = {}
    for (row, y_name), (place, x_name) in product(enumerate(ys), enumerate(xs)):
        value = cells.get((x_name, y_name), (None, None))[0]
        if value is not None:
            level = min(_LEVELS - 1, int(_share(value, ends) * _LEVELS))
            levels.setdefault(level, []).append(f"M{place} {row}h1v1h-1z")
    move = f"translate({left:.1f} {top:.1f}) scale({size:.4f} {tall:.4f})"
    for level, steps in sorted(levels.items()):
        fill = _hex(colour((level + 0.5) / _LEVELS))
        yield tag("path", d="".join(steps), fill=fill, transform=move, class_="plain")


def _scale(low: float, high: float, y: float, width: float, column: Column) -> Iterator[Markup]:
    wide = min(240.0, width - 100)
    step = wide / _LEVELS
    yield text(0, y + 10, written(low, column), kind="tick")
    start = max(width_of(written(low, column)), 24.0) + 8
    for level in range(_LEVELS):
        fill = _hex(colour((level + 0.5) / _LEVELS))
        yield rect(start + level * step, y, step + 0.5, 12, fill=fill)
    yield text(start + wide + 8, y + 10, written(high, column), kind="tick")
    yield text(start, y + 12 + EM + 3, column.title, kind="axis")
