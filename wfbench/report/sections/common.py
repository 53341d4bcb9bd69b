"""Parts that several sections have."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, is_dataclass, replace
from typing import TYPE_CHECKING, Any

from wfbench.report import document as doc

if TYPE_CHECKING:
    from wfbench.contract import Order


def known(value: float | None) -> float | None:
    """Return a number, or None if it could not be measured."""
    return None if value is None or not math.isfinite(value) else float(value)


Span = tuple[float | None, float | None, float | None]
"""A value and the ends of its interval."""


def table(heads: str | Iterable[str | doc.Column], rows: Iterable[Sequence[Any]]) -> doc.Table:
    """Return a table whose numbers are finite or missing; `columns` explains the heads.

    A row has a value for every head; below a head with `±` that is a span, a
    dataclass of one, or None.
    """
    columns = doc.columns(*(heads.split(" | ") if isinstance(heads, str) else heads))
    ends = {name for column in columns for name in column.interval or ()}
    headed = [column for column in columns if column.name not in ends]
    return doc.Table(columns, tuple(tuple(_cells(headed, row)) for row in rows))


def _cells(columns: Sequence[doc.Column], row: Sequence[Any]) -> Iterator[Any]:
    for column, value in zip(columns, row, strict=True):
        for cell in (value,) if column.interval is None else _span(value):
            yield known(cell) if isinstance(cell, float) else cell


def _span(found: Any) -> Span:
    if is_dataclass(found) and not isinstance(found, type):
        found = astuple(found)
    return (None, None, None) if found is None else found


def around(value: float, half: float) -> tuple[float, float, float]:
    """Return a value with its interval."""
    return value, value - half, value + half


def worst(checks: Sequence[doc.Check]) -> doc.Outcome:
    """Return the worst outcome of checks."""
    found = doc.count_outcomes(checks)
    return "bad" if found["bad"] else "open" if found["open"] else "good"


def machine_facts(machine: Mapping[str, Any]) -> list[doc.Fact]:
    """Return which machine and versions something was made with."""
    memory = machine.get("memory_bytes")
    load = machine.get("load") or []
    facts = [
        doc.Fact("machine", f"{machine.get('cpu')}, {machine.get('usable_cores')} cores"),
        doc.Fact("memory", f"{memory / 2**30:.1f} GB" if memory else "unknown"),
        doc.Fact("load at the start", ", ".join(f"{one:.1f}" for one in load) or "unknown"),
        doc.Fact("wfbench", f"{machine.get('wfbench')}, Python {machine.get('python')}"),
    ]
    packages = machine.get("packages") or {}
    versions = ", ".join(
        f"{name} {packages[name]}" for name in ("torch", "numba") if name in packages
    )
    return [*facts, doc.Fact("packages", versions)] if versions else facts


def made_by(command: str, exhibits: Iterable[doc.Exhibit]) -> tuple[doc.Exhibit, ...]:
    """Return exhibits with the command that makes their data again."""
    return tuple(replace(exhibit, command=exhibit.command or command) for exhibit in exhibits)


def list_section(
    kind: str,
    title: str,
    outcome: doc.Outcome,
    says: str,
    shown: doc.Table,
    reading: str = "",
    *,
    asks: str = "",
    command: str = "",
    picture: doc.Picture | None = None,
    **more: Any,
) -> doc.Section:
    """Return a section with one exhibit, whose title `asks`; `more` are fields of the section."""
    exhibits = (doc.Exhibit(asks, reading, shown, command, picture),)
    return doc.Section(title, kind, doc.Check(kind, outcome, says), exhibits=exhibits, **more)


def facts(told: Mapping[str, object]) -> tuple[doc.Fact, ...]:
    """Return what is told by name, as text; what is missing or empty is left out."""
    return tuple(
        doc.Fact(name, str(value)) for name, value in told.items() if value not in (None, "")
    )


def cell_name(red: str | None, horizon: int) -> str:
    """Name a cell of red agent and number of steps."""
    return f"{red or 'its red agent'}, {horizon} steps"


def how_to_read(units: Sequence[str]) -> str:
    """Return what a newcomer needs to know to read orders and returns."""
    from wfbench.orders import short_names  # brings numpy, which a list of plugins does not need

    short_ones = short_names(tuple(units))
    letters = ", ".join(f"{a} {b}" for a, b in zip(short_ones, units, strict=True) if a != b)
    names = f" ({letters})" if letters else ""
    return (
        f"An order says which units{names} are to be repaired first. Return is the environment's "
        "reward summed over an episode, higher is better. Choices are repairs made while several "
        "unit types were compromised; right is the share of choices that follow the order. "
        "Compliance is that share, unless another definition is named."
    )


def position_heat(scored: Sequence[tuple[Order, float]], units: Sequence[str]) -> doc.Exhibit:
    """Return the mean score of the orders that have a unit in a position."""
    rows = []
    for unit, name in enumerate(units):
        for position in range(len(units)):
            values = [s for order, s in scored if order[position] == unit and math.isfinite(s)]
            mean = sum(values) / len(values) if values else None
            rows.append((name, _ordinal(position + 1), mean, len(values)))
    return doc.Exhibit(
        title="Which unit should come when?",
        reading="Mean score of all trainings whose order has the unit (row) in the position "
        "(column), first position repaired first. Higher is better. A cell with few trainings says "
        "little, and a mean over other positions mixes their effects.",
        table=table("unit | position | mean score (points) .1 | trainings", rows),
        picture=doc.Heat(x="position", y="unit", value="mean score", count="trainings"),
    )


def _ordinal(number: int) -> str:
    return {1: "1st", 2: "2nd", 3: "3rd"}.get(number, f"{number}th")
