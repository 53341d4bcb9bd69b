"""What a report says, before it has a format.

A report is plain frozen data: sections with facts, checks and exhibits. An exhibit is a table, the
command that made it and, if a picture helps, which columns of that very table are drawn and how. A
format draws or writes the table and computes nothing, so no two formats can disagree.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

Value = str | int | float | bool | None
"""One cell; a number that could not be measured is None."""

Outcome = Literal["good", "bad", "open"]
"""`open`: not finished, not reached or not measurable, so there is nothing to say yet."""

OUTCOME_NAMES: Mapping[Outcome, str] = {"good": "ok", "bad": "failed", "open": "open"}


@dataclass(frozen=True)
class Column:
    """A column: what its values are, and how they are read."""

    name: str
    unit: str = ""
    digits: int | None = None
    """Decimals that a reader is shown; None: as many as tell it apart. Files keep every digit."""

    @property
    def title(self) -> str:
        """The name with its unit."""
        return f"{self.name} ({self.unit})" if self.unit else self.name


@dataclass(frozen=True)
class Table:
    """Columns and rows."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[Value, ...], ...]

    def __post_init__(self) -> None:
        if any(len(row) != len(self.columns) for row in self.rows):
            raise ValueError("a row must have a value for every column")

    def place(self, name: str) -> int:
        """Which column is called this."""
        return [column.name for column in self.columns].index(name)

    def column(self, name: str) -> Column:
        """The column of this name."""
        return self.columns[self.place(name)]

    def values(self, name: str) -> list[Value]:
        """The values of a column, row by row."""
        place = self.place(name)
        return [row[place] for row in self.rows]

    def numbers(self, name: str | None) -> list[float | None]:
        """The values of a column as numbers; None for what is none, and for no column."""
        if name is None:
            return [None] * len(self.rows)
        return [number(value) for value in self.values(name)]


def number(value: Value) -> float | None:
    """A value as a number, if it is one."""
    return float(value) if isinstance(value, (int, float)) else None


@dataclass(frozen=True)
class Bars:
    """One bar per row, from 0, with an interval if there is one; rows with a group are headed."""

    label: str
    value: str
    low: str | None = None
    high: str | None = None
    group: str | None = None


@dataclass(frozen=True)
class Shares:
    """One bar per row, divided into parts that sum to the whole."""

    label: str
    parts: tuple[str, ...]
    group: str | None = None


@dataclass(frozen=True)
class Dots:
    """One dot per row with its interval; the axis need not begin at 0."""

    label: str
    value: str
    low: str | None = None
    high: str | None = None
    strong: str | None = None
    """A column of booleans: what is drawn filled."""


@dataclass(frozen=True)
class Curves:
    """One line per series, with a band if there is an interval."""

    x: str
    y: str
    series: str
    low: str | None = None
    high: str | None = None
    from_zero: bool = False
    log: bool = False
    """Both axes are logarithmic, where values differ by orders of magnitude."""
    steps: bool = False
    """A value holds until the next one."""


@dataclass(frozen=True)
class Panel:
    """One of the charts that share a time axis."""

    y: str
    best: str | None = None
    """The best of it so far, drawn as steps."""
    line: float | None = None
    """A level to reach."""
    unit_scale: bool = False
    """The axis goes from 0 to 1."""


@dataclass(frozen=True)
class Timeline:
    """What was done one after the other, each with a line of its own along one axis."""

    x: str
    series: str
    strong: str
    """A column of booleans: whether the series reached what it was to reach."""
    panels: tuple[Panel, ...]
    reached: str
    """What to call a series that did."""
    missed: str


@dataclass(frozen=True)
class Spread:
    """Many values with intervals, sorted by the rows; those with a mark were also measured."""

    label: str
    value: str
    low: str
    high: str
    mark: str | None = None


@dataclass(frozen=True)
class Heat:
    """A grid of colours: one row per pair of x and y."""

    x: str
    y: str
    value: str
    count: str | None = None
    """How many measurements are behind a cell."""


Picture = Bars | Shares | Dots | Curves | Timeline | Spread | Heat


@dataclass(frozen=True)
class Exhibit:
    """Something to look at: a title that asks, a text that says how to read it, and the data."""

    title: str
    reading: str
    table: Table
    command: str
    """What makes these data again."""
    picture: Picture | None = None


@dataclass(frozen=True)
class Fact:
    """A name and a value, as people read it."""

    name: str
    value: str


@dataclass(frozen=True)
class Check:
    """Something that holds, does not hold, or is open."""

    name: str
    outcome: Outcome
    says: str


@dataclass(frozen=True)
class Section:
    """Everything about one source."""

    title: str
    kind: str
    """What the source is: `search`, `matrix`, `bench`, `evaluation`, `landscape`, `searchers`,
    `check`, `comparison` or `reproduction`."""
    headline: Check
    """What a reader in a hurry must know."""
    checks: tuple[Check, ...] = ()
    figures: tuple[Fact, ...] = ()
    """The few numbers that matter most."""
    facts: tuple[Fact, ...] = ()
    """Under which conditions."""
    exhibits: tuple[Exhibit, ...] = ()
    notes: tuple[str, ...] = ()
    """What a reader must know to believe it."""


@dataclass(frozen=True)
class Report:
    """Sections, and when and by what they were put together."""

    title: str
    created: str
    version: str
    sections: tuple[Section, ...]

    def checks(self) -> Iterator[tuple[Section, Check]]:
        """Every check with its section, the headlines first in theirs."""
        for section in self.sections:
            for check in (section.headline, *section.checks):
                yield section, check


def count_outcomes(checks: Sequence[Check]) -> dict[Outcome, int]:
    """How many checks ended how."""
    found: dict[Outcome, int] = {"good": 0, "bad": 0, "open": 0}
    for check in checks:
        found[check.outcome] += 1
    return found
