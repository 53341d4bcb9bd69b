"""A laboratory whose answers are chosen by the test."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

import pytest

from wfbench.benchmarks.statistics.intervals import mean_estimate, ratio_estimate
from wfbench.contract import (
    CollectCase,
    CollectSample,
    GradientSample,
    Interval,
    Rollouts,
    TrainCase,
    TrainSample,
    WorkflowSample,
)

WOBBLE = (1.0, 1.02, 0.98, 1.01, 0.99, 1.0, 1.02, 0.98)
"""The noise of each round, the same for all that is compared in it."""


def workflow(**changes: Any) -> WorkflowSample:
    """A finished workflow with what the test is about."""
    known: dict[str, Any] = {
        "order": "D>E>S>H>U",
        "status": "budget",
        "compliant": False,
        "compliance": 0.5,
        "score": -100.0,
        "score_sd": 10.0,
        "score_episodes": 600,
        "updates": 10,
        "env_steps": 100_000,
        "evaluation_steps": 0,
        "steps_to_compliance": None,
        "rollouts": Rollouts((100,), (100,), (0.5,), (-100.0,)),
    }
    return WorkflowSample(**known | changes)


def rollouts(transitions: int = 100, compliance: Sequence[float] = (0.5,)) -> Rollouts:
    """Rollouts of equal size with this compliance."""
    count = len(compliance)
    steps = tuple(transitions * (i + 1) for i in range(count))
    return Rollouts(steps, (transitions,) * count, tuple(compliance), (-100.0,) * count)


def trained(
    *workflows: WorkflowSample, seconds: float = 10.0, search: float = 0.0, memory: float = 0
) -> TrainSample:
    """A training that took so long."""
    phases = {"env": seconds, "search": search, "start_up": 0, "store": 0, "observers": 0}
    return TrainSample(0, 0, tuple(workflows) or (workflow(),), phases, int(memory))


class ChosenLab:
    """Answers with what it was given: a rate, a training or a variance for a case."""

    seed = 0

    def __init__(
        self,
        *,
        rate: Callable[[CollectCase], float] | None = None,
        train: Callable[[TrainCase, int], TrainSample] | None = None,
        variance: Callable[[int, int], float] | None = None,
        cores: int = 64,
        quick: bool = False,
    ) -> None:
        self._rate, self._train, self._variance = rate, train, variance
        self.cores = cores
        self.quick = quick

    def collect(
        self, cases: Sequence[CollectCase], *, rounds: int, steps: int, seconds: float
    ) -> list[list[CollectSample]]:
        assert self._rate is not None
        assert seconds > 0
        return [
            [
                CollectSample(
                    round=r,
                    seed=r,
                    transitions=steps * case.n_envs,
                    vector_steps=steps,
                    wall=steps * case.n_envs / (self._rate(case) * WOBBLE[r]),
                    cpu=steps * case.n_envs / self._rate(case),
                    memory=1,
                    start_up=0.1,
                )
                for r in range(rounds)
            ]
            for case in cases
        ]

    def train(
        self, cases: Sequence[TrainCase], *, rounds: int, fresh: bool = False
    ) -> list[list[TrainSample]]:
        assert self._train is not None
        assert isinstance(fresh, bool)
        return [[self._train(case, r) for r in range(rounds)] for case in cases]

    def gradients(
        self,
        case: TrainCase,
        batches: Sequence[tuple[int, int]],
        *,
        count: int,
        rounds: int,
        part: str = "",
    ) -> list[list[GradientSample]]:
        assert self._variance is not None
        assert case.trainer.startswith("ppo")
        assert part == "actor"
        return [
            [
                GradientSample(
                    round=r,
                    seed=r,
                    n_envs=n_envs,
                    episodes=episodes,
                    batches=count,
                    cosine=0.5,
                    variance=self._variance(n_envs, episodes) * WOBBLE[r],
                    signal=1.0,
                    env_return=-100.0,
                    transitions=100 * n_envs * episodes,
                )
                for r in range(rounds)
            ]
            for n_envs, episodes in batches
        ]

    def mean(self, values: Sequence[float]) -> Interval:
        return Interval(**asdict(mean_estimate(values)))

    def ratio(self, values: Sequence[float], reference: Sequence[float]) -> Interval:
        return Interval(**asdict(ratio_estimate(values, reference)))


@pytest.fixture
def chosen_lab() -> type[ChosenLab]:
    return ChosenLab


@pytest.fixture
def make_workflow() -> Callable[..., WorkflowSample]:
    return workflow


@pytest.fixture
def make_rollouts() -> Callable[..., Rollouts]:
    return rollouts


@pytest.fixture
def make_training() -> Callable[..., TrainSample]:
    return trained
