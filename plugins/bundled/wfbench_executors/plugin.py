"""The bundled executors, as descriptors, and their options."""

from __future__ import annotations

import math
from dataclasses import dataclass

from wfbench.contract import ExecutorSpec, hookimpl, option


@dataclass(frozen=True)
class ProcessesOptions:
    """Options of `processes`."""

    workers: int = option(0, "orders trained at a time; 0: one per core")
    patience: float = option(
        1800.0, "seconds without news of a call after which its worker is replaced"
    )

    def __post_init__(self) -> None:
        if self.workers < 0:
            raise ValueError(
                f"workers is {self.workers}; it must be at least 1, or 0 for the cores"
            )
        if not 0 < self.patience < math.inf:
            raise ValueError(f"patience is {self.patience}; it must be a number above 0")


@hookimpl
def wfbench_executors() -> list[ExecutorSpec]:
    """Return the executors local and processes."""
    return [
        ExecutorSpec(
            name="local",
            summary="In this process, one order after the other",
            factory="wfbench_executors.local:LocalExecutor",
        ),
        ExecutorSpec(
            name="processes",
            summary="In worker processes on this machine, an order each",
            factory="wfbench_executors.processes:ProcessesExecutor",
            options=ProcessesOptions,
            positional="workers",
        ),
    ]
