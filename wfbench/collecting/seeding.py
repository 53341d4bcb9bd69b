"""Seeds: one `SeedSequence` per run, spawned per purpose and per environment.

Adding an environment or a purpose never changes the seeds of the others, and two runs whose seeds
differ, even by one, share none.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from wfbench.contract import Deadlines, EnvRef, Plan, UsageError


class Purpose(IntEnum):
    """What a stream of seeds is for. The numbers are part of every result: never reuse one."""

    ENVS = 0
    TRAINER = 1
    SEARCHER = 2
    EVALUATION = 3
    BENCH = 4
    WORKFLOW = 5


def purpose_seed(seed: int, purpose: Purpose, index: int = 0) -> int:
    """Return a 64-bit seed for the `index`-th thing of a purpose."""
    if seed < 0:
        raise UsageError(f"seed is {seed}; it must not be negative")
    sequence = np.random.SeedSequence(seed, spawn_key=(int(purpose), index))
    return int(sequence.generate_state(1, np.uint64)[0])


def env_seeds(seed: int, n: int, purpose: Purpose = Purpose.ENVS) -> tuple[int, ...]:
    """Return `n` different 64-bit seeds, one per env; the i-th does not depend on `n`."""
    return tuple(purpose_seed(seed, purpose, index) for index in range(n))


def make_plan(
    env: EnvRef,
    n_envs: int,
    seed: int,
    *,
    purpose: Purpose = Purpose.ENVS,
    deadlines: Deadlines | None = None,
    check: bool = True,
) -> Plan:
    """Return the plan of `n_envs` environments whose seeds follow from `seed`."""
    return Plan(env, n_envs, env_seeds(seed, n_envs, purpose), deadlines or Deadlines(), check)
