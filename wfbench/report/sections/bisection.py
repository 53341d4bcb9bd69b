"""Which commit `wfbench bisect` found."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from wfbench.benchmarks.revisions.bisecting import Bisection
from wfbench.benchmarks.revisions.model import METRIC_NAMES
from wfbench.report.document import Section
from wfbench.store.event_log import plain

from .common import list_section, table


def bisection_section(found: Bisection) -> Section:
    """Return the section of a bisection."""
    rows = [
        (step.commit[:12], step.subject, step.change, step.found, step.why) for step in found.steps
    ]
    skipped = sum(step.found == "skipped" for step in found.steps)
    return list_section(
        "bisection",
        f"{METRIC_NAMES.get(found.metric, found.metric)} of {found.request.label}",
        "good" if len(found.first) == 1 else "open",
        headline(found),
        table("commit | subject | change (times good) ± | found | why", rows),
        "Each commit beside the good revision, in the sequence they were measured.",
        notes=(f"{skipped} commits could not be built or measured and were skipped",)
        if skipped
        else (),
    )


def bisection_data(found: Bisection) -> dict[str, Any]:
    """Return a bisection as JSON values."""
    values: dict[str, Any] = plain(asdict(found))
    return {"headline": headline(found), **values}


def headline(found: Bisection) -> str:
    """Name the commit, or those among which it is."""
    named = [f"{c[:12]} {s}" for c, s in zip(found.first, found.subjects, strict=True)]
    change = f"{found.change.value:.3g} times as in {found.good[:12]}"
    if len(named) == 1:
        return f"the first slow commit is {named[0]} ({change})"
    return f"the first slow commit is one of {'; '.join(named)} ({change})"
