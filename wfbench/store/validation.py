"""Strict checks of every file of a run: name what a reader would stumble over."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from wfbench.contract import UsageError

from .config import read_config, search_paths
from .evaluations import FOLDER, read_evaluation
from .events import (
    SCHEMA_1,
    SPECIAL,
    EventDecoder,
    LogEntry,
    RunFinished,
    RunStarted,
    UpdateFinished,
    Values,
    WorkflowFinished,
    written_order,
)
from .files import TORN, read_json
from .places import BENCH_CONFIG, MATRIX_FILE, run_kind
from .policy_file import read_checkpoint, read_policy
from .run import EVENTS_FILE, checkpoint_path, special_path, sweep_path
from .sweeps import NORMAL, read_sweeps
from .table import EventRows, cell_text, event_row


@dataclass(frozen=True)
class FileCheck:
    """What was found in one file; no problem means that it is sound."""

    file: str
    problem: str | None = None


def validate_run(path: Path, samples: Callable[[Path], object]) -> list[FileCheck]:
    """Return one check per file or problem; `samples` reads the samples of a bench strictly."""
    try:
        kind = run_kind(path)
        searches = search_paths(path) if kind == "matrix" else []
    except UsageError as error:
        named = MATRIX_FILE if (path / MATRIX_FILE).exists() else "config.json"
        return [FileCheck(named, str(error))]
    if kind == "matrix":
        return [FileCheck(MATRIX_FILE)] + [
            FileCheck(f"{search.name}/{check.file}", check.problem)
            for search in searches
            for check in validate_run(search, samples)
        ]
    found = [
        FileCheck(str(file.relative_to(path)), "it was never finished; it can be removed")
        for file in sorted(path.rglob(TORN))
    ]
    config, samples_file = path / "config.json", path / "samples.jsonl"
    found.append(_check(path, path / "machine.json", lambda file: read_json(file, "machine/1")))
    if kind == "bench":
        found.append(_check(path, config, lambda file: read_json(file, BENCH_CONFIG)))
        found += _torn_line(samples_file)
        return [*found, _check(path, samples_file, lambda _: samples(path))]
    found.append(_check(path, config, lambda _: read_config(path)))
    return found + _search_files(path)


def problems(checks: Sequence[FileCheck]) -> int:
    """Return how many problems there are."""
    return sum(check.problem is not None for check in checks)


def _check(path: Path, file: Path, read: Callable[[Path], object]) -> FileCheck:
    name = str(file.relative_to(path))
    try:
        read(file)
    except UsageError as error:
        return FileCheck(name, str(error))
    return FileCheck(name)


def _search_files(path: Path) -> list[FileCheck]:
    log = _Log(path / EVENTS_FILE)
    found = list(log.checks)
    if not problems(found):
        found += [_csv(log, "updates", UpdateFinished), _csv(log, "workflows", WorkflowFinished)]
    done = [e.event for e in log.entries if isinstance(e.event, WorkflowFinished)]
    kept: list[tuple[Path, Callable[[Path], object]]] = [
        (checkpoint_path(path, event.workflow), partial(_checkpoint, workflow=event.workflow))
        for event in done
    ]
    best = [event.workflow for event in done if event.best]
    if best:
        check = partial(_policy, workflow=best[-1], otherwise=f"but {best[-1]} was the best")
        kept.append((path / "policy.npz", check))
    kept += [(sweep_path(path, event.workflow), _normal_sweep) for event in done if event.swept]
    special = {event.order: event.workflow for event in done if event.stage == SPECIAL}
    for order, workflow in special.items():
        check = partial(_policy, workflow=workflow, otherwise=f"not of {workflow}")
        kept.append((special_path(path, written_order(order, log.units)), check))
    kept += [(file, read_evaluation) for file in sorted((path / FOLDER).glob("*.json"))]
    return found + [_check(path, *one) for one in kept]


def _torn_line(file: Path) -> list[FileCheck]:
    """Return a problem if the last line is torn or the file cannot be read."""
    try:
        data = file.read_bytes()
    except OSError as error:
        return [FileCheck(file.name, f"cannot be read: {error.strerror or error}")]
    whole, _, rest = data.rpartition(b"\n")
    if not rest:
        return []
    number = whole.count(b"\n") + 1 + bool(whole)
    start = repr(rest[:40].decode(errors="replace"))
    return [FileCheck(file.name, f"line {number}, the last one, is torn: {start}")]


class _Log:
    """The events of a run as far as they can be used, and what is wrong with the others."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.entries: list[LogEntry] = []
        self.values: list[Values] = []
        self.decoder = EventDecoder()
        problems = _torn_line(file)
        lines = file.read_bytes().split(b"\n")[:-1] if file.is_file() else []
        for number, line in enumerate(lines, start=1):
            problem = self._line(line)
            if problem is not None:
                problems.append(FileCheck(file.name, f"line {number}{problem}"))
        self.checks = problems or [FileCheck(file.name)]

    @property
    def units(self) -> tuple[str, ...]:
        """Return the unit types that orders rank."""
        started = (e.event.units for e in self.entries if isinstance(e.event, RunStarted))
        return next(started, ())

    def _line(self, line: bytes) -> str | None:
        try:
            values = json.loads(line)
            entry = self.decoder.decode(values, "")
        except ValueError as error:
            return f": not JSON: {error}"
        except UsageError as error:
            return str(error)
        before = self.entries[-1].env_steps_spent if self.entries else 0
        self.entries.append(entry)
        self.values.append(values)
        if entry.env_steps_spent < before:
            return f": the steps spent fall from {before} to {entry.env_steps_spent}"
        return None

    def rows(self, kind: type[UpdateFinished | WorkflowFinished]) -> list[Values]:
        """Return the rows that the CSV file of these events should have."""
        make = event_row if self.decoder.schema == SCHEMA_1 else EventRows().row
        rows = [make(values) for values in self.values]
        return [row for row in rows if row["event"] == kind.kind]


