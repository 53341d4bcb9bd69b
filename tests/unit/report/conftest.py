"""A report of everything a report can hold, with strings that nobody would want to obey."""

from __future__ import annotations

import pytest

from wfbench.report.document import (
    Bars,
    Check,
    Column,
    Curves,
    Dots,
    Exhibit,
    Fact,
    Heat,
    Panel,
    Picture,
    Report,
    Section,
    Shares,
    Spread,
    Table,
    Timeline,
)

HOSTILE = (
    "<script>alert('x')</script>",
    '"><img src=x onerror=alert(1)>',
    "]]></system-out><x/>",
    "a|b\n# heading\n`code` [link](http://evil.example) @everyone www.evil.example",
    "=HYPERLINK(1)",
    "\x1b[31mred\x00\x07 &amp; {{ 7 * 7 }}",
    "x" * 300,
)


def _table(label: str) -> Table:
    columns = (
        Column(label),
        Column("number", label, 2),
        Column("low"),
        Column("high"),
        Column("step"),
        Column("flag"),
        Column("group"),
    )
    rows = tuple(
        (f"{label} {row}", 1.5 * row, 1.5 * row - 1, 1.5 * row + 1, row, row % 2 == 0, label)
        for row in range(1, 6)
    )
    return Table(columns, (*rows, (f"{label} none", None, None, None, 6, False, label)))


def _pictures(label: str) -> list[Picture | None]:
    return [
        Bars(label, "number", "low", "high", group="group"),
        Shares(label, ("number", "low", "high")),
        Dots(label, "number", "low", "high", strong="flag"),
        Curves("step", "number", "group", "low", "high"),
        Timeline("step", label, "flag", (Panel("number", "high", 3.0),), label, label),
        Spread(label, "number", "low", "high", mark="step"),
        Heat(x="step", y=label, value="number", count="step"),
        Heat(x="step", y=label, value="number"),
        None,
    ]


def section(text: str) -> Section:
    """A section in which every string that can come from outside is `text`."""
    exhibits = tuple(
        Exhibit(f"{text} {number}", text, _table(text), f"wfbench run {text}", picture)
        for number, picture in enumerate(_pictures(text))
    )
    return Section(
        title=text,
        kind="search",
        headline=Check(text, "good", text),
        checks=(Check(text, "bad", text), Check(text, "open", text), Check(text, "good", text)),
        figures=(Fact(text, text),),
        facts=(Fact(text, text),),
        exhibits=exhibits,
        notes=(text,),
    )


@pytest.fixture
def hostile() -> Report:
    """Every hostile string in every place."""
    return Report(HOSTILE[0], HOSTILE[1], HOSTILE[2], tuple(map(section, HOSTILE)))


@pytest.fixture
def harmless() -> Report:
    """The same with a harmless string."""
    return Report("plain", "2026-01-01T00:00:00+00:00", "1.0", (section("plain"),))
