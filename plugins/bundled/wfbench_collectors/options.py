"""What a user can set for each collector."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from wfbench.contract import UsageError, option


def _choice(meaning: str, *allowed: str) -> Any:
    """Return an option that is one of some words, the first by default."""
    return option(allowed[0], f"{meaning}: {', '.join(allowed)}", allowed=allowed)


@dataclass(frozen=True, kw_only=True)
class ProcessOptions:
    """What every collector with worker processes has."""

    workers: int = option(0, "worker processes; 0: one per core")
    start_method: str = _choice("how workers start", "forkserver", "fork", "spawn")
    batched: bool = option(
        default=True,
        meaning="step several envs in a worker by their batched form, if they have one",
    )
    on_worker_death: str = _choice("what a dead worker means", "fail", "restart")
    restarts: int = option(3, "how many dead workers are replaced before it is a failure")

    def __post_init__(self) -> None:
        for field in fields(self):
            name, value = field.name, getattr(self, field.name)
            allowed = field.metadata.get("allowed", (value,))
            if value not in allowed:
                raise UsageError(f"{name} is {value!r}; it can be {' or '.join(allowed)}")
            if isinstance(value, int) and value < 0:
                raise UsageError(f"{name} is {value}; it must be at least 0")

    @property
    def survives_deaths(self) -> bool:
        """Return whether a dead worker is replaced."""
        return self.on_worker_death == "restart"


@dataclass(frozen=True, kw_only=True)
class ShmOptions(ProcessOptions):
    """Options of `shm`."""

    payload: str = _choice("what crosses with every step", "mask", "true-state")


@dataclass(frozen=True, kw_only=True)
class PipeOptions(ShmOptions):
    """Options of `pipe`."""

    workers: int = option(0, "worker processes; 0: one per env")


@dataclass(frozen=True, kw_only=True)
class AsyncOptions(ProcessOptions):
    """Options of `async`."""

    max_lag: int = option(1, "how many updates old the policy of a stretch may be")


@dataclass(frozen=True, kw_only=True)
class VectorOptions:
    """Options of `vector`."""

    threads: int = option(0, "threads that step; 0: one per core")
