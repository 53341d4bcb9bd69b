"""Runs as tables and as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from wfbench.report.console import console, plain_table
from wfbench.report.written import short
from wfbench.store.validation import Finding, problems

from .catalogue import RunRecord
from .formats.terminal import clean
from .run_history import History

_STYLES = {"broken": "red", "interrupted": "yellow", "running": "cyan", "smoke": "dim"}
_BAR = 20


def show_runs(records: Sequence[RunRecord], out: Path) -> None:
    """One row per run."""
    screen = console()
    if not records:
        screen.print(f"there are no runs in {out}; `wfbench run` or `wfbench bench` makes one")
        return
    table = plain_table("run", "kind", "status", "started", "result")
    table.columns[0].no_wrap = True
    for record in records:
        row = (record.name, record.kind, record.status, record.created, clean(record.says))
        table.add_row(*row, style=_STYLES.get(record.status))
    screen.print(table)


def record_json(record: RunRecord) -> dict[str, Any]:
    """A run as JSON values."""
    values = {name: getattr(record, name) for name in record.__dataclass_fields__}
    return {**values, "path": str(record.path), "figures": dict(record.figures or {})}


def show_run(record: RunRecord, files: Mapping[str, int]) -> None:
    """Everything about one run that fits a screen."""
    screen = console()
    screen.print(clean(f"{record.name}: {record.kind}, {record.status}"), style="bold")
    screen.print(clean(record.says), soft_wrap=True)
    facts = {
        "started": record.created,
        "seed": "-" if record.seed is None else str(record.seed),
        "machine": record.machine,
        "wfbench": record.version,
        "path": str(record.path),
        "files": f"{len(files)}, {sum(files.values()) / 2**20:,.1f} MB",
    }
    table = plain_table("", "")
    table.show_header = False
    for name, value in (*facts.items(), *_figures(record)):
        table.add_row(clean(name), clean(value))
    screen.print(table)
    screen.print(f"next:  wfbench report {record.path} --html", soft_wrap=True)


def _figures(record: RunRecord) -> list[tuple[str, str]]:
    return [(name, short(value)) for name, value in (record.figures or {}).items()]


def show_history(history: History) -> None:
    """One row per run, oldest first."""
    screen = console()
    values = [entry.value for entry in history.entries]
    most = max(map(abs, values)) or 1.0
    table = plain_table("run", "started", "wfbench", "seed")
    table.add_column(history.figure, justify="right")
    table.add_column("change", justify="right")
    table.add_column("")
    for entry in history.entries:
        record = entry.record
        change = "" if entry.change is None else f"{entry.change:+.1%}"
        bar = "█" * max(1, round(_BAR * abs(entry.value) / most))
        row = (record.name, record.created, record.version, str(record.seed))
        table.add_row(*row, short(entry.value), change, bar)
    screen.print(table)
    spread = "" if history.deviation is None else f", standard deviation {short(history.deviation)}"
    screen.print(f"{len(values)} runs of the same work: mean {short(history.mean)}{spread}")
    if history.machines > 1:
        screen.print(f"they ran on {history.machines} kinds of machine, so speed is not comparable")


def show_findings(findings: Mapping[str, Sequence[Finding]]) -> None:
    """One line per problem, and a line per run."""
    screen = console()
    for run, found in findings.items():
        for finding in found:
            if finding.problem is not None:
                screen.print(clean(f"{run}/{finding.file}: {finding.problem}"), soft_wrap=True)
        count, files = problems(found), len({finding.file for finding in found})
        verdict = f"{count} problems" if count != 1 else "1 problem"
        screen.print(f"{run}: {files} files, {verdict if count else 'all sound'}", soft_wrap=True)
