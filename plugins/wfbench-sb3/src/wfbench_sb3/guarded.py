"""One environment of a plan, as it stands behind one of the library's vector environments."""

from __future__ import annotations

from typing import Any

from wfbench.collecting.guarded import GuardedEnv


class VecEnvMember(GuardedEnv):
    """An environment whose `info` says in which way its episode ended; the library loses it."""

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """One step."""
        obs, reward, terminated, truncated, info = super().step(action)
        info |= {"terminated": terminated, "truncated": truncated}
        return obs, reward, terminated, truncated, info
