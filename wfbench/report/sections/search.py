"""One search: what it found, how it learned, and where the time went."""

from __future__ import annotations

import math

from wfbench.landscape.from_runs import command_of
from wfbench.landscape.records import Landscape
from wfbench.plugins import PluginHost
from wfbench.report.document import (
    Check,
    Column,
    Dots,
    Exhibit,
    Fact,
    Outcome,
    Panel,
    Section,
    Shares,
    Spread,
    Timeline,
)
from wfbench.report.run_summary import by_order
from wfbench.report.written import short
from wfbench.search.results import HOPELESS, WorkflowResult, better
from wfbench.store.columns import PHASES

from .common import duration, how_to_read, machine_facts, position_heat, table
from .recorded import RecordedSearch, belief_of
from .run_regret import regret_exhibit

_TIMES = 1.96


def search_section(
    search: RecordedSearch, host: PluginHost | None, landscape: Landscape | None = None
) -> Section:
    """The section of one search; beliefs need the searcher's plugin, regret a landscape."""
    finished = search.finished()
    command = command_of(search.config)
    exhibits: list[Exhibit] = []
    notes = [how_to_read(search.units)]
    notes += [f"Warning: {event['text']}" for event in search.told("warning")]
    if finished:
        exhibits += [_orders(search, finished, command), _learning(search, command)]
        belief, why = _belief(search, host, command)
        exhibits += [belief] if belief is not None else []
        notes += [why] if why else []
        scored = [(result.order, result.score) for result in finished]
        exhibits.append(position_heat(scored, search.units, command))
        if landscape is not None:
            exhibits.append(regret_exhibit(search, landscape, command))
    if search.seconds().get("wall"):
        exhibits.append(phases([search], command))
    return Section(
        title=f"Search {search.id}",
        kind="search",
        headline=_headline(search, finished),
        checks=tuple(_checks(search, finished)),
        figures=tuple(_figures(search, finished)),
        facts=tuple(_facts(search)),
        exhibits=tuple(exhibits),
        notes=tuple(notes),
    )


def _headline(search: RecordedSearch, finished: list[WorkflowResult]) -> Check:
    threshold = search.config["settings"]["threshold"]
    compliant = sum(result.compliant for result in finished)
    said = (
        f"{compliant} of {len(finished)} trainings follow their order at least {threshold:.0%} "
        f"of the time ({search.config['definition']})"
    )
    best = search.best()
    if best is not None:
        said += f"; best: {search.written(best.order)} with a return of {short(best.score)}"
    outcome: Outcome = "good" if compliant else "open"
    if not search.complete:
        outcome, said = "open", f"not finished: {said}"
    if search.told("workflow-failed"):
        outcome, said = "bad", f"a training failed: {said}"
    if search.config["smoke"]:
        outcome, said = "open", f"a smoke run, too short to mean anything: {said}"
    return Check("result", outcome, said)


def _checks(search: RecordedSearch, finished: list[WorkflowResult]) -> list[Check]:
    end = search.events[-1].get("reason", "") if search.events else ""
    checks = [
        Check("complete", "good", f"it ended because of its budget ({end})")
        if search.complete
        else Check("complete", "open", f"go on with: wfbench run --resume {search.path}")
    ]
    for result in finished:
        name = f"workflow {result.workflow + 1}: {search.written(result.order)}"
        said = f"compliance {result.compliance:.3f}, {result.status} ({result.reason})"
        outcome: Outcome = "good" if result.compliant else "open"
        if result.status == HOPELESS and not result.sound:
            outcome = "bad"
        checks.append(Check(name, outcome, said))
    for event in search.told("workflow-failed"):
        name = f"workflow {event['workflow'] + 1}: {event['order']}"
        checks.append(Check(name, "bad", str(event["cause"])))
    return checks


def _figures(search: RecordedSearch, finished: list[WorkflowResult]) -> list[Fact]:
    best, wall = search.best(), search.seconds().get("wall", 0.0)
    figures = []
    if best is not None:
        figures += [
            Fact("best order", search.written(best.order)),
            Fact("its return", short(best.score)),
            Fact("its compliance", f"{best.compliance:.1%}"),
        ]
    figures.append(
        Fact("compliant", f"{sum(result.compliant for result in finished)} of {len(finished)}")
    )
    figures.append(Fact("environment steps", f"{search.env_steps:,}"))
    if wall:
        figures.append(Fact("time", duration(wall)))
        figures.append(Fact("steps per second", f"{search.env_steps / wall:,.0f}"))
    return figures


def _facts(search: RecordedSearch) -> list[Fact]:
    config, plugins = search.config, search.config["plugins"]
    settings = config["settings"]
    facts = [
        Fact("run", search.id),
        Fact("started", str(config["created"])),
        *(
            Fact(kind, plugins[kind]["label"])
            for kind in ("env", "collector", "trainer", "searcher")
        ),
        Fact("environments", f"{settings['n_envs']}, episodes of {config['episode_steps']} steps"),
        Fact("seed", str(settings["seed"])),
        Fact("score", f"mean return of {settings['score']}"),
        Fact("compliance", f"{config['definition']}, beside it {config['beside']}"),
        Fact("units", ", ".join(search.units)),
    ]
    return facts + machine_facts(search.machine)


def _orders(search: RecordedSearch, finished: list[WorkflowResult], command: str) -> Exhibit:
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


def _learning(search: RecordedSearch, command: str) -> Exhibit:
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


def _belief(
    search: RecordedSearch, host: PluginHost | None, command: str
) -> tuple[Exhibit | None, str]:
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


def phases(searches: list[RecordedSearch], command: str) -> Exhibit:
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
