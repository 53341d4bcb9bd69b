"""The options of the environment. Importing this costs nothing."""

from __future__ import annotations

from dataclasses import dataclass, field

RED_AGENTS = {"bline": "B_lineAgent", "meander": "RedMeanderAgent", "sleep": "SleepAgent"}
"""What a user calls a red agent, and what the simulator calls its class."""


@dataclass(frozen=True)
class CyborgOptions:
    """Options of `cyborg`, with the names that `cage2` has for them."""

    red: str = field(default="bline", metadata={"help": "red agent: " + ", ".join(RED_AGENTS)})
    episode_steps: int = field(default=100, metadata={"help": "steps per episode"})

    def __post_init__(self) -> None:
        if self.red not in RED_AGENTS:
            known = ", ".join(RED_AGENTS)
            raise ValueError(f"unknown red agent {self.red!r}; choose one of {known}")
        if self.episode_steps < 1:
            raise ValueError(f"episode_steps is {self.episode_steps}; it must be at least 1")
