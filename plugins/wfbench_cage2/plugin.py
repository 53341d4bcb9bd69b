"""What this package tells wfbench."""

from __future__ import annotations

from wfbench.contract import EnvSpec, Reference, hookimpl

from .options import Cage2Options

_HERE = "wfbench_cage2.references"
_REFERENCES = (
    Reference("random", "each of the 145 actions equally likely", f"{_HERE}:uniform"),
    Reference("sleep", "does nothing", f"{_HERE}:Asleep"),
    Reference("reactive", "repairs what looks compromised", f"{_HERE}:Reactive"),
    Reference(
        "greedy-oracle",
        "sees the true state and fixes what the order puts first",
        f"{_HERE}:GreedyOracle",
        batched=f"{_HERE}:RevealedBatch",
    ),
)


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
            references=_REFERENCES,
            capabilities=frozenset({"workflow", "true-state"}),
        )
    ]
