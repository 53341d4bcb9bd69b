"""The evaluations of one policy under several orders."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wfbench.contract import Order


@dataclass(frozen=True)
class Sweep:
    """One policy, evaluated under each of several orders on the same env seeds."""

    orders: tuple[Order, ...]
    env_return: NDArray[np.float64]
    """[orders, episodes]; column e of every row has the same env seed."""
    choices: NDArray[np.int64]
    """[orders, episodes] fixes made where there was a choice."""
    right: NDArray[np.int64]
    """[orders, episodes] of those, the ones that follow the order."""
