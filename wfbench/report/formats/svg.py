"""SVG elements as text, every value escaped. Colours and fonts come from the style sheet."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import inf
from unicodedata import east_asian_width

from markupsafe import Markup, escape

EM = 12.0
"""Size of the text in a drawing."""
_ELLIPSIS = "…"
_NARROW, _WIDE = frozenset("iIjlt.,:;|!'()[]/ "), frozenset("mwMW%@>=<+—…")

Attribute = str | float | int | None


def tag(name: str, *content: str | Markup, **attributes: Attribute) -> Markup:
    """Return an element; content that is not markup is escaped. `_` in a name stands for `-`."""
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(_number(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    inner = "".join(map(escape, content))
    return Markup(f"<{name}{written}>{inner}</{name}>")  # noqa: S704 - every part is escaped


def drawing(width: float, height: float, label: str, parts: Iterable[Markup]) -> Markup:
    """Return a whole picture; `label` describes it to those who cannot see it."""
    return tag(
        "svg",
        tag("title", label),
        *parts,
        viewBox=f"0 0 {_number(width)} {_number(height)}",
        width=width,
        height=height,
        role="img",
        aria_label=label,
    )


def text(
    x: float,
    y: float,
    content: str,
    *,
    anchor: str = "start",
    kind: str = "label",
    limit: float = inf,
) -> Markup:
    """Return a line of text, shortened to `limit` pixels with the whole of it as tooltip."""
    shown = shortened(content, limit)
    hint = _hint(content if shown != content else "")
    return tag("text", *hint, shown, x=x, y=y, text_anchor=anchor, class_=kind)


def line(x1: float, y1: float, x2: float, y2: float, kind: str) -> Markup:
    """Return a straight line."""
    return tag("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=kind)


def path(points: Iterable[tuple[float, float]], kind: str, *, hint: str = "") -> Markup:
    """Return a line through points; the hint is its tooltip."""
    steps = " ".join(
        f"{'L' if place else 'M'}{_number(x)} {_number(y)}" for place, (x, y) in enumerate(points)
    )
    return tag("path", *_hint(hint), d=steps, class_=kind)


def rect(x: float, y: float, width: float, height: float, **more: Attribute) -> Markup:
    """Return a rectangle; `hint` is its tooltip, all else are attributes."""
    inner = _hint(str(more.pop("hint", "")))
    return tag("rect", *inner, x=x, y=y, width=width, height=height, **more)


def circle(x: float, y: float, radius: float, kind: str, hint: str) -> Markup:
    """Return a dot with a tooltip."""
    return tag("circle", *_hint(hint), cx=x, cy=y, r=radius, class_=kind)


def legend(
    names: Iterable[str], width: float, mark: float, draw: Callable[[int, float, float], Markup]
) -> tuple[list[Markup], float]:
    """Return a legend in as many rows as it takes, and where it ends.

    `draw` draws the mark of an entry, `mark` pixels wide, at a place on the baseline.
    """
    parts: list[Markup] = []
    x, y = 0.0, 14.0
    for place, name in enumerate(names):
        wide = width_of(name) + mark + 22
        if x and x + wide > width:
            x, y = 0.0, y + 20
        parts.append(draw(place, x, y))
        parts.append(text(x + mark + 6, y, name, limit=width - mark - 6))
        x += wide
    return parts, y + 8


def width_of(content: str) -> float:
    """Return how wide a text is at most, in the widest of the usual fonts."""
    return EM * sum(map(_character, content))


def shortened(content: str, limit: float) -> str:
    """Return as much of a text as fits."""
    if width_of(content) <= limit:
        return content
    fits = len(content)
    while fits and width_of(content[:fits] + _ELLIPSIS) > limit:
        fits -= 1
    return content[:fits] + _ELLIPSIS


def _hint(content: str) -> list[Markup]:
    return [tag("title", content)] if content else []


def _character(character: str) -> float:
    if character in _NARROW:
        return 0.38
    if character in _WIDE:
        return 0.9
    return 0.74 if character.isupper() or east_asian_width(character) in "WF" else 0.64


def _number(value: Attribute) -> str:
    return f"{value:.1f}".rstrip("0").rstrip(".") if isinstance(value, (int, float)) else str(value)
