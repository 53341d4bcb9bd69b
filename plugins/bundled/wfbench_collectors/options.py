"""What a user can set for each collector."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from wfbench.contract import UsageError

PAYLOADS = ("mask", "true-state")
START_METHODS = ("forkserver", "fork", "spawn")
DEATH_ANSWERS = ("fail", "restart")


def _option(default: Any, meaning: str) -> Any:
    return field(default=default, metadata={"help": meaning})


@dataclass(frozen=True, kw_only=True)
class ProcessOptions:
    """What every collector with worker processes has."""

    workers: int = _option(0, "worker processes; 0: one per core")
    start_method: str = _option("forkserver", "how workers start: " + ", ".join(START_METHODS))
    batched: bool = _option(
        default=True,
        meaning="step several envs in a worker by their batched form, if they have one",
    )
    on_worker_death: str = _option("fail", "what a dead worker means: " + ", ".join(DEATH_ANSWERS))
    restarts: int = _option(3, "how many dead workers are replaced before it is a failure")

    def __post_init__(self) -> None:
        _one_of("start_method", self.start_method, START_METHODS)
        _one_of("on_worker_death", self.on_worker_death, DEATH_ANSWERS)
        for name in ("workers", "restarts"):
            if getattr(self, name) < 0:
                raise UsageError(f"{name} is {getattr(self, name)}; it must be at least 0")

    @property
    def survives_deaths(self) -> bool:
        """Return whether a dead worker is replaced."""
        return self.on_worker_death == "restart"


@dataclass(frozen=True, kw_only=True)
class ShmOptions(ProcessOptions):
    """Options of `shm`."""

    payload: str = _option("mask", "what crosses with every step: " + ", ".join(PAYLOADS))

    def __post_init__(self) -> None:
        super().__post_init__()
        _one_of("payload", self.payload, PAYLOADS)


@dataclass(frozen=True, kw_only=True)
class PipeOptions(ShmOptions):
    """Options of `pipe`."""

    workers: int = _option(0, "worker processes; 0: one per env")


@dataclass(frozen=True, kw_only=True)
class AsyncOptions(ProcessOptions):
    """Options of `async`."""

    max_lag: int = _option(1, "how many updates old the policy of a stretch may be")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.max_lag < 0:
            raise UsageError(f"max_lag is {self.max_lag}; it must be at least 0")


@dataclass(frozen=True, kw_only=True)
class VectorOptions:
    """Options of `vector`."""

    threads: int = _option(0, "threads that step; 0: one per core")


def _one_of(name: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise UsageError(f"{name} is {value!r}; it can be {' or '.join(allowed)}")
