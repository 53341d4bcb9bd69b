"""Several searches side by side."""

from __future__ import annotations

from collections.abc import Sequence

from wfbench.report.document import Bars, Check, Curves, Exhibit, Fact, Outcome, Section
from wfbench.report.written import short
from wfbench.search.history import RecordedSearch
from wfbench.search.landscape.from_runs import command_of
from wfbench.search.same_work import search_of
from wfbench.store.events import WorkflowFailed, WorkflowFinished, WorkflowResult, better

from .common import how_to_read, made_by, table
from .joint_matrix import joint_matrix_section
from .phases import phases_exhibit
from .search import inheritance_notes, score_note

_NAMED = 3
"""Maximum number of settings in a name."""
TURNS = "The combinations took turns, workflow by workflow, with the same seeds."
TOGETHER = "The combinations ran at the same time, so their timing is not comparable."
APART = "These runs were made at different times, so their speed may differ by chance."


def matrix_section(
    title: str, searches: Sequence[RecordedSearch], timing: str = TURNS, *, brief: bool = False
) -> Section:
    """Return what the combinations differ by; `timing` says whether their speed compares.

    `brief` leaves out what needs a picture: the summary of a run.
    """
    command = " ; ".join(dict.fromkeys(command_of(search.config) for search in searches))
    names = _names(searches)
    if all(search.joint for search in searches):
        return joint_matrix_section(title, searches, names, timing, command=command, brief=brief)
    exhibits = [_rates(searches, names)]
    if not brief:
        exhibits.insert(0, _best_so_far(searches, names))
        if all(search.work for search in searches):
            exhibits.append(phases_exhibit(searches))
    return Section(
        title=title,
        kind="matrix",
        headline=_headline(searches, names),
        figures=(
            Fact("searches", str(len(searches))),
            Fact("environment steps", f"{sum(search.env_steps for search in searches):,}"),
        ),
        exhibits=made_by(command, exhibits),
        notes=(
            *(timing, score_note(searches[0]), how_to_read(searches[0].units)),
            *inheritance_notes(searches),
        ),
    )


def _names(searches: Sequence[RecordedSearch]) -> list[str]:
    """Name searches by combination where that tells them apart, else by what differs, or by run."""
    names = [search.combination for search in searches]
    if len(set(names)) < len(names):
        names = [_different(search, searches) for search in searches]
    return names if len(set(names)) == len(names) else [search.id for search in searches]


def _different(search: RecordedSearch, searches: Sequence[RecordedSearch]) -> str:
    """Return the settings in which a search differs from others, with its values."""
    every = [{**search_of(s.config), "seed": s.config.settings["seed"]} for s in searches]
    mine = every[searches.index(search)]
    unlike = [name for name in mine if any(one.get(name) != mine[name] for one in every)]
    return ", ".join(f"{name} {mine[name]}" for name in unlike[:_NAMED]) or search.id


def _headline(searches: Sequence[RecordedSearch], names: Sequence[str]) -> Check:
    best: tuple[str, WorkflowResult, RecordedSearch] | None = None
    for name, search in zip(names, searches, strict=True):
        found = search.best()
        if found is not None and better(found, None if best is None else best[1]):
            best = name, found, search
    complete = all(search.complete for search in searches)
    found_one = best is not None and best[1].compliant
    outcome: Outcome = "good" if complete and found_one else "open"
    if any(search.events(WorkflowFailed) for search in searches):
        outcome = "bad"
    says = f"{len(searches)} searches"
    if best is not None:
        name, result, search = best
        says += f"; best: {search.written(result.order)} by {name}, score {short(result.score)}"
    if not complete:
        says += "; not all have finished"
    if any(search.config.smoke for search in searches):
        outcome, says = "open", f"smoke, too short to mean anything: {says}"
    return Check("result", outcome, says)


def _best_so_far(searches: Sequence[RecordedSearch], names: Sequence[str]) -> Exhibit:
    rows = []
    for name, search in zip(names, searches, strict=True):
        for entry, best in search.best_so_far():
            if best is not None and isinstance(entry.event, WorkflowFinished):
                order = search.written(best.order)
                rows.append((name, entry.env_steps_spent, best.score, best.compliance, order))
    heads = (
        "search | environment steps | best score (points per episode) .1 | its compliance .3 | "
        "its order"
    )
    return Exhibit(
        title="Which combination finds a good order soonest?",
        reading="Score of the best order so far, compliant orders before others, by environment "
        "steps spent. Higher and further left is better. It can fall once: when the first "
        "compliant order replaces a better one that was not.",
        table=table(heads, rows),
        picture=Curves("environment steps", "best score", "search", steps=True),
    )


def _rates(searches: Sequence[RecordedSearch], names: Sequence[str]) -> Exhibit:
    rows = []
    for name, search in zip(names, searches, strict=True):
        best, finished = search.best(), search.finished()
        compliant = f"{sum(result.compliant for result in finished)} of {len(finished)}"
        found = (None, None) if best is None else (search.written(best.order), best.score)
        seed, start_up = search.config.settings["seed"], search.work.get("start_up", 0.0)
        speed = (search.rate or None, search.env_steps, search.elapsed, start_up)
        rows.append((name, seed, *speed, compliant, *found))
    heads = (
        "search | seed | rate (steps/s) .0 | environment steps | time (s) .1 | start-up (s) .1 | "
        "compliant | best order | best score (points per episode) .1"
    )
    return Exhibit(
        title="How fast was each search?",
        reading="Environment steps per elapsed second, with learning and start-up (building "
        "environments and learner for every workflow). One run each, so there is no interval: "
        "wfbench bench measures speed properly.",
        table=table(heads, rows),
        picture=Bars("search", "rate"),
    )
