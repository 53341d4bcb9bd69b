"""What a caller sees of a fault, by collector: told, or with its cause lost, or nothing at all."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from wfbench.contract import CollectorSpec, Deadlines
from wfbench.isolated import Isolated, IsolationError

from .judging import Case, start_judging

FAULTS: Mapping[str, str] = {
    "raise@3": "an environment raises",
    "raise-unpicklable@3": "it raises what cannot be pickled",
    "nan@3": "it returns NaN",
    "exit@3": "its process exits",
    "kill@3": "its process is killed",
    "segv@3": "its process crashes",
    "hang@3": "it hangs",
    "stop@3": "its process is stopped",
    "ctor-raise": "it cannot be built",
    "ctor-exit": "its process exits while it is built",
    "ctor-hang": "it hangs while it is built",
    "restart": "a killed worker is to be replaced",
}
"""The faults that are injected, and what they are in words."""

TOLD = "told"
CAUSE_LOST = "cause lost"
WENT_ON = "went on"
RECOVERED = "recovered"
HUNG = "hung"
CALLER_DIED = "caller died"
WRONG_ERROR = "wrong error"
NOT_OFFERED = "not offered"

DEADLINES = Deadlines(start=20.0, step=2.0, close=5.0)
"""What the collectors are given."""

LIMIT = 60.0
"""Seconds without an answer after which a collector counts as hung; its deadlines are shorter."""


@dataclass(frozen=True)
class Seen:
    """What came of one fault in one collector."""

    collector: str
    fault: str
    outcome: str
    seconds: float | None = None
    """From the fault until the caller knew."""
    detail: str = ""
    """What the caller was told."""
    close: str = ""
    """What was wrong with `close` afterwards; empty: nothing."""
    usable_again: bool | None = None
    """Whether it could be opened again and collected from; None: nobody was left to try."""


def watch_faults(
    collectors: Sequence[tuple[CollectorSpec, Mapping[str, Any]]],
    faults: Sequence[str] = tuple(FAULTS),
    *,
    limit: float = LIMIT,
    progress: Callable[[Seen], None] = lambda _: None,
) -> list[Seen]:
    """Let every fault happen in every collector, each in a process that may hang or die."""
    found = []
    for spec, options in collectors:
        process: Isolated | None = None
        try:
            for fault in faults:
                if process is None:
                    process, _ = start_judging("wfbench.testing.witness", Case(spec, options))
                seen, alive = _watch(process, spec.name, fault, limit)
                if not alive:
                    process.close()
                    process = None
                found.append(seen)
                progress(seen)
        finally:
            if process is not None:
                process.close()
    return found


def _watch(process: Isolated, collector: str, fault: str, limit: float) -> tuple[Seen, bool]:
    try:
        seen: Seen = process.ask(fault, limit)
    except IsolationError as error:
        outcome = HUNG if str(error).startswith("hung") else CALLER_DIED
        return Seen(collector, fault, outcome, detail=str(error)), False
    return seen, True
