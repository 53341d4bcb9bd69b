"""Env seeds: 64-bit numbers that each determine a stream of episodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

_LIMIT = 2**64


def check_seed(seed: Any) -> int:
    """Return the seed if it is one."""
    if isinstance(seed, (bool, np.bool_)) or not isinstance(seed, (int, np.integer)):
        raise TypeError(f"seed is {seed!r}; it must be an integer in 0..2**64-1")
    if not 0 <= seed < _LIMIT:
        raise ValueError(f"seed {seed} is outside 0..2**64-1")
    return int(seed)


def fresh_seed() -> int:
    """Return a seed from the operating system."""
    return int(np.random.SeedSequence().generate_state(1, np.uint64)[0])


def env_seeds(seed: int | Sequence[int] | NDArray[Any] | None, num_envs: int) -> NDArray[np.uint64]:
    """Return one seed per env: those given, or derived from one.

    Derived seeds do not depend on `num_envs`: env i of 10 has the seed of env i of 1,000.
    """
    if seed is None:
        seed = fresh_seed()
    if isinstance(seed, (int, np.integer)) or np.ndim(seed) == 0:
        derived = np.random.SeedSequence(check_seed(seed)).generate_state(num_envs, np.uint64)
        return np.asarray(derived, dtype=np.uint64)
    if len(seed) != num_envs:
        raise ValueError(f"{len(seed)} seeds were given for {num_envs} envs")
    return np.array([check_seed(one) for one in seed], dtype=np.uint64)
