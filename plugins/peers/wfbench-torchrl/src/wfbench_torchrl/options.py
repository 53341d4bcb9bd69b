"""What a user can set. Importing this loads neither torch nor TorchRL."""

from __future__ import annotations

from dataclasses import dataclass, field

START_METHODS = ("fork", "forkserver", "spawn")


@dataclass(frozen=True)
class ParallelOptions:
    """Options of both collectors."""

    start_method: str = field(
        default="fork", metadata={"help": "how workers start: " + ", ".join(START_METHODS)}
    )

    def __post_init__(self) -> None:
        if self.start_method not in START_METHODS:
            known = ", ".join(START_METHODS)
            raise ValueError(f"start_method is {self.start_method!r}; choose from {known}")
