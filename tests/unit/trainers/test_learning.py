"""The learners: equal to the plain computation, exact in what they keep, honest in numbers."""

from __future__ import annotations

import dataclasses
import subprocess
import sys

import numpy as np
import pytest
import torch

from wfbench.contract import UsageError
from wfbench_trainers.batch import network_inputs
from wfbench_trainers.documented import DocumentedPpo
from wfbench_trainers.learner import LearningError
from wfbench_trainers.options import DocumentedOptions, OriginalOptions, PpoOptions
from wfbench_trainers.plugin import wfbench_trainers
from wfbench_trainers.ppo import Ppo

ORDER = (1, 0, 2, 3, 4)
LEARNERS = [DocumentedPpo, Ppo]


@pytest.mark.parametrize("learner", LEARNERS)
def test_distinct_rows_give_the_same_networks_as_every_transition(ground, weights, learner):
    g = ground()
    grouped, plain = learner(g.setup), learner(g.setup, distinct=False)
    for trainer in (grouped, plain):
        trainer.start(ORDER)
    for _ in range(3):
        rollout = g.rollout(grouped)
        stats = grouped.update(rollout, rollout.rewards)
        plain.update(rollout, rollout.rewards)
        assert stats.values["distinct"] < rollout.transitions / 2
        np.testing.assert_allclose(weights(grouped), weights(plain), atol=3e-5)
        plain.load(grouped.state())


def test_documented_update_equals_an_update_written_out_by_hand(ground, weights, torch_networks):
    g = ground()
    trainer = DocumentedPpo(g.setup)
    trainer.start(ORDER)
    rollout = g.rollout(trainer, 50)
    network = torch_networks(trainer)
    trainer.update(rollout, rollout.rewards)

    optimiser = torch.optim.Adam(network.parameters(), lr=0.002, betas=(0.9, 0.99))
    returns = np.zeros((50, 12))
    for n in range(12):
        running = 0.0
        for t in reversed(range(50)):
            if rollout.truncated[t, n]:
                running = 0.0
            running = rollout.rewards[t, n] + 0.99 * running
            returns[t, n] = running
    code = np.zeros(25, dtype=np.float32)
    for position, unit in enumerate(ORDER):
        code[5 * position + unit] = 1
    inputs = torch.tensor(
        np.concatenate([rollout.obs.reshape(600, 52), np.tile(code, (600, 1))], axis=1),
        dtype=torch.float32,
    )
    returns = torch.tensor(returns.reshape(-1))
    targets = ((returns - returns.mean()) / (returns.std() + 1e-7)).float()
    old = torch.tensor(rollout.log_probs.reshape(-1))
    for _ in range(4):
        distribution = torch.distributions.Categorical(logits=network["actor"](inputs))
        values = network["critic"](inputs).squeeze(1)
        log_probs = distribution.log_prob(torch.tensor(rollout.actions.reshape(-1)))
        ratio = torch.exp(log_probs - old)
        advantage = targets - values.detach()
        surrogate = torch.min(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage)
        mse = torch.nn.functional.mse_loss(values, targets)
        loss = (-surrogate + 0.5 * mse - 0.01 * distribution.entropy()).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    expected = np.concatenate([p.detach().numpy().reshape(-1) for p in network.parameters()])
    away = np.abs(weights(trainer) - expected)
    # Where a gradient is next to nothing, its rounding decides a step of up to the rate of 0.002.
    assert np.quantile(away, 0.999) <= 3e-5
    assert away.mean() <= 1e-6
    assert away.max() <= 4 * 2 * 0.002


def test_the_documented_networks_have_the_documented_size(ground):
    trainer = DocumentedPpo(ground().setup)
    assert trainer.network.flat.size == 27_794


def test_the_documented_cadences_and_settings():
    specs = {spec.name: spec for spec in wfbench_trainers()}
    cadences = {name: (s.cadence.n_envs, s.cadence.steps) for name, s in specs.items()}
    assert cadences == {
        "ppo": (None, None),
        "ppo-parallel": (None, None),
        "ppo-episode": (1, 100),
        "ppo-minibatch": (1, 1_000),
        "ppo-sequential": (1, 10_000),
        "ppo-original": (1, 20_000),
    }
    assert OriginalOptions().epochs == 6
    documented = DocumentedOptions()
    assert (documented.epochs, documented.lr, documented.clip) == (4, 0.002, 0.2)
    assert (documented.gamma, documented.entropy, documented.value_weight) == (0.99, 0.01, 0.5)
    assert DocumentedPpo.betas == (0.9, 0.990)


