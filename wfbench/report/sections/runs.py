"""Kept runs: the list, one run at a glance, a figure over time, and whether files are sound."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from wfbench.report.catalogue import FigureHistory, RunRecord
from wfbench.report.document import Bars, Check, Outcome, Section
from wfbench.report.written import many, short
from wfbench.store.validation import FileCheck, problems

from .common import list_section, table

_OUTCOMES: Mapping[str, Outcome] = {"complete": "good", "broken": "bad", "unsound": "bad"}
_NEXT = {"broken": "runs validate {}", "interrupted": "run --resume {}"}
"""What to do with a run that is not complete."""


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
    values = {name: getattr(record, name) for name in record.__dataclass_fields__}
    return {**values, "path": str(record.path), "figures": dict(record.figures)}


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
