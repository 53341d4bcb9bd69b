"""Trainings that several claims ask for, and what is read off them."""

from __future__ import annotations

from wfbench.contract import TrainCase, TrainSample, WorkflowSample

from .conditions import DEFAULT_ORDER

FEW, MANY = 25, 200
"""Environments of the two documented parallel configurations."""
FULL_BUDGET = {"stop": "budget", "min_episodes": 1, "score": "evaluate:200"}
"""Nothing ends a training early, and all are scored alike."""


def full_training(n_envs: int, episodes: int) -> TrainCase:
    """The documented PPO for so many episodes of each env."""
    return TrainCase(
        trainer="ppo-parallel",
        orders=(DEFAULT_ORDER,),
        settings={"n_envs": n_envs, "max_episodes": episodes, **FULL_BUDGET},
    )


def transitions(samples: list[TrainSample]) -> float:
    """What one update learned from; the same in every round, or it is no number to give."""
    sizes = {last(sample).rollouts.transitions[0] for sample in samples}
    if len(sizes) != 1:
        raise ValueError(f"updates of one case had {sorted(sizes)} transitions")
    return float(sizes.pop())


def last(sample: TrainSample) -> WorkflowSample:
    """Its last order."""
    return sample.workflows[-1]


def score(sample: TrainSample) -> float:
    """What its last order is worth."""
    return last(sample).score
