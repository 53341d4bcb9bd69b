"""One search: what it found, how it learned, and where the time went."""

from __future__ import annotations

from wfbench.landscape.from_runs import command_of
from wfbench.landscape.records import Landscape
from wfbench.plugins import PluginHost
from wfbench.report.document import (
    Check,
    Exhibit,
    Fact,
    Outcome,
    Section,
)
from wfbench.report.written import short
from wfbench.search.results import HOPELESS, WorkflowResult

from .common import duration, how_to_read, machine_facts, position_heat
from .recorded import RecordedSearch
from .run_regret import regret_exhibit
from .search_exhibits import belief_exhibit, learning_exhibit, orders_exhibit, phases_exhibit


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
        exhibits += [orders_exhibit(search, finished, command), learning_exhibit(search, command)]
        belief, why = belief_exhibit(search, host, command)
        exhibits += [belief] if belief is not None else []
        notes += [why] if why else []
        scored = [(result.order, result.score) for result in finished]
        exhibits.append(position_heat(scored, search.units, command))
        if landscape is not None:
            exhibits.append(regret_exhibit(search, landscape, command))
    if search.seconds().get("wall"):
        exhibits.append(phases_exhibit([search], command))
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
        said += f"; best single training: {search.written(best.order)}, return {short(best.score)}"
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
            Fact("best training", search.written(best.order)),
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