@pytest.mark.parametrize("learner", LEARNERS)
def test_state_and_load_go_on_as_if_never_interrupted(ground, weights, learner):
    g = ground()
    straight, resumed = learner(g.setup), learner(g.setup)
    straight.start(ORDER)
    rollouts = []
    for _ in range(2):
        rollouts.append(g.rollout(straight))
        straight.update(rollouts[-1], rollouts[-1].rewards)
    resumed.load({name: np.array(value) for name, value in straight.state().items()})
    assert resumed.policy().version == straight.policy().version
    last = g.rollout(straight)
    straight.update(last, last.rewards)
    resumed.update(last, last.rewards)
    assert (weights(straight) == weights(resumed)).all()
    assert straight.state().keys() == resumed.state().keys()


@pytest.mark.parametrize("learner", LEARNERS)
def test_start_inherits_weights_but_not_the_optimiser(ground, weights, learner):
    g = ground()
    trainer = learner(g.setup)
    trainer.start(ORDER)
    first = weights(trainer)
    rollout = g.rollout(trainer)
    trainer.update(rollout, rollout.rewards)
    trained, state = weights(trainer), trainer.state()
    trainer.start((4, 3, 2, 1, 0), inherit=state)
    assert (weights(trainer) == trained).all()
    assert not trainer.optimiser.state()
    assert trainer.condition.reshape(5, 5).argmax(axis=1).tolist() == [4, 3, 2, 1, 0]
    trainer.start(ORDER)
    assert (weights(trainer) == first).all()


@pytest.mark.parametrize("learner", LEARNERS)
def test_every_update_makes_a_new_version_and_the_same_seed_the_same_weights(
    ground, weights, learner
):
    trained = []
    for _ in range(2):
        g = ground()
        trainer = learner(g.setup)
        trainer.start(ORDER)
        versions = []
        for _ in range(3):
            versions.append(trainer.policy().version)
            rollout = g.rollout(trainer)
            assert (rollout.policy_version == versions[-1]).all()
            trainer.update(rollout, rollout.rewards)
        assert versions == sorted(set(versions))
        trained.append(weights(trainer))
    assert (trained[0] == trained[1]).all()


@pytest.mark.parametrize("learner", LEARNERS)
def test_observations_shifted_against_their_actions_are_refused(ground, learner):
    g = ground()
    trainer = learner(g.setup)
    trainer.start(ORDER)
    for _ in range(2):
        rollout = g.rollout(trainer)
        trainer.update(rollout, rollout.rewards)
    rollout = g.rollout(trainer)
    shifted = dataclasses.replace(rollout, obs=np.roll(rollout.obs, 1, axis=0))
    with pytest.raises(LearningError, match="do not belong to the actions"):
        trainer.update(shifted, shifted.rewards)


@pytest.mark.parametrize("learner", LEARNERS)
def test_a_policy_that_lags_behind_is_not_taken_for_a_fault(ground, learner):
    g = ground()
    trainer = learner(g.setup)
    trainer.start(ORDER)
    old = g.rollout(trainer)
    trainer.update(old, old.rewards)
    trainer.update(old, old.rewards)


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_rewards_that_are_not_finite_are_refused(ground, weights, learner, bad):
    g = ground()
    trainer = learner(g.setup)
    trainer.start(ORDER)
    rollout = g.rollout(trainer)
    rewards = rollout.rewards.copy()
    rewards[3, 4] = bad
    before = weights(trainer)
    with pytest.raises(LearningError, match="not finite"):
        trainer.update(rollout, rewards)
    assert (weights(trainer) == before).all()


def test_values_of_the_policy_are_in_units_of_the_rewards(ground):
    g = ground()
    trainer = Ppo(g.setup, anneal=False)
    trainer.start(ORDER)
    for _ in range(30):
        rollout = g.rollout(trainer)
        trainer.update(rollout, rollout.rewards)
    rollout = g.rollout(trainer, 20)
    returns = rollout.rewards.sum()
    assert np.sign(rollout.values[0].mean()) == np.sign(returns)
    ratio = rollout.values[0].mean() / (returns / 12)
    assert 0.3 < ratio < 3


