"""What the documented conditions are here."""

from __future__ import annotations

CYBORG = "synthetic:cyborg,construct=0"
"""The real simulator's costs of a step, a reset and a true state. Construction is left out: it is
start-up, which no documented figure holds, and 200 times 245 ms long."""

WEIGHTLESS = "synthetic:obs_size=52"
"""The same environment without costs: for what does not depend on time."""

PIPE_TRUE_STATE = "pipe:payload=true-state"
"""The documented pipes: a process per env, the true state fetched twice per step."""


def shm_per_env(n_envs: int) -> str:
    """The documented shared memory: arrays, still a process per env."""
    return f"shm:workers={n_envs}"


NO_CONSTRUCTION = "construction (245 ms per env) left out: it is start-up"
EPISODE = 100
"""Steps of an episode."""
DEFAULT_ORDER = "DESHU"
