"""What learners count, and what they do with the least data: exact numbers."""

from __future__ import annotations

import dataclasses
import time

import numpy as np
import pytest
import torch

from wfbench.contract import EnvInfo, TrainerSetup
from wfbench_trainers import learner as learners
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
    ("rewards", "wanted"),
    [
        ([[3.0]], [0.0]),
        ([[1.0], [3.0]], [-(0.5**0.5), 0.5**0.5]),
        # Their spread is 1e-7, which is added to it before dividing.
        ([[0.0], [1e-7 * 2**0.5]], [-(0.125**0.5), 0.125**0.5]),
    ],
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


def test_an_update_takes_part_of_the_time_around_it(ground):
    g = ground()
    trainer = Ppo(g.setup)
    trainer.start(ORDER)
    rollout = g.rollout(trainer, 5)
    before = time.perf_counter()
    stats = trainer.update(rollout, rollout.rewards)
    assert 0 < stats.seconds <= time.perf_counter() - before


def test_advantages_next_to_nothing_are_not_blown_up(ground):
    """Their spread is exactly what is added to it: 1e-8."""
    g = ground()
    trainer = Ppo(g.setup, gamma=0.0, gae=0.0, epochs=1, minibatches=1, privileged=False)
    trainer.start(ORDER)
    for array in trainer.network.critic[-1]:
        array[:] = 0.0
    rollout = g.rollout(trainer, 2)
    assert not rollout.values.any()
    rewards = np.full(rollout.rewards.shape, 1e-8, dtype=np.float32)
    rewards[0] = -1e-8
    assert 1e-6 < trainer.update(rollout, rewards).values["grad_norm"] < 10


@pytest.mark.parametrize("learner", LEARNERS)
def test_without_a_workflow_there_is_no_condition(learner):
    setup = TrainerSetup(EnvInfo((2, 3), "uint8", 4), seed=1)
    trainer = learner(setup, **({"privileged": False} if learner is Ppo else {}))
    trainer.start(())
    assert trainer.condition.shape == (0,)
    assert trainer.network.actor[0][0].shape == trainer.network.critic[0][0].shape == (64, 6)


def test_log_probabilities_may_differ_by_the_tolerance(ground, monkeypatch):
    g = ground()
    trainer = DocumentedPpo(g.setup)
    trainer.start(ORDER)
    rollout = g.rollout(trainer, 5)
    shifted = dataclasses.replace(rollout, log_probs=rollout.log_probs - np.float32(0.5))
    with pytest.raises(learners.LearningError, match=r"differ from recomputed ones by 0\.5"):
        trainer.gradient(shifted, rollout.rewards)
    targets = trainer._targets(rollout, rollout.rewards)
    batch = trainer._batch(shifted)
    found = trainer._differentiate(batch, targets, trainer._weighting, check=False)
    monkeypatch.setattr(learners, "LOG_PROB_TOLERANCE", found.mismatch)
    assert trainer._differentiate(batch, targets, trainer._weighting) == found