def test_truncation_cuts_or_bootstraps_as_configured(ground):
    g = ground()
    cut = Ppo(g.setup, privileged=False)
    bootstrap = Ppo(g.setup, privileged=False, truncation="bootstrap")
    for trainer in (cut, bootstrap):
        trainer.start(ORDER)
    rollout = g.rollout(cut, 30)
    ended = rollout.truncated
    assert ended.any()
    following_cut, following = (t._following(rollout, rollout.values) for t in (cut, bootstrap))
    assert (following_cut[ended] == 0).all()
    final = network_inputs(rollout.final_obs)
    np.testing.assert_allclose(following[ended], bootstrap._values(final))
    assert (following[ended] != 0).all()
    assert (following[~ended] == following_cut[~ended]).all()
    after = cut._values(network_inputs(rollout.next_obs))
    np.testing.assert_allclose(following[-1][~ended[-1]], after[~ended[-1]])
    terminal = dataclasses.replace(rollout, terminated=ended, truncated=np.zeros_like(ended))
    assert (bootstrap._following(terminal, terminal.values)[ended] == 0).all()


def test_learning_rate_and_entropy_fall_over_the_budget(ground):
    g = ground()
    trainer = Ppo(g.setup, lr=0.01, lr_end=0.1, entropy=0.02, entropy_end=0.0)
    trainer.start(ORDER)
    rates, weights = [], []
    for _ in range(11):
        rollout = g.rollout(trainer, 5)
        weights.append(trainer._entropy_weight())
        trainer.update(rollout, rollout.rewards)
        rates.append(trainer.optimiser.rate)
    passed = [update / 10 for update in range(11)]
    assert rates == pytest.approx([0.01 * (1.0 - 0.9 * share) for share in passed])
    assert weights == pytest.approx([0.02 * (1.0 - share) for share in passed])


@pytest.mark.parametrize(("gae", "gamma"), [(0.9, 0.99), (0.0, 1.0)])
def test_advantages_are_relative_to_their_mean(ground, gae, gamma):
    """In the first pass no probability has moved, so the loss is their mean, with a minus."""
    g = ground()
    trainer = Ppo(g.setup, epochs=1, minibatches=1, gae=gae, gamma=gamma)
    trainer.start(ORDER)
    rollout = g.rollout(trainer)
    assert abs(trainer.update(rollout, rollout.rewards - 50).values["policy_loss"]) < 1e-5


def test_target_kl_ends_the_passes(ground):
    g = ground()
    trainer = Ppo(g.setup, target_kl=1e-9)
    trainer.start(ORDER)
    rollout = g.rollout(trainer)
    assert trainer.update(rollout, rollout.rewards).values["epochs"] == 1


@pytest.mark.parametrize("learner", LEARNERS)
def test_a_learner_gets_better_at_a_task_with_a_known_best_action(ground, learner):
    g = ground(actions="reduced")
    trainer = learner(g.setup)
    trainer.start(ORDER)
    shares = []
    for _ in range(25):
        rollout = g.rollout(trainer, 20)
        good = rollout.actions == 7
        shares.append(good.mean())
        trainer.update(rollout, good.astype(np.float32))
    assert shares[0] < 0.1
    assert shares[-1] > 3 * shares[0] + 0.1


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"lr": 0}, "lr is 0"),
        ({"epochs": 0}, "epochs is 0; it must be at least 1"),
        ({"gamma": 1.5}, "gamma is 1.5; it must be at most 1"),
        ({"clip": -1}, "clip is -1"),
        ({"entropy": float("nan")}, "entropy is nan"),
    ],
)
def test_options_that_make_no_sense_are_refused(options, says):
    for kind in (DocumentedOptions, PpoOptions):
        with pytest.raises(ValueError, match=says):
            kind(**options)
    with pytest.raises(ValueError, match="truncation is 'never'"):
        PpoOptions(truncation="never")


def test_listing_the_trainers_loads_neither_torch_nor_numba():
    code = (
        "import sys, wfbench_trainers.plugin\n"
        "print([m for m in ('torch', 'numba', 'numpy') if m in sys.modules])"
    )
    out = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert out.stdout.strip() == "[]"


@pytest.mark.parametrize("learner", LEARNERS)
def test_a_device_that_is_not_there_is_a_usage_error(ground, learner):
    setup = dataclasses.replace(ground().setup, device="nonsense")
    with pytest.raises(UsageError, match=r"--device nonsense cannot be used: .*; use --device cpu"):
        learner(setup)
