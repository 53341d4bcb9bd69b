"""How a collector asks for actions.

A policy is a pure function of observation and draw: the same row gives the same action whatever
else is in the batch. What crosses to a worker is a `PolicySnapshot` of plain arrays; the worker
restores it without importing a learning library.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from .importing import load_object


class Acts(NamedTuple):
    """Actions with the log-probability and the state value that the policy gave them."""

    actions: NDArray[np.int64]
    log_probs: NDArray[np.float32]
    values: NDArray[np.float32]


@dataclass(frozen=True)
class PolicySnapshot:
    """A policy as plain arrays."""

    restore: str
    """Import path of a callable that takes this snapshot and returns the `Policy`."""
    version: int
    arrays: Mapping[str, NDArray[Any]] = field(default_factory=dict)

    def policy(self) -> Policy:
        """Restore the policy."""
        policy: Policy = load_object(self.restore)(self)
        return policy


class Policy(Protocol):
    """Chooses actions. `version` changes with every update."""

    @property
    def version(self) -> int:
        """The number of updates that made this policy."""

    def act(self, obs: NDArray[Any], draws: NDArray[np.float64]) -> Acts:
        """Choose one action per row of `obs` with that row's draw in [0, 1)."""

    def snapshot(self) -> PolicySnapshot:
        """Return this policy as plain arrays."""
