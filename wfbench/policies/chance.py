"""A policy without a network: every action is equally likely."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wfbench.contract import Acts, PolicySnapshot, UsageError


class RandomPolicy:
    """Chooses each of `num_actions` actions with the same probability; every value is 0."""

    def __init__(self, num_actions: int, version: int = 0) -> None:
        if num_actions < 1:
            raise UsageError(f"num_actions is {num_actions}; it must be at least 1")
        self.num_actions = num_actions
        self.version = version

    def act(self, obs: NDArray[Any], draws: NDArray[np.float64]) -> Acts:  # noqa: ARG002 (the contract's signature)
        """Choose one action per draw, whatever the observation."""
        # draw < 1 in 53 bits, so the product rounds to a number below num_actions.
        actions = (draws * self.num_actions).astype(np.int64)
        log_prob = np.float32(-math.log(self.num_actions))
        return Acts(
            actions,
            np.full(draws.shape, log_prob, dtype=np.float32),
            np.zeros(draws.shape, dtype=np.float32),
        )

    def snapshot(self) -> PolicySnapshot:
        """Return this policy as plain arrays."""
        return PolicySnapshot(
            restore="wfbench.policies:restore_random",
            version=self.version,
            arrays={"num_actions": np.array([self.num_actions], dtype=np.int64)},
        )


def restore_random(snapshot: PolicySnapshot) -> RandomPolicy:
    """Restore a `RandomPolicy` from its snapshot."""
    return RandomPolicy(int(snapshot.arrays["num_actions"][0]), snapshot.version)
