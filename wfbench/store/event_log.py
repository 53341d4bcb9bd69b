"""`events.jsonl`: everything that happened in a run, one JSON object per line, only ever appended.

Every event has `event` (what happened), `ledger` (environment steps spent so far) and `time`
(everything that depends on the clock). Two runs of one configuration and seed have equal events
apart from `time`.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from wfbench.contract import UsageError

from .files import writing

SCHEMA = "wfbench/events/1"

Values = dict[str, Any]


class EventLog:
    """Appends events; a line is written by one call, and `sync` makes it survive a power cut."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with writing(path):
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
            self._descriptor = os.open(path, flags, 0o644)

    def append(self, event: Mapping[str, Any]) -> None:
        """Write one event."""
        line = json.dumps(plain(event), separators=(",", ":"), ensure_ascii=False).encode() + b"\n"
        with writing(self.path):
            while line:
                line = line[os.write(self._descriptor, line) :]

    def sync(self) -> None:
        """Wait until everything written is on the disk."""
        with writing(self.path):
            os.fsync(self._descriptor)

    def close(self) -> None:
        """Release the file; safe to call twice."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)


def plain(value: Any) -> Any:
    """`value` as strict JSON: a number that is not finite becomes null."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(name): plain(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(part) for part in value]
    return value


def read_events(path: Path, schema: str = SCHEMA) -> list[Values]:
    """Every whole event of the file; a last line that was torn by a crash is left out."""
    return [event for event, _ in _lines(path, schema)]


def keep_until(path: Path, last: str) -> list[Values]:
    """Cut off what follows the last event of this kind (or the first event); what is left."""
    found = _lines(path)
    ends = [i for i, (event, _) in enumerate(found) if event.get("event") == last]
    kept = found[: ends[-1] + 1] if ends else found[:1]
    if path.exists():
        with writing(path):
            os.truncate(path, kept[-1][1] if kept else 0)
    return [event for event, _ in kept]


def _lines(path: Path, schema: str = SCHEMA) -> list[tuple[Values, int]]:
    """Events with the offset at which each one's line ends."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return []
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror or error}") from error
    found: list[tuple[Values, int]] = []
    end = 0
    lines = data.split(b"\n")
    for number, line in enumerate(lines, start=1):
        end += len(line) + 1
        if number == len(lines):
            break  # whatever follows the last line end is no whole line
        try:
            event = json.loads(line)
        except ValueError as error:
            if number == len(lines) - 1:
                break
            raise UsageError(f"{path}, line {number} is not JSON: {error}") from error
        if not isinstance(event, dict):
            raise UsageError(f"{path}, line {number} is not a JSON object")
        found.append((event, end))
    if found and found[0][0].get("schema") != schema:
        named = found[0][0].get("schema")
        raise UsageError(f"{path} has schema {named!r}, not {schema!r}")
    return found
