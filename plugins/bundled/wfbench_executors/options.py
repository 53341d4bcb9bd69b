"""The options of the executors. Importing this costs nothing."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any


def _help(default: Any, text: str) -> Any:
    return field(default=default, metadata={"help": text})


@dataclass(frozen=True)
class ProcessesOptions:
    """Options of `processes`."""

    workers: int = _help(0, "orders trained at a time; 0: one per core")
    patience: float = _help(
        1800.0, "seconds without news of a call after which its worker is replaced"
    )

    def __post_init__(self) -> None:
        if self.workers < 0:
            raise ValueError(
                f"workers is {self.workers}; it must be at least 1, or 0 for the cores"
            )
        if not 0 < self.patience < math.inf:
            raise ValueError(f"patience is {self.patience}; it must be a number above 0")
