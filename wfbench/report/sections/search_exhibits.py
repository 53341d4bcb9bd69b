"""What there is to see of one search: orders, learning, beliefs, time."""

from __future__ import annotations

import math

from wfbench.plugins import PluginHost
from wfbench.report.document import Column, Dots, Exhibit, Panel, Shares, Spread, Timeline
from wfbench.report.run_summary import by_order
from wfbench.search.results import WorkflowResult, better
from wfbench.store.columns import PHASES

from .common import table
from .recorded import RecordedSearch, belief_of

_TIMES = 1.96


def orders_exhibit(search: RecordedSearch, finished: list[WorkflowResult], command: str) -> Exhibit:
    """Every order that was trained, the best first."""
    rows = []
    for order in by_order(finished):
        shown, many = order.best, len(order.trainings) > 1
        half = order.between if many else order.within
        value = order.mean if many else shown.score
        rows.append(
            (
                search.written(order.order),
                value,
                value - half,
                value + half,
                "trainings" if many else "episodes",
                shown.compliance,
                shown.beside_compliance,
                shown.compliant,
                len(order.trainings),
                shown.status if shown.compliant else f"{shown.status}: {shown.reason}",
            )
        )
    columns = [
        Column("order"),
        Column("return", "points", 1),
        Column("low", "points", 1),
        Column("high", "points", 1),
        Column("interval over"),
        Column("compliance", digits=3),
        Column("beside", digits=3),
        Column("compliant"),
        Column("trainings"),
        Column("ended by"),
    ]
    return Exhibit(
        title="Which orders did best?",
        reading=(
            "Mean return per episode of every order that was trained, compliant orders (filled) "
            "first; to the right is better. Whiskers are 95 % intervals: over the episodes of the "
            "one training, or over trainings where an order was trained again. Training once more "
            "with another seed moves a score several times as far as episodes do."
        ),
        table=table(columns, rows),
        command=command,
        picture=Dots("order", "return", "low", "high", strong="compliant"),
    )


def learning_exhibit(search: RecordedSearch, command: str) -> Exhibit:
    """Return and compliance of every workflow, one after the other."""
    columns = [
        Column("workflow"),
        Column("order"),
        Column("reached"),
        Column("steps in all", "environment steps"),
        Column("steps of the workflow"),
        Column("return", "points per episode", 2),
        Column("best return", "points per episode", 2),
        Column("compliance", digits=3),
        Column("best compliance", digits=3),
    ]
    reached = {r.workflow: r.compliant for r in search.finished()}
    rows: list[tuple[object, ...]] = []
    best: WorkflowResult | None = None
    most: float | None = None
    for event in search.events:
        if event["event"] == "update":
            rows.append(
                (
                    event["workflow"] + 1,
                    event["order"],
                    reached.get(event["workflow"], False),
                    event["ledger"],
                    event["env_steps"],
                    event["return"],
                    None if best is None else best.score,
                    event["compliance"],
                    most,
                )
            )
        elif event["event"] == "workflow-finished":
            result = WorkflowResult.from_values(event)
            best = result if better(result, best) else best
            if math.isfinite(result.compliance):
                most = max(result.compliance, -math.inf if most is None else most)
    return Exhibit(
        title="How did each workflow learn?",
        reading=(
            "One line per workflow, in the order in which they were trained; all but the "
            "first begin with the policy of an earlier one, unless the run was told otherwise. "
            "Compliant is at or above the dashed level. Best so far is of workflows that had ended."
        ),
        table=table(columns, rows),
        command=command,
        picture=Timeline(
            x="steps in all",
            series="workflow",
            strong="reached",
            reached="ended compliant",
            missed="did not",
            panels=(
                Panel("return", best="best return"),
                Panel(
                    "compliance",
                    best="best compliance",
                    line=float(search.config["settings"]["threshold"]),
                    unit_scale=True,
                ),
            ),
        ),
    )


def belief_exhibit(
    search: RecordedSearch, host: PluginHost | None, command: str
) -> tuple[Exhibit | None, str]:
    """What the searcher believes of all orders, or why that cannot be shown."""
    belief, why = belief_of(search, host)
    if not belief:
        return None, why
    tried: dict[object, list[float]] = {}
    for result in search.finished():
        if math.isfinite(result.score):
            tried.setdefault(result.order, []).append(result.score)
    rows = []
    ranked = sorted(belief.items(), key=lambda item: -item[1][0])
    for rank, (order, (mean, sd)) in enumerate(ranked, start=1):
        scores = tried.get(order, [])
        measured = sum(scores) / len(scores) if scores else None
        low, high = mean - _TIMES * sd, mean + _TIMES * sd
        rows.append((rank, search.written(order), mean, low, high, measured, len(scores)))
    columns = [
        Column("rank"),
        Column("order"),
        Column("believed return", "points", 1),
        Column("low", "points", 1),
        Column("high", "points", 1),
        Column("measured", "points", 1),
        Column("trainings"),
    ]
    return Exhibit(
        title=f"What does the searcher believe of all {len(rows)} orders?",
        reading=(
            "Believed return of every order, the best on the left, with the range that holds 95 % "
            "of the belief. Diamonds are mean scores of orders that were trained; where the range "
            "is wide, nobody has looked yet."
        ),
        table=table(columns, rows),
        command=command,
        picture=Spread("order", "believed return", "low", "high", mark="measured"),
    ), why


def phases_exhibit(searches: list[RecordedSearch], command: str) -> Exhibit:
    """Where the time of searches went."""
    columns = [
        Column("combination"),
        *(Column(name, "%", 1) for name in PHASES),
        Column("wall", "s", 2),
    ]
    rows = []
    for search in searches:
        seconds = search.seconds()
        wall = seconds.get("wall", 0.0) or 1.0
        shares = [100 * seconds.get(name, 0.0) / wall for name in PHASES]
        rows.append((search.combination, *shares, seconds.get("wall", 0.0)))
    return Exhibit(
        title="Where did the time go?",
        reading=(
            "Share of the wall time by phase; the phases are all of it. Open is building "
            "environments and learner for every workflow, env, transport, inference and idle are "
            "collecting, update is learning, search is choosing and scoring orders."
        ),
        table=table(columns, rows),
        command=command,
        picture=Shares("combination", tuple(PHASES)),
    )
