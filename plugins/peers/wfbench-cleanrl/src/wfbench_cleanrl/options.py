"""What a user can set. Importing this does not load torch."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields
from typing import Any


def _option(default: Any, meaning: str) -> Any:
    return field(default=default, metadata={"help": meaning})


@dataclass(frozen=True)
class PpoOptions:
    """Options of `cleanrl-ppo`, with the defaults of CleanRL's PPO for discrete actions."""

    lr: float = _option(2.5e-4, "learning rate of Adam")
    anneal: bool = _option(True, "let the learning rate fall to 0 over the budget")  # noqa: FBT003 (a default)
    gamma: float = _option(0.99, "discount per step")
    gae: float = _option(0.95, "lambda of the generalised advantage estimate")
    epochs: int = _option(4, "passes over the data of an update")
    minibatches: int = _option(4, "parts of the data, each a step of Adam")
    clip: float = _option(0.2, "clipping range of the policy ratio and of the value")
    entropy: float = _option(0.01, "weight of the entropy bonus")
    value_weight: float = _option(0.5, "weight of the value loss")
    max_grad_norm: float = _option(0.5, "gradients longer than this are shortened")
    threads: int = _option(1, "threads of the learner")

    def __post_init__(self) -> None:
        for declared in fields(self):
            name, value = declared.name, getattr(self, declared.name)
            if not math.isfinite(value) or value < 0:
                raise ValueError(f"{name} is {value}; it must be a number from 0 up")
        for name in ("epochs", "minibatches", "threads"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}; it must be at least 1")
        for name in ("gamma", "gae"):
            if getattr(self, name) > 1:
                raise ValueError(f"{name} is {getattr(self, name)}; it must be at most 1")
        for name in ("lr", "clip", "max_grad_norm"):
            if getattr(self, name) == 0:
                raise ValueError(f"{name} is 0; it must be above 0")
