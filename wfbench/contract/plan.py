"""What a collector runs: environments, their seeds, and how long it may wait."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .errors import UsageError
from .specs import EnvRef

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_POLICY_STREAM = np.uint64(0x706F6C6963790001)


@dataclass(frozen=True)
class Deadlines:
    """The longest that any wait may take, in seconds. Every wait has one."""

    start: float = 60.0
    """Until every environment is built and reset."""
    step: float = 30.0
    """Until one step of every environment has come back."""
    close: float = 5.0
    """Until everything is released, whatever state it is in."""


@dataclass(frozen=True)
class Plan:
    """Environments, seeds and deadlines, from a collector's open to its close."""

    env: EnvRef
    n_envs: int
    env_seeds: tuple[int, ...]
    """One 64-bit seed per environment, all different."""
    deadlines: Deadlines = Deadlines()
    check: bool = True
    """Refuse NaN, infinities outside the space and values of the wrong shape or type where they
    enter, instead of learning from them."""

    def __post_init__(self) -> None:
        if self.n_envs < 1:
            raise UsageError(f"n_envs is {self.n_envs}; it must be at least 1")
        if len(self.env_seeds) != self.n_envs:
            raise UsageError(f"{len(self.env_seeds)} env seeds were given for {self.n_envs} envs")
        if len(set(self.env_seeds)) != self.n_envs:
            raise UsageError("env seeds repeat; every environment needs its own")

    def same_envs(self, other: Plan) -> bool:
        """Tell whether both plans are of the same environments, whatever their seeds."""
        mine, theirs = ((p.env, p.n_envs, p.check) for p in (self, other))
        return mine == theirs

    def draws(self, step: int, first: int = 0, stop: int | None = None) -> NDArray[np.float64]:
        """Return uniform numbers in [0, 1) for the actions of envs first..stop at `step`.

        They depend only on each env's seed and on `step`, the number of steps that the env has made
        since `open`, never on how environments are batched.
        """
        seeds = np.array(self.env_seeds[first:stop], dtype=np.uint64)
        return uniform_draws(seeds, np.uint64(step))


def uniform_draws(
    seeds: NDArray[np.uint64], steps: np.uint64 | NDArray[np.uint64]
) -> NDArray[np.float64]:
    """Return uniform numbers in [0, 1) keyed by (env seed, step); shapes broadcast."""
    with np.errstate(over="ignore"):
        base = _mix(seeds ^ _POLICY_STREAM)
        bits = _mix(base + (steps + np.uint64(1)) * _GOLDEN)
    return (bits >> np.uint64(11)).astype(np.float64) * 2.0**-53


def _mix(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    x = (x ^ (x >> np.uint64(30))) * _MIX_1
    x = (x ^ (x >> np.uint64(27))) * _MIX_2
    return x ^ (x >> np.uint64(31))
