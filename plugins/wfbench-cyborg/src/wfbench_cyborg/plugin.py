"""What this plugin offers. Imported whenever wfbench starts, so it imports nothing heavy."""

from __future__ import annotations

from wfbench.contract import EnvSpec, hookimpl

from .options import CyborgOptions


@hookimpl
def wfbench_envs() -> list[EnvSpec]:
    """The environment `cyborg`."""
    return [
        EnvSpec(
            name="cyborg",
            summary="CAGE Challenge 2 in the official simulator, which must be installed apart",
            factory="wfbench_cyborg.env:CyborgEnv",
            options=CyborgOptions,
            positional="red",
            horizon="episode_steps",
            capabilities=frozenset({"workflow", "true-state"}),
        )
    ]
