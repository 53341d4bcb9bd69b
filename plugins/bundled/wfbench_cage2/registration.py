"""Register the environment with gymnasium; named by the entry-point group `wfbench.gymnasium`."""

from __future__ import annotations

ENV_ID = "wfbench/Cage2-v0"


def register_envs() -> None:
    """Register `wfbench/Cage2-v0`, once."""
    from gymnasium.envs.registration import register, registry

    if ENV_ID not in registry:
        register(
            id=ENV_ID,
            entry_point="wfbench_cage2.env:Cage2Env",
            vector_entry_point="wfbench_cage2.vector_env:Cage2VectorEnv",
        )
