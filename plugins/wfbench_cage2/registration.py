"""Makes the environment known to gymnasium, without importing the compiled kernel."""

from __future__ import annotations

ENV_ID = "wfbench/Cage2-v0"


def register_envs() -> None:
    """Register `wfbench/Cage2-v0`; gymnasium calls this through its entry-point group."""
    from gymnasium.envs.registration import register, registry

    if ENV_ID not in registry:
        register(
            id=ENV_ID,
            entry_point="wfbench_cage2.env:Cage2Env",
            vector_entry_point="wfbench_cage2.vector_env:Cage2VectorEnv",
        )
