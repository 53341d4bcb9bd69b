"""What a collector delivers: transitions, a hash that identifies them, and what they cost."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .record import StepRecord


@dataclass(frozen=True)
class Counters:
    """What one `collect` moved and where its time went.

    `env`, `transport`, `inference` and `idle` are seconds of wall time of the calling process and
    sum to `wall`: the time in which environments stepped, data moved, the policy computed, or none
    of these. Where environments step in workers, `env` is the longest worker's time.
    """

    wall: float
    env: float
    transport: float
    inference: float
    idle: float
    messages: int = 0
    bytes_moved: int = 0
    restarts: int = 0
    dropped: int = 0
    """Stretches that an asynchronous collector discarded as too stale."""
    lag: tuple[int, ...] = ()
    """Updates between the policy that acted and the newest one, per column; empty means all 0."""


@dataclass(frozen=True)
class Rollout(StepRecord):
    """`T` steps of `N` columns. Row t holds observation, action and reward of step t.

    A column is one environment for a synchronous collector and one stretch of one environment for
    an asynchronous one. There are no dummy rows: every row is a real transition, and the row after
    an episode's last starts the next episode.

    `obs` [T, N, ...] is the observation the action was chosen on. `final_obs` [K, ...] are the last
    observations of the K episodes that ended, in the order of `np.argwhere(ended)`.
    """

    actions: NDArray[np.int64]
    next_obs: NDArray[Any]
    """[N, ...] the observation that follows the last row."""
    log_probs: NDArray[np.float32]
    values: NDArray[np.float32]
    env_id: NDArray[np.int64]
    """[N] which environment each column is of."""
    first_step: NDArray[np.int64]
    """[N] how many steps that environment had made before row 0."""
    policy_version: NDArray[np.int64]
    """[N] the policy that acted in each column."""
    counters: Counters
    marks: tuple[str, ...] = ()
    """Failures it recovered from (a restarted worker); empty for a clean sample."""

    @property
    def transitions(self) -> int:
        """How many transitions this holds."""
        return int(self.actions.size)

    def transition_hash(self) -> str:
        """Return a hash that identifies what was collected.

        It covers env id, step, observation, action, reward and end flags of every transition, and
        does not depend on who collected them or how they were batched.
        """
        digest = hashlib.blake2b(digest_size=16)
        order = np.lexsort((self.first_step, self.env_id))
        steps, columns = self.actions.shape
        digest.update(np.array([steps, columns], dtype="<i8").tobytes())
        digest.update(self.env_id[order].astype("<i8").tobytes())
        digest.update(self.first_step[order].astype("<i8").tobytes())
        for array, dtype in (
            (self.obs, self.obs.dtype.newbyteorder("<")),
            (self.actions, "<i8"),
            (self.rewards + np.float32(0), "<f4"),  # -0.0 becomes 0.0, as where rewards are summed
            (self.terminated, "u1"),
            (self.truncated, "u1"),
        ):
            by_env = array.swapaxes(0, 1)[order]
            digest.update(np.ascontiguousarray(by_env, dtype=dtype).tobytes())
        return digest.hexdigest()
