"""What learners count, and what they do with the least data: exact numbers."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch

from wfbench_trainers.documented import DocumentedPpo
from wfbench_trainers.ppo import Ppo

ORDER = (1, 0, 2, 3, 4)
LEARNERS = [DocumentedPpo, Ppo]


def first_update(g, **options):
    """The numbers of the first update of a new learner, and how far it moved a weight at most."""
    trainer = Ppo(g.setup, **options)
    trainer.start(ORDER)
    before = trainer.network.parts[0]
    kept = trainer.network.flat[before].copy()
    rollout = g.rollout(trainer, 5)
    values = trainer.update(rollout, rollout.rewards).values
    return values, abs(trainer.network.flat[before] - kept).max()


@pytest.mark.parametrize("learner", LEARNERS)
def test_versions_count_starts_and_updates_and_updates_those_since_the_start(ground, learner):
    g = ground()
    trainer = learner(g.setup)
    counted = [trainer.state()["counters"].tolist()]
    for _ in range(2):
        trainer.start(ORDER)
        counted.append(trainer.state()["counters"].tolist())
        for _ in range(2):
            rollout = g.rollout(trainer, 3)
            trainer.update(rollout, rollout.rewards)
            counted.append(trainer.state()["counters"].tolist())
    assert counted == [[0, 0], [1, 0], [2, 1], [3, 2], [4, 0], [5, 1], [6, 2]]


@pytest.mark.parametrize("learner", LEARNERS)
def test_a_learner_that_has_not_learned_yet_goes_on_from_its_state(ground, weights, learner):
    g = ground()
    straight, resumed = learner(g.setup), learner(g.setup)
    straight.start(ORDER)
    resumed.load(straight.state())
    rollout = g.rollout(straight, 5)
    for trainer in (straight, resumed):
        trainer.update(rollout, rollout.rewards)
    assert (weights(straight) == weights(resumed)).all()
    assert resumed.state()["optimiser.0.step"] == straight.state()["optimiser.0.step"] > 0


@pytest.mark.parametrize(
    ("rewards", "wanted"), [([[3.0]], [0.0]), ([[1.0], [3.0]], [-(0.5**0.5), 0.5**0.5])]
)
def test_returns_of_one_or_two_transitions_are_standardised(ground, rewards, wanted):
    g = ground(episode_steps=1)
    trainer = DocumentedPpo(g.setup)
    trainer.start(ORDER)
    rollout = g.rollout(trainer, len(rewards))
    one_env = dataclasses.replace(
        rollout, terminated=rollout.terminated[:, :1], truncated=rollout.truncated[:, :1]
    )
    targets = trainer._targets(one_env, np.array(rewards, dtype=np.float32))
    np.testing.assert_allclose(targets, wanted, rtol=1e-5)


def test_passes_end_at_the_divergence_that_exceeds_the_target(ground):
    g = ground()
    every, _ = first_update(g)
    assert every["epochs"] == 6
    one, _ = first_update(ground(), target_kl=1e-9)
    assert one["epochs"] == 1
    at_the_target, _ = first_update(ground(), target_kl=one["kl"])
    assert at_the_target["epochs"] > 1


def test_a_gradient_is_clipped_to_its_norm_unless_that_is_0(ground):
    _, free = first_update(ground(), max_grad_norm=0.0, epochs=1)
    values, clipped = first_update(ground(), max_grad_norm=1e-13, epochs=1)
    assert clipped < 1e-3 * free
    assert values["grad_norm"] > 1e-6


@pytest.mark.parametrize(("threads", "used"), [(0, 1), (1, 1), (2, 2)])
def test_torch_uses_the_threads_it_is_given_and_one_by_default(ground, threads, used):
    before = torch.get_num_threads()
    try:
        Ppo(ground().setup, backend="torch", threads=threads)
        assert torch.get_num_threads() == used
    finally:
        torch.set_num_threads(before)
