"""Several joint runs side by side."""

from __future__ import annotations

from collections.abc import Sequence

from wfbench.benchmarks.statistics.intervals import mean_estimate
from wfbench.orders import format_order
from wfbench.report import document as doc
from wfbench.report.written import many
from wfbench.search.history import RecordedSearch
from wfbench.store.events import JOINT, WorkflowFailed

from .common import how_to_read, made_by, table
from .phases import phases_exhibit


def joint_matrix_section(
    title: str,
    searches: Sequence[RecordedSearch],
    names: Sequence[str],
    timing: str,
    *,
    command: str = "",
    brief: bool = False,
) -> doc.Section:
    """Return what joint runs differ by, one row each; `names` tells them apart."""
    exhibits = [_runs(searches, names)]
    if not brief and all(search.work for search in searches):
        exhibits.append(phases_exhibit(searches))
    return doc.Section(
        title=title,
        kind="matrix",
        headline=_headline(searches, names),
        figures=(
            doc.Fact("searches", str(len(searches))),
            doc.Fact("environment steps", f"{sum(search.env_steps for search in searches):,}"),
        ),
        exhibits=made_by(command, exhibits),
        notes=(timing, how_to_read(searches[0].units)),
    )


def _headline(searches: Sequence[RecordedSearch], names: Sequence[str]) -> doc.Check:
    answers = [None if one.findings is None else one.findings.answer for one in searches]
    known = [(one.mean_return, name) for one, name in zip(answers, names, strict=True) if one]
    complete = all(search.complete for search in searches)
    says = many(len(searches), "joint run")
    if known:
        mean, name = max(known)
        says += f"; highest mean return over all orders: {mean:.2f} by {name}"
    outcome: doc.Outcome = "good" if complete and known else "open"
    if not complete:
        says += "; not all have finished"
    if any(search.events(WorkflowFailed) for search in searches):
        outcome = "bad"
    if any(search.config.smoke for search in searches):
        outcome, says = "open", f"smoke, too short to mean anything: {says}"
    return doc.Check("result", outcome, says)


def _runs(searches: Sequence[RecordedSearch], names: Sequence[str]) -> doc.Exhibit:
    rows = [(name, *_row(search)) for name, search in zip(names, searches, strict=True)]
    heads = (
        "search | seed | mean return (points) .2 ± | right .3 | choices (per episode) .2 | "
        "orders followed | verdict on orders | best order | trainings | time (s) .1 | "
        "rate (steps/s) .0"
    )
    return doc.Exhibit(
        title="How good is each joint policy?",
        reading="Mean return over all orders, to the right is better; the interval is over joint "
        "trainings, where there are several. Right is the share of choices that follow the order. "
        "The verdict says whether the orders differ.",
        table=table(heads, rows),
        picture=doc.Dots("search", "mean return", "low", "high"),
    )


def _row(search: RecordedSearch) -> tuple[object, ...]:
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
