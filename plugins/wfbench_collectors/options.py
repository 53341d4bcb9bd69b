"""What a user can set for each collector."""

from __future__ import annotations

from dataclasses import dataclass, field

PAYLOADS = ("mask", "true-state")
START_METHODS = ("forkserver", "fork", "spawn")
DEATH_ANSWERS = ("fail", "restart")


@dataclass(frozen=True, kw_only=True)
class ProcessOptions:
    """What every collector with worker processes has."""

    start_method: str = field(
        default="forkserver", metadata={"help": "how workers start: " + ", ".join(START_METHODS)}
    )
    batched: bool = field(
        default=True,
        metadata={"help": "step several envs in a worker by their batched form, if they have one"},
    )
    on_worker_death: str = field(
        default="fail", metadata={"help": "what a dead worker means: " + ", ".join(DEATH_ANSWERS)}
    )
    restarts: int = field(
        default=3, metadata={"help": "how many dead workers are replaced before it is a failure"}
    )


_PAYLOAD_HELP = {"help": "what crosses with every step: " + ", ".join(PAYLOADS)}


@dataclass(frozen=True, kw_only=True)
class PipeOptions(ProcessOptions):
    """Options of `pipe`."""

    workers: int = field(default=0, metadata={"help": "worker processes; 0: one per env"})
    payload: str = field(default="mask", metadata=_PAYLOAD_HELP)


@dataclass(frozen=True, kw_only=True)
class ShmOptions(ProcessOptions):
    """Options of `shm`."""

    workers: int = field(default=0, metadata={"help": "worker processes; 0: one per core"})
    payload: str = field(default="mask", metadata=_PAYLOAD_HELP)


@dataclass(frozen=True, kw_only=True)
class AsyncOptions(ProcessOptions):
    """Options of `async`."""

    workers: int = field(default=0, metadata={"help": "worker processes; 0: one per core"})
    max_lag: int = field(
        default=1, metadata={"help": "how many updates old the policy of a stretch may be"}
    )


@dataclass(frozen=True, kw_only=True)
class VectorOptions:
    """Options of `vector`."""

    threads: int = field(default=0, metadata={"help": "threads that step; 0: one per core"})
