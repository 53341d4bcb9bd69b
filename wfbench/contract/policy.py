"""How a collector asks for actions.

A policy is a pure function of observation and draw: the same row gives the same action whatever
else is in the batch. What crosses to a worker is a `PolicySnapshot` of plain arrays; the worker
restores it without importing a learning library.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from .importing import load_object

if TYPE_CHECKING:
    from .env import CompiledStep, EnvInfo
    from .record import StepArrays


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


@runtime_checkable
class SteppingPolicy(Policy, Protocol):
    """A policy that can also make the steps of compiled environments."""

    def can_play(self, info: EnvInfo) -> bool:
        """Return whether `play` takes such observations and chooses only legal actions."""

    def play(
        self,
        step: CompiledStep,
        obs: NDArray[Any],
        draws: NDArray[np.float64],
        acts: Acts,
        out: StepArrays,
        first: int,
        columns: slice,
    ) -> float:
        """Act and step in turn, once per row of `draws`; return the seconds of the steps.

        The other arrays are those of a whole rollout; `first` and `columns` say which cells to
        fill. The actions of step t follow from obs[t], and it leaves obs[t + 1] in place of
        `out.obs`.
        """
