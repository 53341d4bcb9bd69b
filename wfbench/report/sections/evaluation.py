"""Frozen policies: returns by red agent and horizon, and what follows from changing the order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from wfbench.contract import Order
from wfbench.orders import kendall, parse_order
from wfbench.report.document import (
    Check,
    Column,
    Curves,
    Dots,
    Exhibit,
    Fact,
    Heat,
    Section,
)
from wfbench.report.written import short

from .common import table

_TELLING = 0.1
"""Compliance by the order given exceeds that by others at least so far if orders are followed."""

CELLS, CROSS = "wfbench/evaluation/1", "wfbench/cross-evaluation/1"


def evaluation_section(values: Mapping[str, Any], units: Sequence[str] | None) -> Section:
    """The section of one saved evaluation; `units` are needed to measure distances of orders."""
    name = str(values["policy"])
    crossed = values["schema"] == CROSS
    exhibits = cross_exhibits(values, units) if crossed else cell_exhibits(values)
    facts = [Fact("policy", name), Fact("compliance", str(values["definition"]))]
    facts += [Fact("judged by", str(values["order"]))] if "order" in values else []
    facts.append(Fact("seed", str(values["seed"])))
    return Section(
        title=f"Evaluation of {name}",
        kind="evaluation",
        headline=_cross_headline(values) if crossed else _cells_headline(values),
        facts=tuple(facts),
        exhibits=tuple(exhibits),
    )


def _command(values: Mapping[str, Any]) -> str:
    fallback = "wfbench evaluate" + (" --orders …" if values["schema"] == CROSS else " …")
    return str(values.get("command", fallback))


def _cells_headline(values: Mapping[str, Any]) -> Check:
    if values.get("total") is not None:
        board = {name: row["total"] for name, row in (values.get("leader_board") or {}).items()}
        beside = ", ".join(f"{name} {short(total)}" for name, total in board.items())
        said = f"sum over the leader board's six cells {short(values['total'])} (beside: {beside})"
        return Check("evaluation", "good", said)
    return Check("evaluation", "good", f"{len(values['cells'])} cells were played")


def cell_exhibits(values: Mapping[str, Any]) -> list[Exhibit]:
    """Return in every cell."""
    columns = [
        Column("cell"),
        Column("return", "points per episode", 2),
        Column("low", "points", 2),
        Column("high", "points", 2),
        Column("compliance", digits=3),
        Column("chance", digits=3),
        Column("fixes", "per episode", 1),
        Column("episodes"),
    ]
    rows = []
    for cell in values["cells"]:
        half = cell["half_interval"]
        mean = cell["env_return"]
        low, high = (None, None) if half is None else (mean - half, mean + half)
        name = f"{cell['red'] or 'its red agent'}, {cell['horizon']} steps"
        rows.append(
            (
                name,
                mean,
                low,
                high,
                cell["compliance"],
                cell["chance"],
                cell["fixes"],
                cell["episodes"],
            )
        )
    exhibits = [
        Exhibit(
            title="How well does the policy defend?",
            reading=(
                "Mean return per episode against each red agent over each horizon, on seeds that "
                "nothing was trained on; to the right is better, 0 is best. Chance is the "
                "compliance of random fixes in the states the policy met."
            ),
            table=table(columns, rows),
            command=_command(values),
            picture=Dots("cell", "return", "low", "high"),
        )
    ]
    return exhibits + _board(values)


def _board(values: Mapping[str, Any]) -> list[Exhibit]:
    board = values.get("leader_board")
    if not board:
        return []
    rows = [("this policy", values["total"])]
    rows += [(name, row["total"]) for name, row in board.items()]
    return [
        Exhibit(
            title="How does it compare with the published results?",
            reading=(
                "Sum of the mean returns over the six cells of the CAGE-2 leader board; to the "
                "right is better. The others were measured by the board, not here."
            ),
            table=table([Column("policy"), Column("total", "points", 2)], rows),
            command=_command(values),
            picture=Dots("policy", "total"),
        )
    ]


def _cross_headline(values: Mapping[str, Any]) -> Check:
    own, others = values["by_the_order_given"], values["by_other_orders"]
    if own is None or others is None:
        return Check("orders", "open", "there is only one order, so nothing to tell apart")
    said = f"compliance {own:.2f} by the order given, {others:.2f} by the average other order"
    if own - others >= _TELLING:
        return Check("orders", "good", said)
    return Check("orders", "open", f"{said}: which order is given makes little difference")


def cross_exhibits(values: Mapping[str, Any], units: Sequence[str] | None) -> list[Exhibit]:
    """The matrix of orders given and orders judged by, and how compliance falls with distance."""
    judges, rows = list(values["judges"]), values["rows"]
    given = list(dict.fromkeys(row["order"] for row in rows))
    shown = [judge for judge in judges if judge in set(given)]
    cells: list[tuple[str, str, float]] = []
    for order in sorted(given, key=judges.index):
        # A policy was trained for an order more than once: its cells are means.
        same = [row["compliance"] for row in rows if row["order"] == order]
        for judge in shown:
            place = judges.index(judge)
            cells.append((order, judge, sum(one[place] for one in same) / len(same)))
    columns = [Column("order given"), Column("judged by"), Column("compliance", digits=2)]
    exhibits = [
        Exhibit(
            title="Does behaviour follow the order?",
            reading=(
                "Compliance of the policy that was given one order (row) when it is judged by "
                "another (column). If the order is followed, the diagonal stands out; equal rows "
                "mean that the order given changes nothing."
            ),
            table=table(columns, cells),
            command=_command(values),
            picture=Heat(x="judged by", y="order given", value="compliance"),
        )
    ]
    return exhibits + _by_distance(values, units)


def _by_distance(values: Mapping[str, Any], units: Sequence[str] | None) -> list[Exhibit]:
    if units is None:
        return []
    judges: list[Order] = [parse_order(judge, units) for judge in values["judges"]]
    pairs = len(units) * (len(units) - 1) // 2
    found: dict[int, list[float]] = {}
    for row in values["rows"]:
        order = parse_order(row["order"], units)
        for judge, compliance in zip(judges, row["compliance"], strict=True):
            found.setdefault(round(pairs * kendall(order, judge)), []).append(compliance)
    rows = [
        ("mean over orders", swaps, sum(all_) / len(all_), len(all_))
        for swaps, all_ in sorted(found.items())
    ]
    columns = [
        Column("curve"),
        Column("pairs ranked differently"),
        Column("compliance", digits=3),
        Column("pairs of orders"),
    ]
    return [
        Exhibit(
            title="How fast does compliance fall with another order?",
            reading=(
                "Mean compliance by how many pairs of units the judging order ranks otherwise than "
                "the order given: 0 is the order itself, the largest number its reverse."
            ),
            table=table(columns, rows),
            command=_command(values),
            picture=Curves("pairs ranked differently", "compliance", "curve", from_zero=True),
        )
    ]
