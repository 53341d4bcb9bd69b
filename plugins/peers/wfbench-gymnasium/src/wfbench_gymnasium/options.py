"""What a user can set."""

from __future__ import annotations

from dataclasses import dataclass, field

START_METHODS = ("fork", "forkserver", "spawn")


@dataclass(frozen=True)
class AsyncOptions:
    """Options of `gym-async`."""

    start_method: str = field(
        default="fork", metadata={"help": "how workers start: " + ", ".join(START_METHODS)}
    )
    shared_memory: bool = field(
        default=True, metadata={"help": "observations by shared memory; false: by pipe"}
    )

    def __post_init__(self) -> None:
        if self.start_method not in START_METHODS:
            known = ", ".join(START_METHODS)
            raise ValueError(f"start_method is {self.start_method!r}; choose from {known}")


@dataclass(frozen=True)
class RegisteredOptions:
    """Options of `gymnasium`."""

    id: str = field(
        default="CartPole-v1",
        metadata={"help": "what gymnasium.make() takes, such as CartPole-v1 or package:Name-v0"},
    )

    def __post_init__(self) -> None:
        if not self.id.strip():
            raise ValueError("id is empty; give the id of a registered environment")
