"""What a report says, before it has a format.

A report is plain frozen data: sections with facts, checks and exhibits. An exhibit is a table, the
command that made it and, if a picture helps, which columns of that very table are drawn and how. A
format draws or writes the table and computes nothing, so no two formats can disagree.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

Value = str | int | float | bool | None
"""One cell; a number that could not be measured is None."""

Outcome = Literal["good", "bad", "open"]
"""`open`: undecided, because it is not finished, not reached or not measurable."""

_COLUMN = re.compile(
    r"(?P<name>.*?)(?: \((?P<unit>[^()]*)\))?(?: \.(?P<digits>\d))?(?P<interval> ±)?"
)

OUTCOME_NAMES: Mapping[Outcome, str] = {"good": "ok", "bad": "failed", "open": "undecided"}
"""What people read; files keep the short words."""


@dataclass(frozen=True)
class Column:
    """A column of a table: its name, its unit and how its values are written."""

    name: str
    unit: str = ""
    digits: int | None = None
    """Decimals that a reader is shown; None: about three digits. Files keep every digit."""
    interval: tuple[str, str] | None = None
    """The columns with the ends of its 95 % interval; readers are shown all three as one."""

    @property
    def title(self) -> str:
        """Return the name with its unit."""
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
        """Return the index of the column with this name."""
        return [column.name for column in self.columns].index(name)

    def column(self, name: str) -> Column:
        """Return the column with this name."""
        return self.columns[self.place(name)]

    def values(self, name: str) -> list[Value]:
        """Return the values of a column, row by row."""
        place = self.place(name)
        return [row[place] for row in self.rows]

    def numbers(self, name: str | None) -> list[float | None]:
        """Return a column as numbers; None for what is not a number, and for no column."""
        if name is None:
            return [None] * len(self.rows)
        return [number(value) for value in self.values(name)]


def columns(*texts: str | Column) -> tuple[Column, ...]:
    """Return columns from texts such as `order`, `time (s)`, `return (points) .1` and `rate ±`.

    A number after a dot is how many decimals are shown. `±` adds two columns for the interval:
    `low` and `high` the first time, `NAME, low` and `NAME, high` after that. A column stays as it
    is.
    """
    found: list[Column] = []
    for text in texts:
        if isinstance(text, Column):
            found.append(text)
            continue
        match = _COLUMN.fullmatch(text)
        if match is None:
            raise ValueError(f"{text!r} describes no column")
        name, unit = match["name"], match["unit"] or ""
        digits = None if match["digits"] is None else int(match["digits"])
        if match["interval"] is None:
            found.append(Column(name, unit, digits))
            continue
        first = all(column.interval is None for column in found)
        ends = ("low", "high") if first else (f"{name}, low", f"{name}, high")
        found.append(Column(name, unit, digits, ends))
        found += [Column(end, unit, digits) for end in ends]
    return tuple(found)


def number(value: Value) -> float | None:
    """Return a value as a number if it is one."""
    return float(value) if isinstance(value, (int, float)) else None


@dataclass(frozen=True)
class Estimates:
    """Values by label, with the ends of their intervals if there are some."""

    label: str
    value: str
    low: str | None = None
    high: str | None = None


@dataclass(frozen=True)
class Bars(Estimates):
    """One bar per row, from 0, with an interval if there is one; rows with a group are headed."""

    group: str | None = None
    log: bool = False
    """Values are factors: bars begin at 1, on a logarithmic axis."""


@dataclass(frozen=True)
class Dots(Estimates):
    """One dot per row with its interval; the axis need not begin at 0."""

    strong: str | None = None
    """A column of booleans: what is drawn filled."""


@dataclass(frozen=True)
class Spread(Estimates):
    """Many values with intervals, sorted by the rows; those with a mark were also measured."""

    mark: str | None = None


@dataclass(frozen=True)
class Shares:
    """One bar per row, divided into parts that sum to the whole."""

    label: str
    parts: tuple[str, ...]
    group: str | None = None


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
    mark: str | None = None
    """A column of booleans: where a vertical line is drawn."""
    link: str | None = None
    """A column of addresses that points lead to."""


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
    """A table to look at: a title that asks, a text that says how to read it, and the data."""

    title: str
    """Empty where the section's title says it all."""
    reading: str
    table: Table
    command: str = ""
    """What makes these data again."""
    picture: Picture | None = None


@dataclass(frozen=True)
class Fact:
    """A name and a value, as people read it."""

    name: str
    value: str


@dataclass(frozen=True)
class Check:
    """Something that holds, does not hold, or is undecided."""

    name: str
    outcome: Outcome
    says: str
    error: bool = False
    """It is bad because it could not be measured."""


@dataclass(frozen=True)
class Section:
    """Everything about one source."""

    title: str
    kind: str
    """What the source is, such as `search`, `bench`, `check` or `comparison`."""
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
    conclusion: tuple[str, ...] = ()
    """What was found, in sentences that a person can act on."""
    afterwards: tuple[str, ...] = ()
    """What to do with it: where the files are, and the next command."""

    @property
    def concluding(self) -> tuple[str, ...]:
        """Return what the conclusion says beyond the headline."""
        return tuple(line for line in self.conclusion if line not in self.headline.says)

    @property
    def cases(self) -> tuple[Check, ...]:
        """Return what was checked: the checks, or the headline where there are none."""
        return self.checks or (self.headline,)

    @property
    def remarkable(self) -> list[Check]:
        """Return the checks that did not pass."""
        return [check for check in self.checks if check.outcome != "good"]


@dataclass(frozen=True)
class Report:
    """Sections, and when and by what they were put together."""

    title: str
    created: str
    version: str
    sections: tuple[Section, ...]


def count_outcomes(checks: Sequence[Check]) -> dict[Outcome, int]:
    """Return how many checks have each outcome."""
    found = Counter(check.outcome for check in checks)
    return {outcome: found[outcome] for outcome in OUTCOME_NAMES}
