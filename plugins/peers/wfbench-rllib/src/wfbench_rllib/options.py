"""What a user can set. Importing this loads neither torch nor Ray."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

from wfbench.contract import option


@dataclass(frozen=True)
class PpoOptions:
    """Options of `rllib-ppo`, with the defaults of RLlib."""

    lr: float = option(5e-5, "learning rate of Adam")
    gamma: float = option(0.99, "discount per step")
    epochs: int = option(30, "passes over the data of an update")
    clip: float = option(0.3, "clipping range of the policy ratio")
    batch_size: int = option(128, "transitions per step of Adam")
    gae: float = option(1.0, "lambda of the generalised advantage estimate")
    entropy: float = option(0.0, "weight of the entropy bonus")
    value_weight: float = option(1.0, "weight of the value loss")
    value_clip: float = option(10.0, "the square of an error of the value counts up to this")
    kl: float = option(0.2, "weight of the divergence from the last policy, at first")
    hidden: int = option(256, "units of each of the two hidden layers")
    threads: int = option(1, "threads of the learner")

    def __post_init__(self) -> None:
        for declared in fields(self):
            name, value = declared.name, getattr(self, declared.name)
            if not math.isfinite(value) or value < 0:
                raise ValueError(f"{name} is {value}; it must be a number from 0 up")
        for name in ("epochs", "threads", "batch_size", "hidden"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}; it must be at least 1")
        for name in ("gamma", "gae"):
            if getattr(self, name) > 1:
                raise ValueError(f"{name} is {getattr(self, name)}; it must be at most 1")
        for name in ("lr", "clip", "value_clip"):
            if getattr(self, name) == 0:
                raise ValueError(f"{name} is 0; it must be above 0")
