"""One environment of a plan, wrapped for the library's vector environments."""

from __future__ import annotations

from typing import Any

from wfbench.collecting.guarded import GuardedEnv


class VecEnvMember(GuardedEnv):
    """An environment whose `info` says how its episode ended, which the library drops."""

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Make a step."""
        obs, reward, terminated, truncated, info = super().step(action)
        info |= {"terminated": terminated, "truncated": truncated}
        return obs, reward, terminated, truncated, info
