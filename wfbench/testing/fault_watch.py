"""What a caller sees of a fault, by collector: the cause, an error without it, or nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Literal

from wfbench.contract import CollectorSpec

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
"""The faults that are injected, in words."""

FaultOutcome = Literal[
    "told",
    "cause lost",
    "wrong error",
    "went on",
    "hung",
    "caller died",
    "recovered",
    "not offered",
]
"""What a caller got to know of a fault."""

STEP_DEADLINE = 2.0
"""Seconds that the collectors may wait for a step."""

LIMIT = 60.0
"""Seconds without an answer after which a collector counts as hung; its deadlines are shorter."""


@dataclass(frozen=True)
class FaultSeen:
    """What came of one fault in one collector."""

    collector: str
    fault: str
    outcome: FaultOutcome
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
    progress: Callable[[FaultSeen], None] = lambda _: None,
) -> list[FaultSeen]:
    """Let every fault happen in every collector, each in a process that may hang or die."""
    from wfbench.processes.isolated import IsolationError

    from .harness.checker import SubjectProcess
    from .harness.subject import SubjectRef

    found = []
    for spec, options in collectors:
        with closing(SubjectProcess(SubjectRef.of(spec, options))) as process:
            for fault in faults:
                try:
                    seen = process.ask("wfbench.testing.harness.fault_child:observe", fault, limit)
                except IsolationError as error:
                    hung = str(error).startswith("hung")
                    outcome: FaultOutcome = "hung" if hung else "caller died"
                    seen = FaultSeen(spec.name, fault, outcome, detail=str(error))
                found.append(seen)
                progress(seen)
    return found
