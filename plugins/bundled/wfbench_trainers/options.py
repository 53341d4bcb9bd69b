"""Options of the PPO family; importing this loads neither torch nor numba."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any

from wfbench.contract import option


@dataclass(frozen=True)
class LearnerOptions:
    """What every PPO of the family has."""

    gamma: float = option(0.99, "discount per step")
    epochs: int = option(4, "passes over the data of an update (K)")
    lr: float = option(0.002, "learning rate of Adam")
    clip: float = option(0.2, "clipping range of the policy ratio")
    entropy: float = option(0.01, "weight of the entropy bonus")

    def __post_init__(self) -> None:
        _check(self)


@dataclass(frozen=True)
class DocumentedOptions(LearnerOptions):
    """The documented PPO: full batch, Monte-Carlo returns standardised over the batch, no GAE."""

    value_weight: float = option(0.5, "weight of the value loss")
    threads: int = option(0, "threads of the learner; 0: one per core, with torch only one")
    backend: str = option("auto", "who runs the networks: compiled, torch or auto (see device)")
    distinct: bool = option(default=True, meaning="run the networks on distinct observations only")


@dataclass(frozen=True)
class OriginalOptions(DocumentedOptions):
    """The documented PPO of the original training script: six passes."""

    epochs: int = option(6, "passes over the data of an update (K)")


@dataclass(frozen=True)
class PpoOptions(LearnerOptions):
    """PPO with the additions that measured better on CAGE-2."""

    epochs: int = option(6, "passes over the data of an update (K)")
    entropy: float = option(0.02, "weight of the entropy bonus")
    entropy_end: float = option(0.0, "weight of the entropy bonus when the budget is spent")
    gae: float = option(0.95, "lambda of the generalised advantage estimate")
    minibatches: int = option(4, "parts of a pass, each with its own step of Adam")
    max_grad_norm: float = option(0.5, "clip longer gradients to this norm; 0: never")
    anneal: bool = option(default=True, meaning="lower the learning rate over the budget")
    lr_end: float = option(0.02, "share of the learning rate left when the budget is spent")
    target_kl: float = option(0.0, "stop the passes of an update at this KL divergence; 0: never")
    truncation: str = option("cut", "value after the last step of an episode: cut or bootstrap")
    privileged: bool = option(
        default=True,
        meaning="let the critic see compromised hosts and time while training",
        before=False,
    )
    hidden: int = option(64, "units of each hidden layer")
    threads: int = option(0, "threads of the learner; 0: one per core, with torch only one")
    backend: str = option("auto", "who runs the networks: compiled, torch or auto (see device)")
    distinct: bool = option(default=True, meaning="run the networks on distinct observations only")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.truncation not in ("cut", "bootstrap"):
            raise ValueError(f"truncation is {self.truncation!r}; it must be cut or bootstrap")


_AT_LEAST_1 = {"epochs", "minibatches", "hidden"}
_BACKENDS = ("auto", "compiled", "torch")
_SHARES = {"gamma", "gae", "lr_end"}


def _check(options: Any) -> None:
    backend = getattr(options, "backend", "auto")
    if backend not in _BACKENDS:
        raise ValueError(f"backend is {backend!r}; it must be one of {', '.join(_BACKENDS)}")
    for declared in fields(options):
        name, value = declared.name, getattr(options, declared.name)
        if isinstance(value, (bool, str)):
            continue
        if not math.isfinite(value) or value < 0:
            raise ValueError(f"{name} is {value}; it must be a finite number of at least 0")
        if name in _AT_LEAST_1 and value < 1:
            raise ValueError(f"{name} is {value}; it must be at least 1")
        if name in _SHARES and value > 1:
            raise ValueError(f"{name} is {value}; it must be at most 1")
        if name == "lr" and value == 0:
            raise ValueError("lr is 0; it must be above 0")
