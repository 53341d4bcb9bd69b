"""The options of the environment; imported when plugins are listed."""

from __future__ import annotations

from dataclasses import dataclass, field

RED_AGENTS = {"bline": "B_lineAgent", "meander": "RedMeanderAgent", "sleep": "SleepAgent"}
"""Red agents as users name them, and their classes in the simulator."""
ACTION_CHOICES = ("all", "reduced")


@dataclass(frozen=True)
class CyborgOptions:
    """Options of `cyborg`, named as those of `cage2`."""

    red: str = field(default="bline", metadata={"help": "red agent: " + ", ".join(RED_AGENTS)})
    episode_steps: int = field(default=100, metadata={"help": "steps per episode"})
    memory: bool = field(
        default=False,
        metadata={"help": "append what blue knows from its own actions and past alerts"},
    )
    actions: str = field(
        default="all", metadata={"help": "all 145, or reduced: the useful ones and decoy macros"}
    )
    history: bool = field(
        default=False, metadata={"help": "with memory: append also what blue knows of the past"}
    )
    masks: bool = field(
        default=True,
        metadata={"help": "report compromised hosts, to judge compliance; no is faster"},
    )

    def __post_init__(self) -> None:
        if self.red not in RED_AGENTS:
            known = ", ".join(RED_AGENTS)
            raise ValueError(f"unknown red agent {self.red!r}; choose one of {known}")
        if self.history and not self.memory:
            raise ValueError("history=true needs memory=true")
        if self.episode_steps < 1:
            raise ValueError(f"episode_steps is {self.episode_steps}; it must be at least 1")
        if self.actions not in ACTION_CHOICES:
            known = ", ".join(ACTION_CHOICES)
            raise ValueError(f"unknown actions {self.actions!r}; choose one of {known}")
