"""What every section of a search says: how it stands, and where the time went."""

from __future__ import annotations

from collections.abc import Sequence

from wfbench.report import document as doc
from wfbench.search.history import RecordedSearch
from wfbench.store.events import PHASES, WorkflowFailed

from .common import table


def standing(search: RecordedSearch, outcome: doc.Outcome, says: str) -> doc.Check:
    """Return the headline of a search, with what a reader must not overlook."""
    if not search.complete:
        outcome, says = "open", f"not finished: {says}"
    if search.events(WorkflowFailed):
        outcome, says = "bad", f"a training failed: {says}"
    if search.config.smoke:
        outcome, says = "open", f"a smoke run, too short to mean anything: {says}"
    return doc.Check("result", outcome, says)


def phases_exhibit(searches: Sequence[RecordedSearch]) -> doc.Exhibit:
    """Return where the time of searches went."""
    rows = []
    for search in searches:
        total = search.work_seconds or 1.0
        shares = [100 * search.work.get(name, 0.0) / total for name in PHASES]
        rows.append((search.combination, *shares, search.work_seconds))
    return doc.Exhibit(
        title="Where did the time go?",
        reading="Share of the seconds of work by phase; work adds up over everything that ran at "
        "the same time. Start-up is opening or resetting the collector and building the learner; "
        "env, transport, inference and idle are collecting; update is learning; search is choosing "
        "and scoring orders.",
        table=table(("combination", *(f"{p} (%) .1" for p in PHASES), "work (s) .2"), rows),
        picture=doc.Shares("combination", tuple(PHASES)),
    )
