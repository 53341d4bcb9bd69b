"""The synthetic environments."""

from __future__ import annotations

from wfbench.contract import EnvSpec, hookimpl

from .options import SyntheticBatchOptions, SyntheticOptions


@hookimpl
def wfbench_envs() -> list[EnvSpec]:
    """Return the synthetic environment, and its form without costs that has a batched form."""
    return [
        EnvSpec(
            name="synthetic",
            summary="Chosen costs and faults; synthetic:cyborg costs what the real simulator does",
            factory="wfbench_synthetic.env:SyntheticEnv",
            options=SyntheticOptions,
            positional="costs",
            horizon="episode_length",
            capabilities=frozenset({"workflow", "true-state"}),
        ),
        EnvSpec(
            name="synthetic-batch",
            summary="The same dynamics without costs or faults, with a batched form",
            factory="wfbench_synthetic.env:free_env",
            batched="wfbench_synthetic.batch:SyntheticBatch",
            options=SyntheticBatchOptions,
            horizon="episode_length",
            capabilities=frozenset({"workflow"}),
        ),
    ]
