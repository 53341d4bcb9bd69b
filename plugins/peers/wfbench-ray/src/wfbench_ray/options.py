"""What a user can set. Importing this does not load Ray."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

_ADDRESS = "the cluster; empty: that of RAY_ADDRESS, or one on this machine for as long as needed"


def _option(default: Any, meaning: str) -> Any:
    return field(default=default, metadata={"help": meaning})


@dataclass(frozen=True)
class CollectorOptions:
    """Options of the collector `ray`."""

    workers: int = _option(0, "actors; 0: one per core of the cluster")
    batched: bool = _option(default=True, meaning="step the batched form, where there is one")
    address: str = _option("", _ADDRESS)

    def __post_init__(self) -> None:
        if self.workers < 0:
            raise ValueError(
                f"workers is {self.workers}; it must be at least 1, or 0 for the cores"
            )


@dataclass(frozen=True)
class ExecutorOptions:
    """Options of the executor `ray`."""

    address: str = _option("", _ADDRESS)
    workers: int = _option(0, "orders trained at a time; 0: one per core of the cluster")
    cpus: float = _option(1.0, "cores that the training of one order takes up")
    patience: float = _option(
        1800.0, "seconds without news of a call after which it is submitted again"
    )

    def __post_init__(self) -> None:
        if self.workers < 0:
            raise ValueError(
                f"workers is {self.workers}; it must be at least 1, or 0 for the cores"
            )
        if not 0 < self.cpus < math.inf:
            raise ValueError(f"cpus is {self.cpus}; it must be a number above 0")
        if not 0 < self.patience < math.inf:
            raise ValueError(f"patience is {self.patience}; it must be a number above 0")
