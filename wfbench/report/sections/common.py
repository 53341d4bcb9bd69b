"""Parts that several sections have."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from wfbench.contract import Order
from wfbench.orders import short_names
from wfbench.report.document import Column, Exhibit, Fact, Heat, Table
from wfbench.report.written import short


def known(value: float | None) -> float | None:
    """A number, or None if it could not be measured."""
    return None if value is None or not math.isfinite(value) else float(value)


def table(columns: Sequence[Column], rows: Iterable[Sequence[Any]]) -> Table:
    """A table whose numbers are finite or missing."""
    return Table(
        tuple(columns),
        tuple(
            tuple(known(value) if isinstance(value, float) else value for value in row)
            for row in rows
        ),
    )


def machine_facts(machine: Mapping[str, Any]) -> list[Fact]:
    """On what it was made."""
    memory = machine.get("memory_bytes")
    load = machine.get("load") or []
    facts = [
        Fact("machine", f"{machine.get('cpu')}, {machine.get('usable_cores')} cores"),
        Fact("memory", f"{memory / 2**30:.1f} GB" if memory else "unknown"),
        Fact("load at the start", ", ".join(f"{one:.1f}" for one in load) or "unknown"),
        Fact("wfbench", f"{machine.get('wfbench')}, Python {machine.get('python')}"),
    ]
    packages = machine.get("packages") or {}
    versions = ", ".join(
        f"{name} {packages[name]}" for name in ("torch", "numba") if name in packages
    )
    return [*facts, Fact("packages", versions)] if versions else facts


def duration(seconds: float) -> str:
    """A time as people say it."""
    if seconds < 60:
        return f"{short(seconds)} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"


def how_to_read(units: Sequence[str]) -> str:
    """What a stranger needs to know to read orders and returns."""
    short_ones = short_names(tuple(units))
    letters = ", ".join(f"{a} {b}" for a, b in zip(short_ones, units, strict=True) if a != b)
    names = f" ({letters})" if letters else ""
    return (
        f"An order says which units{names} are to be repaired first. Return is the environment's "
        "reward summed over an episode, higher is better; compliance is the share of repairs that "
        "follow the order."
    )


def position_heat(
    scored: Sequence[tuple[Order, float]], units: Sequence[str], command: str
) -> Exhibit:
    """Mean return of the orders that have a unit in a position."""
    rows = []
    for unit, name in enumerate(units):
        for position in range(len(units)):
            values = [s for order, s in scored if order[position] == unit and math.isfinite(s)]
            mean = sum(values) / len(values) if values else None
            rows.append((name, _ordinal(position + 1), mean, len(values)))
    columns = [
        Column("unit"),
        Column("position"),
        Column("mean return", "points", 1),
        Column("trainings"),
    ]
    return Exhibit(
        title="Which unit should come when?",
        reading=(
            "Mean return of all trainings whose order has the unit (row) in the position (column), "
            "first position repaired first. Higher is better. A cell with few trainings says "
            "little, and a mean over other positions mixes their effects in."
        ),
        table=table(columns, rows),
        command=command,
        picture=Heat(x="position", y="unit", value="mean return", count="trainings"),
    )


def _ordinal(number: int) -> str:
    return {1: "1st", 2: "2nd", 3: "3rd"}.get(number, f"{number}th")
