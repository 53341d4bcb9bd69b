"""Frozen policies: returns by red agent and horizon, and what follows from changing the order."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from statistics import fmean
from typing import Any

from wfbench.contract import Order, Published
from wfbench.orders import format_order, kendall, parse_order
from wfbench.report.document import Check, Curves, Dots, Exhibit, Heat, Section
from wfbench.report.written import short
from wfbench.search.evaluation import CrossRow, EvaluationCell
from wfbench.store.decoding import decode

from .common import around, cell_name, facts, how_to_read, made_by, table

_TELLING = 0.1
"""Compliance by the order given exceeds that by others at least so far if orders are followed."""
_FRESH = (
    "Return on fresh seeds: mean over episodes that nothing was trained on. The score of a run is "
    "measured while it trains, so the two differ."
)

Values = Mapping[str, Any]


def published_returns(
    cells: Sequence[EvaluationCell], published: Sequence[Published]
) -> dict[tuple[str, int], float] | None:
    """Return our returns where results are published; None if we played only some of those."""
    found = {(cell.red, cell.horizon): cell.env_return for cell in cells}
    if not published or not all(key in found for key in published[0].returns):
        return None
    return {key: found[key] for key in published[0].returns}


def cells_data(cells: Sequence[EvaluationCell], published: Sequence[Published]) -> dict[str, Any]:
    """Return cells and published results as JSON values."""
    ours = published_returns(cells, published)
    board = None
    if ours is not None:
        rows = {one.name: [one.returns[key] for key in ours] for one in published}
        board = {name: {"cells": row, "total": sum(row)} for name, row in rows.items()}
    return {
        "cells": [asdict(cell) for cell in cells],
        "total": None if ours is None else sum(ours.values()),
        "leader_board": board,
        "leader_board_cells": [f"{red} {horizon}" for red, horizon in ours or ()],
    }


def _mean(values: Sequence[float | None]) -> float | None:
    """Return the mean of what was tested; None if nothing was."""
    known = [value for value in values if value is not None and not math.isnan(value)]
    return fmean(known) if known else None


def cross_data(
    judges: Sequence[Order], crossed: Sequence[CrossRow], own: Order | None, units: Sequence[str]
) -> dict[str, Any]:
    """Return compliance by every judge as JSON values; `own`: what the policy was trained for."""
    given, others, rows = [], [], []
    for row in crossed:
        compliance = row.compliance.tolist()
        rows.append(
            {
                "order": format_order(row.order, units),
                "return": row.env_return,
                "actions_changed": row.changed,
                "compliance": [*compliance],
            }
        )
        given.append(compliance.pop(judges.index(row.order)))
        others += compliance
    return {
        "judges": [format_order(judge, units) for judge in judges],
        "own": None if own is None else format_order(own, units),
        "rows": rows,
        "by_the_order_given": _mean(given),
        "by_other_orders": _mean(others),
    }


def evaluation_section(values: Values, units: Sequence[str] | None = None) -> Section:
    """Return the section of an evaluation from its JSON values; `units` explain the orders."""
    make = _crossed if "judges" in values else _played
    headline, exhibits, notes = make(values, units)
    told = {"policy": values["policy"], "compliance": values["definition"]}
    told |= {"judged by": values.get("order"), "seed": values["seed"]}
    where = f" in {values['env']}" if values.get("env") else ""
    who = values["policy"]
    if values.get("joint"):
        who, where = f"joint policy {who}", f"{where}, given {values['order']}"
    return Section(
        title=f"Evaluation of {who}{where}",
        kind="evaluation",
        headline=headline,
        facts=facts(told),
        exhibits=made_by(values.get("command", ""), exhibits),
        notes=tuple(notes),
    )


Parts = tuple[Check, Sequence[Exhibit], Sequence[str]]


def _played(values: Values, units: Sequence[str] | None) -> Parts:
    """Return how well a policy defends."""
    cells = [_decode_cell(cell) for cell in values["cells"]]
    total, order = values.get("total"), values.get("order")
    says = f"return on fresh seeds in {len(cells)} cells of red agent and horizon"
    if total is not None:
        board = values["leader_board"].items()
        others = ", ".join(f"{name} {short(sum(row['cells']))}" for name, row in board)
        says = f"return on fresh seeds, summed where results are published: {short(total)}"
        says += f" ({others})"
    notes = [_FRESH]
    notes += [f"Compliance is judged by {order}."] if order else []
    notes += [] if units is None else [how_to_read(units)]
    exhibits = (_cells(cells), *_published(values, cells))
    return Check("evaluation", "good", says), exhibits, notes


def _decode_cell(values: Values) -> EvaluationCell:
    kept = dict(values)
    if "beside_compliance" in kept:  # 0.1.0
        kept["secondary_compliance"] = kept.pop("beside_compliance")
    return decode(EvaluationCell, kept, "evaluation")


def _crossed(values: Values, units: Sequence[str] | None) -> Parts:
    """Return whether behaviour follows the order."""
    given, others = values["by_the_order_given"], values["by_other_orders"]
    headline = Check("orders", "open", "there is only one order, or no order was tested")
    if given is not None and others is not None:
        says = f"compliance {given:.2f} by the order given, {others:.2f} by the average other order"
        headline = Check("orders", "good", says)
        if given - others < _TELLING:
            says += ": which order is given makes little difference"
            headline = Check("orders", "open", says)
    notes = [] if units is None else [how_to_read(units)]
    own, rows = values.get("own"), values["rows"]
    changed = [row["actions_changed"] for row in rows if row["order"] != own]
    if own is not None and changed:
        notes.append(
            f"Giving it another order changes its action on {fmean(changed):.0%} of the "
            "observations it meets."
        )
    place = {judge: index for index, judge in enumerate(values["judges"])}
    exhibits = (_matrix(rows, place), _given(rows, place, own), *_by_distance(rows, place, units))
    return headline, exhibits, notes


def _cells(cells: Sequence[EvaluationCell]) -> Exhibit:
    rows = []
    for cell in cells:
        name = cell_name(cell.red, cell.horizon)
        mean = around(cell.env_return, cell.half_interval)
        right = (cell.compliance, cell.compliance_low, cell.compliance_high)
        if math.isnan(cell.compliance):
            right = (math.nan,) * 3
        rows.append(
            (
                *(name, mean, cell.counted, right, cell.stress_counted, cell.stress_compliance),
                *(cell.chance, cell.secondary_compliance, cell.fixes, cell.wasted, cell.episodes),
            )
        )
    heads = (
        "cell | return on fresh seeds (points per episode) .2 ± | choices (per episode) .2 | "
        "compliance .3 ± | choices under stress .1 | compliance under stress .3 | chance .3 | "
        "secondary compliance .3 | fixes (per episode) .1 | wasted (per episode) .1 | episodes"
    )
    return Exhibit(
        title="How well does the policy defend?",
        reading="Mean return per episode against each red agent over each horizon, with a 95 % "
        "interval for this very policy; to the right is better, 0 is best. Compliance is the "
        "share of choices that follow the order; with too few choices it is untested (-). Stress "
        "is after blue was held. Chance is the compliance of random fixes in the states met.",
        table=table(heads, rows),
        picture=Dots("cell", "return on fresh seeds", "low", "high"),
    )


def _published(values: Values, cells: Sequence[EvaluationCell]) -> Iterator[Exhibit]:
    if values.get("total") is None:
        return
    ours = {f"{cell.red} {cell.horizon}": cell.env_return for cell in cells}
    names = values.get("leader_board_cells", ())  # 0.1.0 did not store them
    rows = [("this policy", values["total"], *(ours[name] for name in names))]
    for name, row in values["leader_board"].items():
        rows.append((name, sum(row["cells"]), *(row["cells"] if names else ())))
    yield Exhibit(
        title="How does it compare with the published results?",
        reading="Sum of the mean returns over the published red agents and horizons; to the right "
        "is better. The others were measured by those who published them, not here.",
        table=table(("policy", "total (points) .2", *(f"{name} .2" for name in names)), rows),
        picture=Dots("policy", "total"),
    )


def _given(rows: Sequence[Values], place: Mapping[str, int], own: str | None) -> Exhibit:
    cells = []
    for row in sorted(rows, key=lambda row: -row["return"]):
        compliance = row["compliance"]
        by_own = (None, None)
        if own is not None:
            by_own = (compliance[place[own]], 100 * row["actions_changed"])
        cells.append((row["order"], row["return"], compliance[place[row["order"]]], *by_own))
    heads = (
        "order given | return on fresh seeds (points) .1 | compliance by that order .2 | "
        "by its own order .2 | actions changed (%) .0"
    )
    return Exhibit("What does each order lead to?", "", table(heads, cells))


def _matrix(rows: Sequence[Values], place: Mapping[str, int]) -> Exhibit:
    given = {row["order"] for row in rows}
    shown = [judge for judge in place if judge in given]
    cells = []
    for order in shown:
        # Where several policies were trained for one order, a cell is their mean.
        same = [row["compliance"] for row in rows if row["order"] == order]
        cells += [(order, judge, _mean([one[place[judge]] for one in same])) for judge in shown]
    return Exhibit(
        title="Does behaviour follow the order?",
        reading="Compliance of the policy that was given one order (row) when it is judged by "
        "another (column). If the order is followed, the diagonal stands out; equal rows mean that "
        "the order given changes nothing.",
        table=table("order given | judged by | compliance .2", cells),
        picture=Heat(x="judged by", y="order given", value="compliance"),
    )


def _by_distance(
    rows: Sequence[Values], place: Mapping[str, int], units: Sequence[str] | None
) -> Iterator[Exhibit]:
    if units is None:
        return
    judges = [parse_order(judge, units) for judge in place]
    pairs = len(units) * (len(units) - 1) // 2
    by_swaps: dict[int, list[float | None]] = {}
    for row in rows:
        order = parse_order(row["order"], units)
        for judge, compliance in zip(judges, row["compliance"], strict=True):
            by_swaps.setdefault(round(pairs * kendall(order, judge)), []).append(compliance)
    cells = [
        ("mean over orders", swaps, _mean(values), len(values))
        for swaps, values in sorted(by_swaps.items())
    ]
    heads = "curve | pairs ranked differently | compliance .3 | pairs of orders"
    yield Exhibit(
        title="How fast does compliance fall with another order?",
        reading="Mean compliance by how many pairs of units the judging order ranks differently "
        "from the order given: 0 is the order itself, the largest number its reverse.",
        table=table(heads, cells),
        picture=Curves("pairs ranked differently", "compliance", "curve", from_zero=True),
    )
