"""Logs of JSON objects, one per line, that are only ever appended to."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from wfbench.contract import UsageError

from .files import AppendedFile


class EventLog(AppendedFile):
    """Appends objects to a file; `sync` makes them survive a power cut."""

    def append(self, event: Mapping[str, Any]) -> None:
        """Write one object."""
        self.write(json_line(event))


def json_line(values: Mapping[str, Any]) -> bytes:
    """Return the line that holds these values."""
    return json.dumps(plain(values), separators=(",", ":"), ensure_ascii=False).encode() + b"\n"


def plain(value: Any) -> Any:
    """Return `value` as strict JSON: a number that is not finite becomes null, a path text."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(name): plain(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(part) for part in value]
    return str(value) if isinstance(value, Path) else value


def read_lines(path: Path) -> list[dict[str, Any]]:
    """Return the object of every whole line; a last line that a crash tore is left out."""
    try:
        lines = path.read_bytes().split(b"\n")
    except FileNotFoundError:
        return []
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror or error}") from error
    found = []
    for number, line in enumerate(lines[:-1], start=1):
        try:
            value = json.loads(line)
        except ValueError as error:
            if number == len(lines) - 1:
                break
            raise UsageError(f"{path}, line {number} is not JSON: {error}") from error
        if not isinstance(value, dict):
            raise UsageError(f"{path}, line {number} is not a JSON object")
        found.append(value)
    return found
