"""Whole workflows at the simulator's costs, timed in the same rounds for several claims."""

from __future__ import annotations

from dataclasses import dataclass

from wfbench.contract import Lab, TrainCase

from .conditions import CYBORG, PIPE_TRUE_STATE, shm_per_env


@dataclass(frozen=True)
class TimedWorkflows:
    """Seconds by round for equally many environment steps, and the size of it all."""

    n_envs: int
    episodes: int
    """Of each env."""
    evaluation: int
    """Episodes of the evaluation after training, where there is one."""
    pipe_true_state: list[float]
    pipe: list[float]
    shm: list[float]
    single: list[float]
    """One env, one episode after the other, an update after each; no evaluation."""
    shm_transitions: int
    """Per update."""
    single_transitions: int


def timed_workflows(lab: Lab) -> TimedWorkflows:
    """Measure them, each in a process of its own."""
    n_envs, episodes, evaluation, rounds = (2, 2, 1, 2) if lab.quick else (25, 3, 2, 3)
    evaluated, told = f"evaluate:{evaluation}", "last-episodes:3"
    single = n_envs * episodes
    samples = lab.train(
        [
            workflow(PIPE_TRUE_STATE, n_envs, episodes, evaluated),
            workflow("pipe", n_envs, episodes, evaluated),
            workflow(shm_per_env(n_envs), n_envs, episodes, told),
            workflow("sequential", 1, single, told, trainer="ppo-episode"),
        ],
        rounds=rounds,
        fresh=True,
    )
    true_state, pipe, shm, alone = ([sample.working for sample in of_case] for of_case in samples)
    sizes = [of_case[0].workflows[0].rollouts.transitions[0] for of_case in samples]
    return TimedWorkflows(
        n_envs=n_envs,
        episodes=episodes,
        evaluation=evaluation,
        pipe_true_state=true_state,
        pipe=pipe,
        shm=shm,
        single=alone,
        shm_transitions=sizes[2],
        single_transitions=sizes[3],
    )


def workflow(
    collector: str, n_envs: int, episodes: int, score: str, trainer: str = "ppo-parallel"
) -> TrainCase:
    """One order, trained for so many episodes of each env."""
    return TrainCase(
        trainer=trainer,
        orders=("0",),
        collector=collector,
        env=CYBORG,
        settings={
            "n_envs": n_envs,
            "max_episodes": episodes,
            "min_episodes": episodes,
            "stop": "budget",
            "score": score,
        },
    )
