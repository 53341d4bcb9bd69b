"""SVG elements as text, every value escaped. Colours and fonts are the style sheet's."""

from __future__ import annotations

from collections.abc import Iterable

from markupsafe import Markup, escape

EM = 12.0
"""Size of the text in a drawing."""
_ELLIPSIS = "…"
_NARROW, _WIDE = frozenset("iIjlt.,:;|!'()[]/ "), frozenset("mwMW%@>=<+—…")

Attribute = str | float | int | None


def tag(name: str, *content: str | Markup, **attributes: Attribute) -> Markup:
    """An element; content that is not markup yet is escaped. `_` in a name stands for `-`."""
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(_value(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    inner = "".join(map(escape, content))
    return Markup(f"<{name}{written}>{inner}</{name}>")  # noqa: S704 - every part is escaped


def drawing(width: float, height: float, label: str, parts: Iterable[Markup]) -> Markup:
    """A whole picture; `label` says what it is to whoever cannot see it."""
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
    limit: float | None = None,
) -> Markup:
    """A line of text, shortened to `limit` pixels; the whole of it is then its tooltip."""
    shown = content if limit is None else shortened(content, limit)
    hint = [tag("title", content)] if shown != content else []
    return tag("text", *hint, shown, x=x, y=y, text_anchor=anchor, class_=kind)


def line(x1: float, y1: float, x2: float, y2: float, kind: str) -> Markup:
    """A straight line."""
    return tag("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=kind)


def path(points: Iterable[tuple[float, float]], kind: str, *, hint: str = "") -> Markup:
    """A line through points."""
    steps = " ".join(
        f"{'L' if place else 'M'}{_number(x)} {_number(y)}" for place, (x, y) in enumerate(points)
    )
    inner = [tag("title", hint)] if hint else []
    return tag("path", *inner, d=steps, class_=kind)


def width_of(content: str) -> float:
    """How wide a text is at most, in the widest of the usual fonts."""
    return EM * sum(map(_character, content))


def shortened(content: str, limit: float) -> str:
    """As much of a text as fits."""
    if width_of(content) <= limit:
        return content
    fits = len(content) - 1
    while fits > 1 and width_of(content[:fits] + _ELLIPSIS) > limit:
        fits -= 1
    return content[:fits] + _ELLIPSIS


def _character(character: str) -> float:
    if character in _NARROW:
        return 0.38
    if character in _WIDE:
        return 0.9
    return 0.74 if character.isupper() or ord(character) > 0x2E7F else 0.64


def _value(value: Attribute) -> str:
    return _number(value) if isinstance(value, (int, float)) else str(value)


def _number(value: float) -> str:
    return f"{value:.1f}".rstrip("0").rstrip(".")
