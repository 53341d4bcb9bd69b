"""Several searches side by side."""

from __future__ import annotations

import math
from collections.abc import Sequence

from wfbench.landscape.from_runs import command_of
from wfbench.report.document import (
    Bars,
    Check,
    Column,
    Curves,
    Exhibit,
    Fact,
    Outcome,
    Section,
)
from wfbench.report.written import short
from wfbench.search.results import WorkflowResult, better

from .common import table
from .recorded import RecordedSearch
from .search_exhibits import phases_exhibit


def matrix_section(title: str, searches: Sequence[RecordedSearch], *, same_run: bool) -> Section:
    """What the combinations differ by; they are only comparable if they ran as one matrix."""
    command = " ; ".join(dict.fromkeys(command_of(search.config) for search in searches))
    names = _names(searches)
    exhibits = [_best_so_far(searches, names, command), _rates(searches, names, command)]
    if all(search.seconds().get("wall") for search in searches):
        exhibits.append(phases_exhibit(list(searches), command))
    notes = (
        ["The combinations took turns, workflow by workflow, with the same seeds."]
        if same_run
        else ["These runs were made at different times, so their speed may differ by chance."]
    )
    return Section(
        title=title,
        kind="matrix",
        headline=_headline(searches, names),
        figures=(
            Fact("searches", str(len(searches))),
            Fact("environment steps", f"{sum(search.env_steps for search in searches):,}"),
        ),
        exhibits=tuple(exhibits),
        notes=tuple(notes),
    )


def _names(searches: Sequence[RecordedSearch]) -> list[str]:
    """By combination where that tells them apart, else by run."""
    names = [search.combination for search in searches]
    return names if len(set(names)) == len(names) else [search.id for search in searches]


def _headline(searches: Sequence[RecordedSearch], names: Sequence[str]) -> Check:
    best: tuple[str, WorkflowResult, RecordedSearch] | None = None
    for name, search in zip(names, searches, strict=True):
        found = search.best()
        if found is not None and better(found, None if best is None else best[1]):
            best = name, found, search
    complete = all(search.complete for search in searches)
    found_one = best is not None and best[1].compliant
    outcome: Outcome = "good" if complete and found_one else "open"
    if any(search.told("workflow-failed") for search in searches):
        outcome = "bad"
    said = f"{len(searches)} searches"
    if best is not None:
        name, result, search = best
        said += f"; best: {search.written(result.order)} by {name}, return {short(result.score)}"
    if not complete:
        said += "; not all have finished"
    if any(search.config["smoke"] for search in searches):
        outcome, said = "open", f"smoke, too short to mean anything: {said}"
    return Check("result", outcome, said)


def _best_so_far(searches: Sequence[RecordedSearch], names: Sequence[str], command: str) -> Exhibit:
    rows = []
    for name, search in zip(names, searches, strict=True):
        best: WorkflowResult | None = None
        for event in search.told("workflow-finished"):
            result = WorkflowResult.from_values(event)
            best = result if better(result, best) else best
            if best is not None and math.isfinite(best.score):
                order = search.written(best.order)
                rows.append((name, event["ledger"], best.score, best.compliance, order))
    columns = [
        Column("search"),
        Column("environment steps"),
        Column("best return", "points per episode", 1),
        Column("its compliance", digits=3),
        Column("its order"),
    ]
    return Exhibit(
        title="Which combination finds a good order soonest?",
        reading=(
            "Return of the best order so far, compliant orders before others, by environment steps "
            "spent. Higher and further left is better. It can fall once: when the first compliant "
            "order replaces a better one that was not."
        ),
        table=table(columns, rows),
        command=command,
        picture=Curves("environment steps", "best return", "search", steps=True),
    )


def _rates(searches: Sequence[RecordedSearch], names: Sequence[str], command: str) -> Exhibit:
    rows = []
    for name, search in zip(names, searches, strict=True):
        seconds, best = search.seconds(), search.best()
        start = seconds.get("open", 0.0)
        wall = seconds.get("wall", 0.0) - start
        finished = search.finished()
        rows.append(
            (
                name,
                search.env_steps / wall if wall > 0 else None,
                search.env_steps,
                wall,
                start,
                sum(result.compliant for result in finished),
                len(finished),
                None if best is None else best.score,
            )
        )
    columns = [
        Column("search"),
        Column("rate", "steps/s", 0),
        Column("environment steps"),
        Column("time", "s", 1),
        Column("start-up", "s", 1),
        Column("compliant"),
        Column("workflows"),
        Column("best return", "points per episode", 1),
    ]
    return Exhibit(
        title="How fast was each search?",
        reading=(
            "Environment steps per second, learning included and start-up (building environments "
            "and learner for every workflow) left out. One run each, so there is no interval: "
            "wfbench bench measures speed properly."
        ),
        table=table(columns, rows),
        command=command,
        picture=Bars("search", "rate"),
    )
