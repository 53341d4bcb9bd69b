"""Several searches side by side."""

from __future__ import annotations

from collections.abc import Sequence

from wfbench.benchmarks.statistics.intervals import mean_estimate
from wfbench.orders import format_order
from wfbench.report.document import Bars, Check, Curves, Dots, Exhibit, Outcome, Section
from wfbench.report.written import many, short
from wfbench.search.history import RecordedSearch
from wfbench.search.landscape.from_runs import command_of
from wfbench.search.same_work import search_of
from wfbench.store.events import JOINT, WorkflowFailed, WorkflowFinished, WorkflowResult, better

from .common import facts, how_to_read, made_by, table
from .search import inheritance_notes, score_note
from .searches import phases_exhibit

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
    return side_by_side(title, searches, _names(searches), timing, command=command, brief=brief)


def side_by_side(
    title: str,
    searches: Sequence[RecordedSearch],
    names: Sequence[str],
    timing: str,
    *,
    command: str = "",
    brief: bool = False,
) -> Section:
    """Return the section of searches that `names` tell apart, one row each."""
    notes = [timing, how_to_read(searches[0].units)]
    if all(search.joint for search in searches):
        exhibits = [_joint_policies(searches, names)]
    else:
        exhibits = [] if brief else [_best_so_far(searches, names)]
        exhibits.append(_rates(searches, names))
        notes = [timing, score_note(searches[0]), notes[1], *inheritance_notes(searches)]
    if not brief and all(search.work for search in searches):
        exhibits.append(phases_exhibit(searches))
    steps = sum(search.env_steps for search in searches)
    return Section(
        title=title,
        kind="matrix",
        headline=_headline(searches, names),
        figures=facts({"searches": len(searches), "environment steps": f"{steps:,}"}),
        exhibits=made_by(command, exhibits),
        notes=tuple(notes),
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
    joint = all(search.joint for search in searches)
    says, found = (_best_joint if joint else _best_training)(searches, names)
    complete = all(search.complete for search in searches)
    outcome: Outcome = "good" if complete and found else "open"
    if not complete:
        says += "; not all have finished"
    if any(search.events(WorkflowFailed) for search in searches):
        outcome = "bad"
    if any(search.config.smoke for search in searches):
        outcome, says = "open", f"smoke, too short to mean anything: {says}"
    return Check("result", outcome, says)


def _best_joint(searches: Sequence[RecordedSearch], names: Sequence[str]) -> tuple[str, bool]:
    """Say which joint run is best, and whether there is one."""
    answers = [None if one.findings is None else one.findings.answer for one in searches]
    known = [(one.mean_return, name) for one, name in zip(answers, names, strict=True) if one]
    says = many(len(searches), "joint run")
    if known:
        mean, name = max(known)
        says += f"; highest mean return over all orders: {mean:.2f} by {name}"
    return says, bool(known)


def _best_training(searches: Sequence[RecordedSearch], names: Sequence[str]) -> tuple[str, bool]:
    """Say which training is best, and whether it follows its order."""
    best: WorkflowResult | None = None
    told = ""
    for name, search in zip(names, searches, strict=True):
        found = search.best()
        if found is not None and better(found, best):
            best, order = found, search.written(found.order)
            told = f"; best: {order} by {name}, score {short(found.score)}"
    return f"{len(searches)} searches{told}", best is not None and best.compliant


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


def _joint_policies(searches: Sequence[RecordedSearch], names: Sequence[str]) -> Exhibit:
    rows = [(name, *_joint_row(search)) for name, search in zip(names, searches, strict=True)]
    heads = (
        "search | seed | mean return (points) .2 ± | right .3 | choices (per episode) .2 | "
        "orders followed | verdict on orders | best order | trainings | time (s) .1 | "
        "rate (steps/s) .0"
    )
    return Exhibit(
        title="How good is each joint policy?",
        reading="Mean return over all orders, to the right is better; the interval is over joint "
        "trainings, where there are several. Right is the share of choices that follow the order. "
        "The verdict says whether the orders differ.",
        table=table(heads, rows),
        picture=Dots("search", "mean return", "low", "high"),
    )


def _joint_row(search: RecordedSearch) -> tuple[object, ...]:
    findings, seed = search.findings, search.config.settings["seed"]
    spent = (len(search.finished()), search.elapsed, search.rate or None)
    if findings is None or findings.answer is None:
        return seed, None, None, None, None, None, None, *spent
    answer = findings.answer
    choices, of = answer.choices, len(answer.orders)
    returns = mean_estimate([float(one.env_return.mean()) for one in findings.sweeps(JOINT)])
    followed = f"{len(choices.followed)} of {of}"
    if choices.untested:
        followed += f", {len(choices.untested)} untested"
    best = format_order(answer.best_order, search.units)
    judged = (choices.share_right, choices.per_episode, followed, answer.verdict, best)
    return seed, returns, *judged, *spent
