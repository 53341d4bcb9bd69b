"""What a user can set for each collector."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

from wfbench.contract import UsageError


def _option(default: Any, meaning: str) -> Any:
    return field(default=default, metadata={"help": meaning})


def _choice(meaning: str, *allowed: str) -> Any:
    """Return an option that is one of some words, the first by default."""
    text = f"{meaning}: {', '.join(allowed)}"
    return field(default=allowed[0], metadata={"help": text, "allowed": allowed})


@dataclass(frozen=True, kw_only=True)
class ProcessOptions:
    """What every collector with worker processes has."""

    workers: int = _option(0, "worker processes; 0: one per core")
    start_method: str = _choice("how workers start", "forkserver", "fork", "spawn")
    batched: bool = _option(
        default=True,
        meaning="step several envs in a worker by their batched form, if they have one",
    )
    on_worker_death: str = _choice("what a dead worker means", "fail", "restart")
    restarts: int = _option(3, "how many dead workers are replaced before it is a failure")

    def __post_init__(self) -> None:
        for option in fields(self):
            name, value = option.name, getattr(self, option.name)
            allowed = option.metadata.get("allowed", (value,))
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

    workers: int = _option(0, "worker processes; 0: one per env")


@dataclass(frozen=True, kw_only=True)
class AsyncOptions(ProcessOptions):
    """Options of `async`."""

    max_lag: int = _option(1, "how many updates old the policy of a stretch may be")


@dataclass(frozen=True, kw_only=True)
class VectorOptions:
    """Options of `vector`."""

    threads: int = _option(0, "threads that step; 0: one per core")
