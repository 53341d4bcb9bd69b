"""What this package tells wfbench."""

from __future__ import annotations

from wfbench.contract import Cadence, TrainerSpec, hookimpl

from .options import DocumentedOptions, OriginalOptions, PpoOptions

_DOCUMENTED = "wfbench_trainers.documented:DocumentedPpo"


@hookimpl
def wfbench_trainers() -> list[TrainerSpec]:
    """PPO in the documented cadences, and in ours."""
    return [
        TrainerSpec(
            name="ppo",
            summary="PPO with GAE, minibatches, annealing: our best",
            factory="wfbench_trainers.ppo:Ppo",
            options=PpoOptions,
        ),
        TrainerSpec(
            name="ppo-parallel",
            summary="documented PPO, an update from all envs at once (n_envs x 100 steps)",
            factory=_DOCUMENTED,
            options=DocumentedOptions,
        ),
        TrainerSpec(
            name="ppo-episode",
            summary="documented PPO, an update after each episode of one env (100 steps)",
            factory=_DOCUMENTED,
            options=DocumentedOptions,
            cadence=Cadence(n_envs=1, steps=100),
        ),
        TrainerSpec(
            name="ppo-minibatch",
            summary="documented PPO, an update from 10 episodes of one env (1,000 steps)",
            factory=_DOCUMENTED,
            options=DocumentedOptions,
            cadence=Cadence(n_envs=1, steps=1_000),
        ),
        TrainerSpec(
            name="ppo-sequential",
            summary="documented PPO, an update from 100 episodes of one env (10,000 steps)",
            factory=_DOCUMENTED,
            options=DocumentedOptions,
            cadence=Cadence(n_envs=1, steps=10_000),
        ),
        TrainerSpec(
            name="ppo-original",
            summary="documented PPO, an update every 20,000 steps of one env, six passes",
            factory=_DOCUMENTED,
            options=OriginalOptions,
            cadence=Cadence(n_envs=1, steps=20_000),
        ),
    ]
