"""The sides of a comparison of throughput: a bench run's directory, or what `--json` printed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wfbench.contract import UsageError
from wfbench.store.decoding import decode
from wfbench.store.files import read_json

from . import calibration
from .model import Case, Sample, Session, Settings
from .saved import load_machine, load_session

JSON_SCHEMA = "bench/1"


@dataclass(frozen=True)
class Side:
    """A session and where it was measured."""

    name: str
    session: Session
    machine: Mapping[str, Any] | None = None
    """None: not known, as in a file that `wfbench bench --json` printed."""


@dataclass(frozen=True)
class _Printed:
    """The part of what `wfbench bench --json` prints that is a session."""

    cases: tuple[Case, ...]
    settings: Settings
    samples: tuple[Sample, ...]


def load_run_side(path: Path) -> Side:
    """A bench run's directory."""
    return Side(str(path), load_session(path), load_machine(path))


def load_printed_side(path: Path) -> Side:
    """A file that holds what `wfbench bench --json` printed."""
    values = read_json(path, JSON_SCHEMA)
    for derived in ("schema", "run", "summaries", "equal_work"):
        values.pop(derived, None)
    printed = decode(_Printed, values, str(path))
    for sample in printed.samples:
        if not 0 <= sample.case < len(printed.cases):
            raise UsageError(f"{path}: there is no case {sample.case}")
    return Side(str(path), Session(printed.cases, printed.settings, printed.samples))


def same_machine(old: Side, new: Side) -> bool:
    """Whether absolute figures of both can be compared."""
    if old.machine is None or new.machine is None:
        return False
    return calibration.same_machine(old.machine, new.machine)


def machine_notes(old: Side, new: Side) -> list[str]:
    """What the machines and the software on them differ in."""
    if old.machine is None or new.machine is None:
        unknown = old.name if old.machine is None else new.name
        return [f"where {unknown} was measured is not known: a run directory says it"]
    parts = ["cpu", "cores", "usable_cores", "system", "python", "wfbench"]
    found = [(part, old.machine.get(part), new.machine.get(part)) for part in parts]
    versions = [side.machine.get("packages") or {} for side in (old, new) if side.machine]
    found += [
        (name, versions[0].get(name), versions[1].get(name))
        for name in dict.fromkeys((*versions[0], *versions[1]))
    ]
    differing = [f"{name} {a} / {b}" for name, a, b in found if a != b]
    return [f"old and new differ in: {'; '.join(differing)}"] if differing else []
