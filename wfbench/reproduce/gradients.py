"""How far gradients of independent batches agree at one and the same policy."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from wfbench.contract import (
    Arrays,
    Collector,
    GradientSample,
    Order,
    Rollout,
    Trainer,
    TrainerSetup,
    UsageError,
)
from wfbench.search.job import SearchJob
from wfbench.seeding import Purpose, make_plan, purpose_seed

Floats = NDArray[np.float64]


class GradientProbe:
    """Collects batches with a frozen policy and asks the trainer for the gradient of each."""

    def __init__(
        self, job: SearchJob, state: Arrays, order: Order, *, count: int, part: str
    ) -> None:
        if count < 2:
            raise UsageError(f"{count} batches cannot be compared with each other; take 2 or more")
        self._job = job
        self._state = state
        self._order = order
        self._count = count
        self._part = part

    def sample(self, n_envs: int, episodes: int, number: int, seed: int) -> GradientSample:
        """Batches of `episodes` episodes of each of `n_envs` environments."""
        job = self._job
        collector: Collector = job.collector.build()
        with collector:
            plan = make_plan(job.ref, n_envs, seed, purpose=Purpose.EVALUATION)
            info = collector.open(plan)
            setup = TrainerSetup(
                env=replace(info, workflow=job.model),
                seed=purpose_seed(seed, Purpose.TRAINER),
                device=job.config.device,
            )
            trainer: Trainer = job.trainer.build(setup)
            trainer.start(self._order)
            trainer.load(self._state)
            shaper, policy = job.shaper(self._order), trainer.policy()
            gradients, returns, transitions = [], [], 0
            for _ in range(self._count):
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
            batches=self._count,
            cosine=cosine,
            variance=variance,
            signal=signal,
            env_return=float(np.mean(returns)),
            transitions=transitions,
        )

    def _gradient(self, trainer: Trainer, rollout: Rollout, rewards: NDArray[np.float32]) -> Floats:
        ask = getattr(trainer, "gradient", None)
        if ask is None:
            name = self._job.trainer.spec.name
            raise UsageError(f"trainer {name!r} has no method gradient(rollout, rewards)")
        arrays: Arrays = ask(rollout, rewards)
        chosen = [np.asarray(arrays[n]) for n in sorted(arrays) if n.startswith(self._part)]
        if not chosen:
            names = ", ".join(sorted(arrays))
            raise UsageError(f"no gradient's name starts with {self._part!r}; there are {names}")
        return np.concatenate([array.reshape(-1) for array in chosen]).astype(np.float64)


def agreement(gradients: Floats) -> tuple[float, float, float]:
    """Mean cosine between rows, variance of a row, squared length of what they have in common."""
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
