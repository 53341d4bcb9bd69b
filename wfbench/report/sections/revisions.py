"""What `wfbench check --against` decided about two revisions, and what `bisect` found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from wfbench.benchmarks.revisions.bisecting import Bisection
from wfbench.benchmarks.revisions.judging import RevisionCell, limits
from wfbench.benchmarks.revisions.model import METRIC_NAMES, METRICS
from wfbench.benchmarks.revisions.series import RevisionCheck
from wfbench.benchmarks.statistics.verdicts import Verdict
from wfbench.report.document import Check, Dots, Exhibit, Fact, Section
from wfbench.store.decoding import decode
from wfbench.store.event_log import plain

from .common import list_section, table, worst
from .comparison import gate_outcome, outcome_of

_UNITS = {
    "rate": ("transitions/s", 1.0),
    "cpu": ("µs per transition", 1.0),
    "memory": ("MB", 2.0**-20),
    "start-up": ("s", 1.0),
}


def revisions_section(found: RevisionCheck, *, strict: bool = False) -> Section:
    """Return the section of a check; `strict`: what is inconclusive fails."""
    checks = (
        *(Check(name, "bad", why, error=True) for name, why in found.failures.items()),
        *(_cell_check(cell, strict=strict) for cell in found.cells),
    )
    return Section(
        title=f"{found.new.revision} against {found.old.revision}",
        kind="check",
        headline=Check("result", worst(checks), outcome(found)[1]),
        checks=checks,
        facts=(
            Fact("project", found.new.distribution),
            Fact("old", f"{found.old.revision} ({found.old.commit[:12]})"),
            Fact("new", f"{found.new.revision} (above {found.new.commit[:12]})"),
            Fact("to be found", f"{found.effort.detect:.3g} times slower, as a share"),
        ),
        notes=found.notes,
        exhibits=tuple(_exhibit(found, metric) for metric in METRICS if found.cells),
    )


def revisions_data(found: RevisionCheck, **more: Any) -> dict[str, Any]:
    """Return a check as JSON values; the pairs are in a file next to it."""
    verdict, says = outcome(found)
    values: dict[str, Any] = plain(asdict(found))
    return {"verdict": verdict, "headline": says, "of": "revisions", **plain(more), **values}


def decode_revisions(values: Mapping[str, Any]) -> RevisionCheck:
    """Return the check that `revisions_data` wrote."""
    derived = {"schema", "verdict", "headline", "of", "exit_code"}
    kept = {name: value for name, value in values.items() if name not in derived}
    return decode(RevisionCheck, kept, "verdict")


def outcome(found: RevisionCheck) -> tuple[str, str]:
    """Return the outcome in one word, and in one line that names what is worse or not known."""
    if found.failures:
        return "failed", f"FAILED: {'; '.join(found.failures)} could not be measured"
    unsure = found.with_verdict(Verdict.INCONCLUSIVE)
    return gate_outcome(
        "; ".join(map(_moved, found.with_verdict(Verdict.REGRESSED))),
        "; ".join(f"{limits(cell.latest)} in {cell.name}" for cell in unsure),
    )


def _moved(cell: RevisionCell) -> str:
    change = cell.latest.change.value
    if cell.metric == "rate":
        return f"{cell.request.label} got slower by {1.0 - change:.0%}"
    return f"{cell.name} rose by {change - 1.0:.0%}"


def _cell_check(cell: RevisionCell, *, strict: bool) -> Check:
    return Check(cell.name, outcome_of(cell.verdict, strict=strict), f"{cell.verdict}: {cell.why}")


def _exhibit(found: RevisionCheck, metric: str) -> Exhibit:
    unit, scale = _UNITS[metric]
    rows = [
        (
            cell.request.label,
            cell.latest.change,
            scale * cell.old,
            scale * cell.new,
            cell.latest.p,
            cell.latest.rounds,
            100.0 * cell.latest.detectable,
            str(cell.verdict),
        )
        for cell in found.cells
        if cell.metric == metric
    ]
    heads = (
        f"case | change (times old) ± | old ({unit}) | new ({unit}) | p | rounds | "
        "detectable (%) .0 | verdict"
    )
    better = "right" if metric == "rate" else "left"
    return Exhibit(
        title=f"Did the {METRIC_NAMES.get(metric, metric)} change?",
        reading="New over old with a 95 % interval, both measured in turns on this machine: 1 is "
        f"no change, to the {better} of it is better. What looks worse is measured again. "
        "Detectable: the smallest change that so many rounds show.",
        table=table(heads, rows),
        command=f"wfbench check --against {found.old.revision}",
        picture=Dots("case", "change", "low", "high"),
    )


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
        _first_slow(found),
        table("commit | subject | change (times good) ± | found | why", rows),
        "Each commit beside the good revision, in the sequence they were measured.",
        notes=(f"{skipped} commits could not be built or measured and were skipped",)
        if skipped
        else (),
    )


def bisection_data(found: Bisection) -> dict[str, Any]:
    """Return a bisection as JSON values."""
    return {"headline": _first_slow(found), **plain(asdict(found))}


def _first_slow(found: Bisection) -> str:
    """Name the commit, or those among which it is."""
    named = [f"{c[:12]} {s}" for c, s in zip(found.first, found.subjects, strict=True)]
    change = f"{found.change.value:.3g} times as in {found.good[:12]}"
    if len(named) == 1:
        return f"the first slow commit is {named[0]} ({change})"
    return f"the first slow commit is one of {'; '.join(named)} ({change})"
