from __future__ import annotations

import random

import numpy as np
import pytest
import torch

from wfbench.contract import Acts, Counters, EnvInfo, Rollout, TrainerSetup, WorkflowModel
from wfbench_sb3.options import PpoOptions
from wfbench_sb3.ppo import LearningError, Sb3Ppo

MODEL = WorkflowModel(("a", "b"), ("a0", "b0"), (0, 1), (-1, 0, 1))
SETUP = TrainerSetup(EnvInfo((4,), "uint8", 3, MODEL), seed=3)
STEPS, ENVS = 32, 8


def rollout(trainer: Sb3Ppo, number: int) -> Rollout:
    """Episodes of one step; which action is right follows from the first feature."""
    rng = np.random.default_rng([1, number])
    obs = rng.integers(0, 2, (STEPS, ENVS, 4)).astype(np.uint8)
    policy = trainer.policy()
    acts = Acts(
        *(
            np.stack(part)
            for part in zip(
                *(policy.act(rows, rng.random(ENVS)) for rows in obs),
                strict=True,
            )
        )
    )
    nothing = np.zeros((STEPS, ENVS), np.bool_)
    return Rollout(
        obs=obs,
        actions=acts.actions,
        rewards=(acts.actions == 1 + obs[:, :, 0]).astype(np.float32),
        terminated=~nothing,
        truncated=nothing,
        final_obs=obs.reshape(-1, 4),
        next_obs=obs[0],
        compromised=np.zeros((STEPS, ENVS), np.uint32),
        ended_session=nothing,
        log_probs=acts.log_probs,
        values=acts.values,
        env_id=np.arange(ENVS),
        first_step=np.zeros(ENVS, np.int64),
        policy_version=np.full(ENVS, policy.version),
        counters=Counters(1.0, 1.0, 0.0, 0.0, 0.0),
    )


def test_it_learns_what_is_rewarded():
    trainer = Sb3Ppo(SETUP, lr=0.003)
    trainer.start((0, 1))
    rewards = []
    for number in range(12):
        data = rollout(trainer, number)
        rewards.append(float(data.rewards.mean()))
        trainer.update(data, data.rewards)
    assert rewards[0] < 0.5
    assert np.mean(rewards[-3:]) > 0.8


def test_it_learns_from_the_rewards_it_is_given_rather_than_the_rollouts():
    trainer = Sb3Ppo(SETUP, lr=0.003)
    trainer.start((0, 1))
    for number in range(12):
        data = rollout(trainer, number)
        trainer.update(data, (data.actions == 0).astype(np.float32))
    assert (rollout(trainer, 99).actions == 0).mean() > 0.8


def test_the_order_is_in_the_observation():
    trainer = Sb3Ppo(SETUP)
    trainer.start((1, 0))
    policy = trainer.policy()
    assert policy.condition.tolist() == [0, 1, 1, 0]
    assert policy.obs_size == 4


def test_where_an_episode_is_cut_off_the_value_of_its_end_is_added():
    trainer = Sb3Ppo(SETUP)
    trainer.start((0, 1))
    data = rollout(trainer, 0)
    cut = trainer._cut_off(data)
    assert not cut.any()
    swapped = Rollout(**{**vars(data), "terminated": data.truncated, "truncated": data.terminated})
    expected = trainer.policy().act(data.final_obs, np.zeros(len(data.final_obs))).values
    assert trainer._cut_off(swapped).reshape(-1) == pytest.approx(expected, abs=1e-5)


def test_global_random_state_is_left_as_it_was():
    def state():
        return random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state().tolist()  # noqa: NPY002

    before = state()
    trainer = Sb3Ppo(SETUP)
    trainer.start((0, 1))
    data = rollout(trainer, 0)
    trainer.update(data, data.rewards)
    assert state() == before


def test_a_reward_that_is_not_finite_is_refused():
    trainer = Sb3Ppo(SETUP)
    trainer.start((0, 1))
    data = rollout(trainer, 0)
    with pytest.raises(LearningError, match="a reward is not finite"):
        trainer.update(data, np.full_like(data.rewards, np.nan))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"lr": 0.0}, "lr is 0"),
        ({"batch_size": 1}, "at least 2"),
        ({"gamma": 1.5}, "at most 1"),
        ({"entropy": -1.0}, "from 0 up"),
    ],
)
def test_bad_options_are_refused(given, message):
    with pytest.raises(ValueError, match=message):
        PpoOptions(**given)
