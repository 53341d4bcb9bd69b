"""An evaluation as tables and as JSON, with the published results beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from wfbench.contract import Order
from wfbench.orders import format_order
from wfbench.report.console import console, plain_table
from wfbench.report.run_lines import number
from wfbench.search.evaluation import Cell, CrossRow

BOARD_REDS = ("bline", "meander")
BOARD_HORIZONS = (30, 50, 100)
BOARD: dict[str, tuple[float, ...]] = {
    "CardiffUni (winner)": (-3.47, -6.41, -13.76, -5.64, -8.69, -16.6),
    "Keeping-it-RL": (-3.48, -5.85, -11.39, -6.47, -10.33, -19.38),
}
"""CAGE Challenge 2, final leader board: B_line then Meander, 30, 50 and 100 steps."""
BOARD_ENVS = ("cage2", "cyborg")
_SHOWN = 10


def show_cells(cells: Sequence[Cell], beside: str) -> None:
    """One row per red agent and horizon."""
    table = plain_table(
        "red", "steps", "return", "±", "compliance", "chance", beside, "fixes", "counted", "wasted"
    )
    for cell in cells:
        table.add_row(
            cell.red or "-",
            str(cell.horizon),
            number(cell.env_return),
            number(cell.half_interval),
            number(cell.compliance, 3),
            number(cell.chance, 3),
            number(cell.beside_compliance, 3),
            number(cell.fixes, 1),
            number(cell.counted, 1),
            number(cell.wasted, 1),
        )
    out = console()
    out.print(table)
    episodes = cells[0].episodes if cells else 0
    out.print(
        f"{episodes:,} episodes each, on seeds that nothing was trained on; ± is a 95 % interval "
        "of the mean for this very policy; chance is the compliance of random fixes in the states "
        "it met; fixes are per episode",
        soft_wrap=True,
    )


def show_board(cells: Sequence[Cell]) -> None:
    """The published results beside ours, where all six cells were played."""
    ours = board_row(cells)
    if ours is None:
        return
    heads = [f"{red} {horizon}" for red in BOARD_REDS for horizon in BOARD_HORIZONS]
    table = plain_table("CAGE-2 leader board", *heads, "total")
    for name, values in {"this policy": ours, **BOARD}.items():
        table.add_row(name, *(number(value) for value in values), number(sum(values)))
    out = console()
    out.print()
    out.print(table)


def board_row(cells: Sequence[Cell]) -> tuple[float, ...] | None:
    """Our returns in the leader board's cells; None if one was not played."""
    found = {(cell.red, cell.horizon): cell.env_return for cell in cells}
    wanted = [(red, horizon) for red in BOARD_REDS for horizon in BOARD_HORIZONS]
    if not all(key in found for key in wanted):
        return None
    return tuple(found[key] for key in wanted)


def cells_json(cells: Sequence[Cell], *, board: bool) -> dict[str, Any]:
    """The same as `show_cells` and `show_board`, as JSON values."""
    ours = board_row(cells) if board else None
    return {
        "cells": [asdict(cell) for cell in cells],
        "total": None if ours is None else sum(ours),
        "leader_board": None
        if ours is None
        else {name: {"cells": list(row), "total": sum(row)} for name, row in BOARD.items()},
    }


def show_cross(
    rows: Sequence[CrossRow], judges: Sequence[Order], units: Sequence[str], own: Order | None
) -> None:
    """What follows from changing the order, and how far compliance follows it."""
    index = {order: i for i, order in enumerate(judges)}
    heads = ["order given", "return", "by that order"]
    heads += ["by its own", "actions changed"] if own is not None else []
    table = plain_table(*heads)
    ranked = sorted(rows, key=lambda row: row.env_return, reverse=True)
    for row in ranked[:_SHOWN]:
        cells = [
            format_order(row.order, units),
            number(row.env_return, 1),
            number(row.compliance[index[row.order]]),
        ]
        if own is not None:
            cells += [number(row.compliance[index[own]]), f"{row.changed:.0%}"]
        table.add_row(*cells)
    out = console()
    out.print(table)
    if len(rows) > _SHOWN:
        out.print(f"and {len(rows) - _SHOWN} more with --json")
    follow, other = diagonal(rows, judges)
    out.print(
        f"compliance is {number(follow)} by the order a policy was given and {number(other)} by "
        f"the average other one; {verdict(rows, own)}",
        soft_wrap=True,
    )


def verdict(rows: Sequence[CrossRow], own: Order | None) -> str:
    """Whether the order code changes behaviour."""
    if own is None:
        return "each row is a policy of its own"
    changed = [row.changed for row in rows if row.order != own]
    if not changed:
        return "no other code was tried"
    mean = float(np.mean(changed))
    return f"another code changes the action on {mean:.0%} of the observations it meets"


def diagonal(rows: Sequence[CrossRow], judges: Sequence[Order]) -> tuple[float, float]:
    """Mean compliance by the order that was given, and by all the others."""
    index = {order: i for i, order in enumerate(judges)}
    own = [row.compliance[index[row.order]] for row in rows]
    others = [np.delete(row.compliance, index[row.order]).mean() for row in rows if len(judges) > 1]
    return float(np.mean(own)), float(np.mean(others)) if others else float("nan")


def cross_json(
    rows: Sequence[CrossRow], judges: Sequence[Order], units: Sequence[str]
) -> dict[str, Any]:
    """The whole matrix, as JSON values."""
    follow, other = diagonal(rows, judges)
    return {
        "judges": [format_order(order, units) for order in judges],
        "rows": [
            {
                "order": format_order(row.order, units),
                "return": row.env_return,
                "actions_changed": row.changed,
                "compliance": [round(float(value), 4) for value in row.compliance],
            }
            for row in rows
        ],
        "by_the_order_given": follow,
        "by_other_orders": other,
    }