def _csv(log: _Log, name: str, kind: type[UpdateFinished | WorkflowFinished]) -> FileCheck:
    """Compare a CSV file with the events it repeats; it may lag behind a run that goes on."""
    file = log.file.with_name(f"{name}.csv")
    try:
        with file.open(newline="", encoding="utf-8") as opened:
            rows = list(csv.DictReader(opened, restkey="", strict=True))
    except (OSError, csv.Error, UnicodeDecodeError) as error:
        return FileCheck(file.name, f"cannot be read: {error}")
    wanted = log.rows(kind)
    complete = bool(log.entries) and isinstance(log.entries[-1].event, RunFinished)
    if len(rows) != len(wanted) and (complete or len(rows) > len(wanted)):
        return FileCheck(file.name, f"it has {len(rows)} rows, but {len(wanted)} events")
    # The version of the CSV files follows that of the log.
    schema = f"wfbench/{name}/{log.decoder.schema.rpartition('/')[2]}"
    for number, (row, expected) in enumerate(zip(rows, wanted, strict=False), start=2):
        problem = _row_problem(row, {**expected, "schema": schema})
        if problem is not None:
            return FileCheck(file.name, f"line {number}: {problem}")
    return FileCheck(file.name)


def _row_problem(row: Mapping[str, Any], expected: Values) -> str | None:
    for name, text in row.items():
        wanted = cell_text(expected.get(name))
        if name == "schema" and text != wanted:
            return f"its schema is {text!r}, not {wanted!r}"
        if text != wanted:
            return f"{name} is {text!r}, but {wanted!r} in {EVENTS_FILE}"
    return None


def _checkpoint(file: Path, workflow: int) -> None:
    found = read_checkpoint(file)
    if found.workflow != workflow:
        raise UsageError(f"{file} is of workflow {found.workflow}")


def _normal_sweep(file: Path) -> None:
    if NORMAL not in read_sweeps(file):
        raise UsageError(f"{file} has no sweep {NORMAL!r}")


def _policy(file: Path, workflow: int, otherwise: str) -> None:
    found = read_policy(file).label.workflow
    if found != workflow:
        raise UsageError(f"{file} is the policy of workflow {found}, {otherwise}")
