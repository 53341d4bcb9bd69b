"""Every file of a run checked strictly: what a reader would trip over is named beforehand."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wfbench.contract import UsageError

from .checkpoint import read_checkpoint
from .columns import PHASES, UPDATE_COLUMNS, WORKFLOW_COLUMNS
from .evaluations import FOLDER, read_evaluation
from .event_log import SCHEMA as EVENTS_SCHEMA
from .files import TORN, read_json
from .places import BENCH_CONFIG, MATRIX_FILE, SEARCH_CONFIG, run_kind
from .policy_file import read_policy
from .run import event_row
from .table import cell_text

_CONFIG = ("run", "created", "smoke", "settings", "plugins", "units", "definition", "beside")
_EVENT = ("event", "ledger", "time")
_DONE = "workflow-finished"
_ROUNDING = 1e-5
"""Seconds by which phases that are rounded one by one may miss their sum."""

Values = dict[str, Any]


@dataclass(frozen=True)
class Finding:
    """What was found of one file; no problem: it is as it should be."""

    file: str
    problem: str | None = None


def validate_run(path: Path, samples: Callable[[Path], object]) -> list[Finding]:
    """One finding per file and problem; `samples` reads the samples of a bench run strictly."""
    try:
        kind = run_kind(path)
    except UsageError as error:
        return [Finding("config.json", str(error))]
    if kind == "matrix":
        return _matrix(path, samples)
    found = list(_torn(path))
    found += _tried(path, "machine.json", lambda file: read_json(file, "machine/1"))
    if kind == "bench":
        found += _tried(path, "config.json", lambda file: read_json(file, BENCH_CONFIG))
        found += _whole_lines(path / "samples.jsonl")
        found += _tried(path, "samples.jsonl", lambda _: samples(path))
        return found
    found += _tried(path, "config.json", _search_config)
    return found + _search_files(path)


def problems(findings: Sequence[Finding]) -> int:
    """How many problems there are."""
    return sum(finding.problem is not None for finding in findings)


def _matrix(path: Path, samples: Callable[[Path], object]) -> list[Finding]:
    try:
        cells = [str(cell) for cell in read_json(path / MATRIX_FILE, "matrix/1")["cells"]]
    except (UsageError, KeyError, TypeError) as error:
        return [Finding(MATRIX_FILE, str(error))]
    return [Finding(MATRIX_FILE)] + [
        Finding(f"{cell}/{finding.file}", finding.problem)
        for cell in cells
        for finding in validate_run(path / cell, samples)
    ]


def _tried(path: Path, name: str, read: Callable[[Path], object]) -> list[Finding]:
    try:
        read(path / name)
    except UsageError as error:
        return [Finding(name, str(error))]
    return [Finding(name)]


def _torn(path: Path) -> Iterator[Finding]:
    for folder in (path, path / "checkpoints"):
        for file in sorted(folder.glob(TORN)):
            yield Finding(str(file.relative_to(path)), "it was never finished; it can be removed")


def _search_config(file: Path) -> None:
    values = read_json(file, SEARCH_CONFIG)
    missing = [key for key in _CONFIG if key not in values]
    if missing:
        raise UsageError(f"{file} does not say {', '.join(missing)}")


def _search_files(path: Path) -> list[Finding]:
    events, found = _events(path / "events.jsonl")
    done = [event for event in events if event.get("event") == _DONE]
    if problems(found) == 0:
        updates = [event for event in events if event["event"] == "update"]
        complete = bool(events) and events[-1]["event"] == "run-finished"
        found += _csv(path / "updates.csv", "updates/1", UPDATE_COLUMNS, updates, whole=complete)
        found += _csv(path / "workflows.csv", "workflows/1", WORKFLOW_COLUMNS, done, whole=complete)
    for event in done:
        number = int(event.get("workflow", -1))
        name = f"checkpoints/{number:03d}.npz"
        found += _tried(path, name, lambda file, number=number: _checkpoint(file, number))  # type: ignore[misc]
    best = [event.get("workflow") for event in done if event.get("best")]
    if best:
        found += _tried(path, "policy.npz", lambda file: _policy(file, best[-1]))
    for file in sorted((path / FOLDER).glob("*.json")):
        found += _tried(path, f"{FOLDER}/{file.name}", read_evaluation)
    return found


def _whole_lines(file: Path) -> list[Finding]:
    """A finding if the last line was torn."""
    try:
        data = file.read_bytes()
    except OSError as error:
        return [Finding(file.name, f"cannot be read: {error.strerror or error}")]
    if data and not data.endswith(b"\n"):
        number = data.count(b"\n") + 1
        return [Finding(file.name, f"line {number}, the last one, is torn: {_start(data, number)}")]
    return []


def _events(file: Path) -> tuple[list[Values], list[Finding]]:
    found = _whole_lines(file)
    if found and "cannot be read" in str(found[0].problem):
        return [], found
    events: list[Values] = []
    ledger = 0
    for number, line in enumerate(file.read_bytes().split(b"\n")[:-1], start=1):
        problem, event = _event(line, first=number == 1)
        if event is not None and event["ledger"] < ledger:
            problem = f"the ledger falls from {ledger} to {event['ledger']}"
        if problem is not None:
            found.append(Finding(file.name, f"line {number}: {problem}"))
        if event is not None:
            ledger = event["ledger"]
            events.append(event)
    return events, found or [Finding(file.name)]


def _event(line: bytes, *, first: bool) -> tuple[str | None, Values | None]:
    """What is wrong with a line, and the event if it can be used."""
    try:
        event = json.loads(line)
    except ValueError as error:
        return f"not JSON: {error}", None
    missing = [key for key in _EVENT if key not in event] if isinstance(event, dict) else _EVENT
    if missing:
        return f"it has no {', '.join(missing)}", None
    if not isinstance(event["ledger"], int) or not isinstance(event["time"], dict):
        return "its ledger or time is not what it should be", None
    if first and event.get("schema") != EVENTS_SCHEMA:
        return f"its schema is {event.get('schema')!r}, not {EVENTS_SCHEMA!r}", event
    return _time_problem(event["time"]), event


def _time_problem(time: Mapping[str, Any]) -> str | None:
    spent = [time.get(name, 0.0) for name in PHASES]
    wall = time.get("wall", math.nan)
    if not all(isinstance(one, (int, float)) for one in (*spent, wall)):
        return "its times are not all numbers"
    if not abs(sum(spent) - wall) <= _ROUNDING:
        return f"its phases sum to {sum(spent):.6f} s, not to the {wall:.6f} s of wall time"
    return None


def _csv(
    file: Path, schema: str, known: Sequence[str], events: Sequence[Values], *, whole: bool
) -> list[Finding]:
    """Compare a CSV file with the events that it repeats; it may lag behind a run that goes on."""
    try:
        with file.open(newline="", encoding="utf-8") as opened:
            rows = list(csv.DictReader(opened, restkey="", strict=True))
    except (OSError, csv.Error, UnicodeDecodeError) as error:
        return [Finding(file.name, f"cannot be read: {error}")]
    if len(rows) != len(events) and (whole or len(rows) > len(events)):
        return [Finding(file.name, f"it has {len(rows)} rows, but {len(events)} events")]
    for number, (row, event) in enumerate(zip(rows, events, strict=False), start=2):
        problem = _row_problem(row, event_row(event), schema, known)
        if problem is not None:
            return [Finding(file.name, f"line {number}: {problem}")]
    return [Finding(file.name)]


def _row_problem(
    row: Mapping[str, Any], event: Mapping[str, Any], schema: str, known: Sequence[str]
) -> str | None:
    if row.get("schema") != f"wfbench/{schema}":
        return f"its schema is {row.get('schema')!r}, not 'wfbench/{schema}'"
    for name, text in row.items():
        if name == "schema":
            continue
        if name not in known:
            return f"there is no column {name!r} in {schema}"
        if text != cell_text(event.get(name)):
            return f"{name} is {text!r}, but {cell_text(event.get(name))!r} in events.jsonl"
    return None


def _checkpoint(file: Path, workflow: int) -> None:
    found = read_checkpoint(file)
    if found.workflow != workflow:
        raise UsageError(f"{file} is of workflow {found.workflow}")


def _policy(file: Path, workflow: object) -> None:
    found = read_policy(file).label.workflow
    if found != workflow:
        raise UsageError(f"{file} is the policy of workflow {found}, but {workflow} was the best")


def _start(data: bytes, number: int) -> str:
    line = data.split(b"\n")[number - 1]
    return repr(line[:40].decode(errors="replace"))
