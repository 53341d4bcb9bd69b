"""The bundled trainers."""

from __future__ import annotations

from wfbench.contract import Cadence, TrainerSpec, hookimpl

from .options import DocumentedOptions, LearnerOptions, OriginalOptions, PpoOptions


def _documented(
    name: str, update: str, steps: int | None, options: type[LearnerOptions] = DocumentedOptions
) -> TrainerSpec:
    """Return the documented PPO; without `steps` its cadence is that of the run."""
    return TrainerSpec(
        name=name,
        summary=f"documented PPO, an update {update}",
        factory="wfbench_trainers.documented:DocumentedPpo",
        options=options,
        cadence=Cadence() if steps is None else Cadence(n_envs=1, steps=steps),
    )


@hookimpl
def wfbench_trainers() -> list[TrainerSpec]:
    """Return our PPO and the documented one in its five cadences."""
    return [
        TrainerSpec(
            name="ppo",
            summary="PPO with GAE, minibatches, annealing: our best",
            factory="wfbench_trainers.ppo:Ppo",
            options=PpoOptions,
        ),
        _documented("ppo-parallel", "from all envs at once (n_envs x 100 steps)", None),
        _documented("ppo-episode", "after each episode of one env (100 steps)", 100),
        _documented("ppo-minibatch", "from 10 episodes of one env (1,000 steps)", 1_000),
        _documented("ppo-sequential", "from 100 episodes of one env (10,000 steps)", 10_000),
        _documented(
            "ppo-original", "every 20,000 steps of one env, six passes", 20_000, OriginalOptions
        ),
    ]
