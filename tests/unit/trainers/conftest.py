"""Rollouts of the real environment for the learners to learn from."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch

from wfbench.collecting.seeding import env_seeds
from wfbench.contract import EnvRef, Plan, Rollout, TrainerSetup
from wfbench_collectors.vector import VectorCollector

ORDER = (0, 1, 2, 3, 4)


class Ground:
    """A collector on CAGE-2, and what a trainer needs to know of it."""

    def __init__(self, **options: Any) -> None:
        env = EnvRef(
            "cage2",
            "wfbench_cage2.env:Cage2Env",
            "wfbench_cage2.batch:Cage2Batch",
            {"red": "meander", "episode_steps": 20, **options},
        )
        self.collector = VectorCollector(threads=1)
        self.info = self.collector.open(Plan(env, 12, env_seeds(3, 12)))
        self.setup = TrainerSetup(self.info, seed=5, expected_updates=10)

    def rollout(self, trainer: Any, steps: int = 40) -> Rollout:
        return self.collector.collect(trainer.policy(), steps)


@pytest.fixture
def ground() -> Iterator[Callable[..., Ground]]:
    opened: list[Ground] = []

    def make(**options: Any) -> Ground:
        opened.append(Ground(**options))
        return opened[-1]

    yield make
    for one in opened:
        one.collector.close()


@pytest.fixture
def weights() -> Callable[[Any], np.ndarray]:
    return lambda trainer: trainer.network.flat.copy()


@pytest.fixture
def torch_networks() -> Callable[[Any], torch.nn.ModuleDict]:
    """A copy of a trainer's networks for torch to run and differentiate by itself."""

    def perceptron(layers: Any) -> torch.nn.Sequential:
        parts: list[Any] = []
        for weights, biases in layers:
            linear = torch.nn.Linear(weights.shape[1], weights.shape[0])
            linear.weight.data = torch.tensor(weights)
            linear.bias.data = torch.tensor(biases)
            parts += [linear, torch.nn.Tanh()]
        return torch.nn.Sequential(*parts[:-1])

    def made(trainer: Any) -> torch.nn.ModuleDict:
        network = trainer.network
        parts = {"actor": perceptron(network.actor), "critic": perceptron(network.critic)}
        return torch.nn.ModuleDict(parts)

    return made
