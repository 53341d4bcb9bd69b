"""The options of the searchers; imported when plugins are listed, so nothing heavy here."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from wfbench.contract import option


@dataclass(frozen=True)
class GpUcbOptions:
    """Options of `gp-ucb`."""

    beta: float = option(2.0, "standard deviations added to the mean when choosing")
    schedule: Literal["constant", "theory", "decay"] = option(
        "constant", "how beta changes: constant, theory (grows), decay"
    )
    kernel: Literal["both", "mallows", "pairs"] = option(
        "both", "what makes orders similar: few swaps (mallows), shared precedences (pairs), both"
    )
    replicate: float = option(
        0.2, "maximum share of workflows that repeat the leader to reduce noise"
    )

    def __post_init__(self) -> None:
        if not 0 <= self.beta < math.inf:
            raise ValueError(f"beta is {self.beta}; it must be a finite number of at least 0")
        if not 0 <= self.replicate < 1:
            raise ValueError(f"replicate is {self.replicate}; it must be at least 0 and below 1")


@dataclass(frozen=True)
class GivenOptions:
    """Options of `given`."""

    orders: str = option("0", "the orders to train, separated by +: letters, names or indices")


@dataclass(frozen=True)
class HalvingOptions:
    """Options of `halving`."""

    orders: int = option(9, "orders in the first rung of a bracket")
    eta: int = option(
        3, "one order in `eta` advances to the next rung, with `eta` times the budget"
    )

    def __post_init__(self) -> None:
        if self.eta < 2:
            raise ValueError(f"eta is {self.eta}; it must be at least 2")
        if self.orders < self.eta:
            raise ValueError(f"orders is {self.orders}; it must not be below eta ({self.eta})")
