"""Any environment that is registered with gymnasium."""

from __future__ import annotations

from typing import Any

import gymnasium
from gymnasium.error import Error as GymnasiumError

from wfbench.contract import UsageError


def make(id: str) -> gymnasium.Env[Any, Any]:  # noqa: A002 (gymnasium's word)
    """Return the environment `id`; raise UsageError if a collector cannot step it.

    It is made without gymnasium's checker, which would be measured with it.
    """
    try:
        env = gymnasium.make(id, disable_env_checker=True)
    except (GymnasiumError, ImportError, AttributeError, TypeError) as error:
        raise UsageError(f"gymnasium has no environment {id!r} here: {error}") from error
    space, actions = env.observation_space, env.action_space
    if not isinstance(space, gymnasium.spaces.Box):
        raise UsageError(f"{id} has observations {space}; only a Box can be collected")
    if not isinstance(actions, gymnasium.spaces.Discrete) or actions.start != 0:
        raise UsageError(f"{id} has actions {actions}; only Discrete from 0 can be collected")
    return env
