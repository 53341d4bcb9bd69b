"""What a user can set. Importing this loads neither torch nor Stable-Baselines3."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields
from typing import Any

START_METHODS = ("forkserver", "fork", "spawn")


def _option(default: Any, meaning: str) -> Any:
    return field(default=default, metadata={"help": meaning})


@dataclass(frozen=True)
class SubprocOptions:
    """Options of `sb3-subproc`."""

    start_method: str = _option("forkserver", "how workers start: " + ", ".join(START_METHODS))

    def __post_init__(self) -> None:
        if self.start_method not in START_METHODS:
            known = ", ".join(START_METHODS)
            raise ValueError(f"start_method is {self.start_method!r}; choose from {known}")


@dataclass(frozen=True)
class PpoOptions:
    """Options of `sb3-ppo`, with the defaults of Stable-Baselines3."""

    lr: float = _option(3e-4, "learning rate of Adam")
    gamma: float = _option(0.99, "discount per step")
    epochs: int = _option(10, "passes over the data of an update")
    clip: float = _option(0.2, "clipping range of the policy ratio")
    batch_size: int = _option(64, "transitions per step of Adam")
    gae: float = _option(0.95, "lambda of the generalised advantage estimate")
    entropy: float = _option(0.0, "weight of the entropy bonus")
    value_weight: float = _option(0.5, "weight of the value loss")
    max_grad_norm: float = _option(0.5, "gradients longer than this are shortened")
    threads: int = _option(1, "threads of the learner")

    def __post_init__(self) -> None:
        for declared in fields(self):
            name, value = declared.name, getattr(self, declared.name)
            if not math.isfinite(value) or value < 0:
                raise ValueError(f"{name} is {value}; it must be a number from 0 up")
        for name, least in (("epochs", 1), ("threads", 1), ("batch_size", 2)):
            if getattr(self, name) < least:
                raise ValueError(f"{name} is {getattr(self, name)}; it must be at least {least}")
        for name in ("gamma", "gae"):
            if getattr(self, name) > 1:
                raise ValueError(f"{name} is {getattr(self, name)}; it must be at most 1")
        for name in ("lr", "clip", "max_grad_norm"):
            if getattr(self, name) == 0:
                raise ValueError(f"{name} is 0; it must be above 0")
