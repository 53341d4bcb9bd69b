"""Kept runs: the list, one at a glance, figures over time, and whether files are sound."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any
from urllib.parse import quote

from wfbench.benchmarks.statistics.change_points import FALSE_ALARMS, change_points, levels
from wfbench.report.catalogue import FigureHistory, RunRecord
from wfbench.report.document import Bars, Check, Curves, Exhibit, Fact, Outcome, Section
from wfbench.report.written import many, short
from wfbench.store.validation import FileCheck, problems

from .common import list_section, made_by, table

_OUTCOMES: Mapping[str, Outcome] = {"complete": "good", "broken": "bad", "unsound": "bad"}
_NEXT = {"broken": "runs validate {}", "interrupted": "run --resume {}"}
"""What to do with a run that is not complete."""
_READING = (
    "One point per run, oldest first; a point leads to its run. A vertical line is where a new "
    f"level begins: a rank test, which finds one in {FALSE_ALARMS:.0%} of the figures that never "
    "changed."
)
_MADE = "changed | run | started | commit | wfbench | seed | page"


def runs_section(records: Sequence[RunRecord], out: Path) -> Section:
    """Return one row per run."""
    rows = [(one.name, one.kind, one.status, one.created, one.says) for one in records]
    says = f"{many(len(rows), 'run')} in {out}"
    if not rows:
        says = f"there are no runs in {out}; `wfbench run` or `wfbench bench` makes one"
    outcome: Outcome = "good" if rows else "open"
    shown = table("run | kind | status | started | result", rows)
    return list_section("runs", "Runs", outcome, says, shown)


def record_section(record: RunRecord, files: Mapping[str, int]) -> Section:
    """Return everything about one run that fits a screen."""
    facts = {
        "started": record.created,
        "seed": "-" if record.seed is None else str(record.seed),
        "machine": record.machine,
        "wfbench": record.version,
        "path": str(record.path),
        "files": f"{len(files)}, {sum(files.values()) / 2**20:,.1f} MB",
        **{name: short(value) for name, value in record.figures.items()},
    }
    command = _NEXT.get(record.status, "report {} --html").format(record.path)
    return list_section(
        "run",
        f"{record.name}: {record.kind}, {record.status}",
        _OUTCOMES.get(record.status, "open"),
        record.says,
        table("what | value", facts.items()),
        notes=(f"next: wfbench {command}",),
    )


def record_data(record: RunRecord) -> dict[str, Any]:
    """Return a run as JSON values."""
    return {**asdict(record), "path": str(record.path)}


def history_section(history: FigureHistory) -> Section:
    """Return one row per run, oldest first."""
    rows = []
    for entry in history.entries:
        record = entry.record
        change = None if entry.change is None else 100 * entry.change
        rows.append((record.name, record.created, record.version, record.seed, entry.value, change))
    spread = "" if history.deviation is None else f", standard deviation {short(history.deviation)}"
    notes: tuple[str, ...] = ()
    if history.machines > 1:
        notes = (f"they ran on {history.machines} kinds of machine: speed is not comparable",)
    return list_section(
        "history",
        f"History of {history.figure}",
        "good",
        f"{many(len(rows), 'run')} of the same work: mean {short(history.mean)}{spread}",
        table(("run", "started", "wfbench", "seed", history.figure, "change (%) .1"), rows),
        picture=Bars("run", history.figure),
        notes=notes,
    )


def figures_section(figures: Sequence[FigureHistory], folder: Path) -> Section:
    """Return every figure of one kind of work over time; `folder` is where the page will be."""
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


def validation_section(findings: Mapping[str, Sequence[FileCheck]]) -> Section:
    """Return one check per run, and one per problem."""
    checks = []
    for run, found in findings.items():
        bad_files = [(one.file, one.problem) for one in found if one.problem is not None]
        checks += [Check(f"{run}/{file}", "bad", problem) for file, problem in bad_files]
        if not problems(found):
            files = len({one.file for one in found})
            checks.append(Check(run, "good", f"{files} files, all sound"))
    bad = sum(check.outcome == "bad" for check in checks)
    runs = many(len(findings), "run")
    says = f"{many(bad, 'problem')} in {runs}" if bad else f"all files of {runs} are sound"
    headline = Check("files", "bad" if bad else "good", says)
    return Section("Validation", "validation", headline, tuple(checks))
