"""Measure how well gradients of independent batches agree at one policy."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from wfbench.collecting.seeding import Purpose, make_plan, purpose_seed
from wfbench.contract import (
    Arrays,
    Collector,
    EnvInfo,
    GradientSample,
    Order,
    Rollout,
    Trainer,
    TrainerSetup,
    UsageError,
)
from wfbench.search.job import SearchJob

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class GradientProbe:
    """A frozen policy, and how often and for which part its gradients are sampled."""

    job: SearchJob
    state: Arrays
    order: Order
    count: int
    part: str

    def __post_init__(self) -> None:
        if self.count < 2:
            raise UsageError(
                f"{self.count} batches cannot be compared with each other; take 2 or more"
            )

    def sample(self, n_envs: int, episodes: int, number: int, seed: int) -> GradientSample:
        """Collect batches of `episodes` episodes of each env and compare their gradients."""
        job = self.job
        collector: Collector = job.collector.build()
        with collector:
            plan = make_plan(job.ref, n_envs, seed, purpose=Purpose.EVALUATION)
            trainer = self._trainer(collector.open(plan), seed)
            shaper, policy = job.shaper(self.order), trainer.policy()
            gradients, returns, transitions = [], [], 0
            for _ in range(self.count):
                rollout = collector.collect(policy, episodes * job.episode_steps)
                shaped = shaper.shape(rollout)
                gradients.append(self._gradient(trainer, rollout, shaped.rewards))
                returns.append(float(shaped.episodes.env_return.mean()))
                transitions = rollout.transitions
        cosine, variance, signal = agreement(np.stack(gradients))
        return GradientSample(
            round=number,
            seed=seed,
            n_envs=n_envs,
            episodes=episodes,
            batches=self.count,
            cosine=cosine,
            variance=variance,
            signal=signal,
            env_return=float(np.mean(returns)),
            transitions=transitions,
        )

    def _trainer(self, info: EnvInfo, seed: int) -> Trainer:
        setup = TrainerSetup(
            env=replace(info, workflow=self.job.model),
            seed=purpose_seed(seed, Purpose.TRAINER),
            device=self.job.config.device,
        )
        trainer: Trainer = self.job.trainer.build(setup)
        trainer.start(self.order)
        trainer.load(self.state)
        return trainer

    def _gradient(self, trainer: Trainer, rollout: Rollout, rewards: NDArray[np.float32]) -> Floats:
        ask = getattr(trainer, "gradient", None)
        if ask is None:
            name = self.job.trainer.spec.name
            raise UsageError(f"trainer {name!r} has no method gradient(rollout, rewards)")
        arrays: Arrays = ask(rollout, rewards)
        chosen = [np.asarray(arrays[n]) for n in sorted(arrays) if n.startswith(self.part)]
        if not chosen:
            names = ", ".join(sorted(arrays))
            raise UsageError(f"no gradient's name starts with {self.part!r}; there are {names}")
        return np.concatenate([array.reshape(-1) for array in chosen]).astype(np.float64)


def agreement(gradients: Floats) -> tuple[float, float, float]:
    """Return the mean cosine between rows, their variance, and the squared length of the mean."""
    count = len(gradients)
    lengths = np.linalg.norm(gradients, axis=1, keepdims=True)
    unit = gradients / np.where(lengths > 0, lengths, 1.0)
    cosines = unit @ unit.T
    mean = gradients.mean(axis=0)
    variance = float(np.square(gradients - mean).sum() / (count - 1))
    return (
        float((cosines.sum() - np.trace(cosines)) / (count * (count - 1))),
        variance,
        float(mean @ mean) - variance / count,
    )
