"""Every figure over time and commit, with the runs at which it changed."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

from wfbench.benchmarks.statistics.change_points import FALSE_ALARMS, change_points, levels
from wfbench.report.catalogue import FigureHistory, RunRecord
from wfbench.report.document import Check, Curves, Exhibit, Fact, Outcome, Section
from wfbench.report.written import many, short

from .common import made_by, table

_READING = (
    "One point per run, oldest first; a point leads to its run. A vertical line is where a new "
    f"level begins: a rank test, which finds one in {FALSE_ALARMS:.0%} of the figures that never "
    "changed."
)
_MADE = "changed | run | started | commit | wfbench | seed | page"


def history_sections(works: Sequence[Sequence[FigureHistory]], folder: Path) -> list[Section]:
    """Return a section for each kind of work; `folder` is where the page will be."""
    return [_section(figures, folder) for figures in works]


def _section(figures: Sequence[FigureHistory], folder: Path) -> Section:
    last = figures[0].entries[-1].record
    checks = [_check(history) for history in figures]
    changed = sum(check.outcome == "open" for check in checks)
    outcome: Outcome = "open" if changed else "good"
    says = f"{many(len(figures[0].entries), 'run')}, {many(len(figures), 'figure')}: "
    says += f"{many(changed, 'figure')} changed" if changed else "no change found"
    return Section(
        title=f"{last.kind}: {last.says.partition(':')[0]}",
        kind="history",
        headline=Check("history", outcome, says),
        checks=tuple(checks),
        facts=(Fact("machine", last.machine), Fact("latest run", last.name)),
        exhibits=made_by("wfbench report --all", [_exhibit(one, folder) for one in figures]),
    )


def _check(history: FigureHistory) -> Check:
    values = [entry.value for entry in history.entries]
    changes = change_points(values)
    if not changes:
        return Check(history.figure, "good", f"no change; last {short(values[-1])}")
    centres = levels(values, changes)
    said = [
        f"from {short(before)} to {short(after)} with {_named(history.entries[at].record)}"
        for at, before, after in zip(changes, centres, centres[1:], strict=False)
    ]
    return Check(history.figure, "open", f"changed {', then '.join(said)}")


def _named(record: RunRecord) -> str:
    return f"{record.name} ({record.commit})" if record.commit else record.name


def _exhibit(history: FigureHistory, folder: Path) -> Exhibit:
    changes = change_points([entry.value for entry in history.entries])
    rows = []
    for number, entry in enumerate(history.entries):
        record = entry.record
        made = (record.name, record.created, record.commit, record.version, record.seed)
        page = _page(record.path, folder)
        rows.append((number + 1, history.figure, entry.value, number in changes, *made, page))
    unit = " (transitions/s)" if "@" in history.figure else ""
    return Exhibit(
        title=f"{history.figure} over time",
        reading=_READING,
        table=table(f"number (run) | figure | value{unit} | {_MADE}", rows),
        picture=Curves("number", "value", "figure", mark="changed", link="page"),
    )


def _page(run: Path, folder: Path) -> str:
    """Return the address of a run's report, or else of its directory, as seen from a folder."""
    page = run / "report.html"
    return quote(os.path.relpath(page if page.exists() else run, folder))
