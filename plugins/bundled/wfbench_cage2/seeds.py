"""Env seeds: 64-bit numbers that each determine a stream of episodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Seeds = int | Sequence[Any] | NDArray[Any]


def _check(seed: Any) -> int:
    if isinstance(seed, (bool, np.bool_)) or not isinstance(seed, (int, np.integer)):
        raise TypeError(f"seed is {seed!r}; it must be an integer in 0..2**64-1")
    if not 0 <= seed < 2**64:
        raise ValueError(f"seed {seed} is outside 0..2**64-1")
    return int(seed)


def env_seeds(seed: Seeds | None, num_envs: int) -> NDArray[np.uint64]:
    """Return one seed per env: those given, or derived from one, or fresh ones.

    Derived seeds do not depend on `num_envs`: env i of 10 has the seed of env i of 1,000.
    """
    if seed is None or isinstance(seed, int) or np.ndim(seed) == 0:
        source = np.random.SeedSequence(None if seed is None else _check(seed))
        return np.asarray(source.generate_state(num_envs, np.uint64), dtype=np.uint64)
    if len(seed) != num_envs:
        raise ValueError(f"{len(seed)} seeds were given for {num_envs} envs")
    return np.array([_check(one) for one in seed], dtype=np.uint64)
