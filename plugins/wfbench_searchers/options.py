"""The options of the searchers. Importing this costs nothing."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Literal


def _help(default: Any, text: str) -> Any:
    return field(default=default, metadata={"help": text})


@dataclass(frozen=True)
class GpUcbOptions:
    """Options of `gp-ucb`."""

    beta: float = _help(2.0, "standard deviations of optimism per question")
    schedule: Literal["constant", "theory", "decay"] = _help(
        "constant", "how beta goes on from the first question: constant, theory (grows), decay"
    )
    kernel: Literal["both", "mallows", "pairs"] = _help(
        "both", "what makes orders alike: few swaps (mallows), the pairs that matter (pairs), both"
    )
    replicate: float = _help(
        0.2, "at most this share of questions repeats the leader for its noise"
    )

    def __post_init__(self) -> None:
        if not 0 <= self.beta < math.inf:
            raise ValueError(f"beta is {self.beta}; it must be a number from 0 up")
        if not 0 <= self.replicate < 1:
            raise ValueError(f"replicate is {self.replicate}; it must be from 0 to below 1")


@dataclass(frozen=True)
class GivenOptions:
    """Options of `given`."""

    orders: str = _help("0", "the orders to train, separated by +: letters, names or indices")


@dataclass(frozen=True)
class HalvingOptions:
    """Options of `halving`."""

    orders: int = _help(9, "orders that a bracket begins with")
    eta: int = _help(3, "one in so many goes on to the next rung, with so many times the budget")

    def __post_init__(self) -> None:
        if self.eta < 2:
            raise ValueError(f"eta is {self.eta}; it must be at least 2")
        if self.orders < self.eta:
            raise ValueError(f"orders is {self.orders}; it must not be below eta ({self.eta})")
