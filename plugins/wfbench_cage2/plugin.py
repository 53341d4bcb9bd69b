"""What this package tells wfbench."""

from __future__ import annotations

from wfbench.contract import EnvSpec, hookimpl

from .options import Cage2Options


@hookimpl
def wfbench_envs() -> list[EnvSpec]:
    """The CAGE-2 environment."""
    return [
        EnvSpec(
            name="cage2",
            summary="CAGE Challenge 2, blue seat: exact rules, compiled",
            factory="wfbench_cage2.env:Cage2Env",
            batched="wfbench_cage2.batch:Cage2Batch",
            options=Cage2Options,
            positional="red",
            horizon="episode_steps",
            capabilities=frozenset({"workflow", "true-state"}),
        )
    ]
