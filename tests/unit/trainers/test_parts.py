"""Parts of the learners, with answers that were worked out by hand."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from wfbench.contract import Counters, Rollout
from wfbench_trainers.batch import network_inputs
from wfbench_trainers.grouping import group_rows, inputs_of
from wfbench_trainers.networks import ActorCritic, orthogonal, uniform
from wfbench_trainers.options import DocumentedOptions, PpoOptions
from wfbench_trainers.ppo import Ppo
from wfbench_trainers.privileged import SIZE, EpisodeClock, features, with_features

ORDER = (1, 0, 2, 3, 4)


def ending(ends, env_id):
    """A rollout of which only the ends of episodes and the environments matter."""
    truncated = np.array(ends, dtype=np.bool_)
    cells, zeros = truncated.shape, np.zeros(truncated.shape, dtype=np.float32)
    obs = np.zeros((*cells, 1), dtype=np.uint8)
    return Rollout(
        obs=obs,
        actions=np.zeros(cells, dtype=np.int64),
        rewards=zeros,
        terminated=np.zeros(cells, dtype=np.bool_),
        truncated=truncated,
        final_obs=obs[truncated],
        next_obs=obs[0],
        compromised=np.zeros(cells, dtype=np.uint32),
        ended_session=np.zeros(cells, dtype=np.bool_),
        log_probs=zeros,
        values=zeros,
        env_id=np.array(env_id),
        first_step=np.zeros(cells[1], dtype=np.int64),
        policy_version=np.zeros(cells[1], dtype=np.int64),
        counters=Counters(0.0, 0.0, 0.0, 0.0, 0.0),
    )


def test_the_clock_counts_the_steps_of_each_episode():
    clock = EpisodeClock()
    assert clock.ages.tolist() == []
    first = clock.advance(ending([[0, 0], [1, 0], [0, 0]], [0, 2]))
    assert first.tolist() == [[0, 0], [1, 1], [0, 2], [1, 3]]
    assert clock.ages.tolist() == [1, 0, 3]
    second = clock.advance(ending([[0, 0, 1]], [2, 0, 3]))
    assert second.tolist() == [[3, 1, 0], [4, 2, 0]]
    assert clock.ages.tolist() == [2, 0, 4, 0]
    third = clock.advance(ending([[0]], [1]))
    assert third.tolist() == [[0], [1]]
    assert clock.ages.tolist() == [2, 1, 4, 0]


def test_a_critic_sees_32_hosts_and_16_times_of_8_steps():
    masks = np.array([[0, 1, 0b110], [1 << 31, 0, 2**32 - 1]], dtype=np.uint32)
    bits = features(masks, np.array([[0, 7, 8], [119, 120, 5000]]))
    assert bits.shape == (6, SIZE) == (6, 48)
    hosts = [np.flatnonzero(row[:32]).tolist() for row in bits]
    assert hosts == [[], [0], [1, 2], [31], [], list(range(32))]
    assert [np.flatnonzero(row[32:]).tolist() for row in bits] == [[0], [0], [1], [14], [15], [15]]
    rows = with_features(np.full((2, 3, 2), 0.5, dtype=np.float32), bits)
    assert rows.dtype == np.float32
    assert (rows[:, :2] == 0.5).all()
    assert (rows[:, 2:] == bits).all()


def test_transitions_are_grouped_by_their_row():
    row = np.array([2, 0, 2, 4, 0, 2])
    every = group_rows(row, np.arange(6), 5)
    assert every.rows.tolist() == [0, 2, 4]
    assert every.starts.tolist() == [0, 2, 5, 6]
    assert every.order.tolist() == [1, 4, 0, 2, 5, 3]
    some = group_rows(row, np.array([5, 1, 0]), 5)
    assert (some.rows.tolist(), some.starts.tolist()) == ([0, 2], [0, 1, 3])
    assert some.order.tolist() == [1, 5, 0]
    whole = group_rows(row, np.array([5, 1, 0]), 5, empty=True)
    assert whole.rows.tolist() == [0, 1, 2, 3, 4]
    assert whole.starts.tolist() == [0, 1, 1, 3, 3, 3]
    assert whole.order.tolist() == [1, 5, 0]


def test_bits_that_are_set_are_listed_and_other_numbers_are_not():
    bits = np.float32([[0, 1, 1], [0, 0, 0], [1, 0, 1]])
    found = inputs_of(bits)
    assert [array.tolist() for array in found[:2]] == [[0, 2, 2, 4], [1, 2, 0, 2]]
    assert found[2].shape == (0, 3)
    none = inputs_of(np.zeros((2, 3), dtype=np.float32))
    assert [array.tolist() for array in none] == [[0, 0, 0], [], []]
    for other in (0.5, -1.0, 2.0):
        changed = bits.copy()
        changed[2, 1] = other
        plain = inputs_of(changed)
        assert [array.size for array in plain[:2]] == [1, 0]
        assert plain[2] is changed


def test_orthogonal_weights_have_their_gains():
    network = ActorCritic(6, 5, 4, seen=3)
    network.flat[:] = 9.0
    orthogonal(network, np.random.default_rng(0))
    for layers, gains in ((network.actor, (2, 2, 1e-4)), (network.critic, (2, 2, 1))):
        for (weights, biases), gain in zip(layers, gains, strict=True):
            few = weights if weights.shape[0] <= weights.shape[1] else weights.T
            np.testing.assert_allclose(few @ few.T, gain * np.eye(len(few)), atol=1e-6 * gain)
            assert not biases.any()
    assert [weights.shape for weights, _ in network.critic] == [(4, 9), (4, 4), (1, 4)]


def test_weights_have_the_names_that_stored_runs_know():
    network = ActorCritic(2, 3, 4)
    wanted = [
        f"{part}.{number}.{kind}"
        for part in ("actor", "critic")
        for number in (0, 2, 4)
        for kind in ("weight", "bias")
    ]
    named = network.named(network.flat)
    assert list(named) == wanted
    first = [named[f"{part}.0.weight"].shape for part in ("actor", "critic")]
    assert first == [(4, 2), (4, 2)], "a critic sees no more unless it is told to"


def test_uniform_weights_are_within_their_bounds_and_reach_them():
    network = ActorCritic(100, 5, 50)
    uniform(network, np.random.default_rng(0))
    for weights, biases in (*network.actor, *network.critic):
        bound = weights.shape[1] ** -0.5
        assert max(abs(weights).max(), abs(biases).max()) <= bound
        assert -weights.min() > 0.9 * bound
        assert weights.max() > 0.9 * bound
        assert biases.any()


@pytest.mark.parametrize("truncation", ["cut", "bootstrap"])
def test_a_privileged_critic_values_what_follows_by_time_and_state(ground, truncation):
    g = ground()
    trainer = Ppo(g.setup, truncation=truncation)
    trainer.start(ORDER)
    first = g.rollout(trainer, 15)
    trainer.update(first, first.rewards)
    rollout = g.rollout(trainer, 12)
    batch = trainer._batch(rollout)
    values = trainer._present(batch, rollout)
    following = trainer._following(rollout, values)
    age = np.arange(15, 27) % 20
    for step in range(12):
        here = features(rollout.compromised[step], np.full(12, age[step]))
        seen = network_inputs(with_features(rollout.obs[step], here))
        np.testing.assert_allclose(values[step], trainer._values(seen), rtol=1e-5)
    assert (following[:4] == values[1:5]).all()
    assert (following[5:-1] == values[6:]).all()
    assert rollout.truncated[4].all()
    if truncation == "cut":
        assert not following[4].any()
    for obs, step in ((rollout.final_obs, 4), (rollout.next_obs, 11))[truncation == "cut" :]:
        after = features(rollout.compromised[step], np.full(12, age[step] + 1))
        seen = network_inputs(with_features(obs, after))
        np.testing.assert_allclose(following[step], trainer._values(seen), rtol=1e-5)


def test_the_scale_of_returns_is_remembered_and_values_keep_theirs(ground):
    g = ground()
    trainer = Ppo(g.setup)
    trainer.start(ORDER)
    rows = np.random.default_rng(0).random((5, trainer.network.critic[0][0].shape[1] - 25))
    rows = rows.astype(np.float32)
    before = trainer._values(rows)
    trainer._rescale(np.float32([[3.0, -3.0], [3.0, 3.0]]))
    assert trainer.value_scale == pytest.approx(3.0)
    trainer._rescale(np.zeros((2, 2), dtype=np.float32))
    assert trainer.value_scale == pytest.approx(1e-8), "it stays above 0"
    rollout = g.rollout(trainer, 5)
    trainer.update(rollout, rollout.rewards)
    trainer.value_scale = 2.0
    again = trainer._values(rows)
    trainer._rescale(np.float32([[7.0, -7.0]]))
    assert trainer.value_scale == pytest.approx(0.8 * 2.0 + 0.2 * 7.0)
    np.testing.assert_allclose(trainer._values(rows), again, rtol=1e-4)
    assert before.shape == (5,)


def test_without_a_budget_nothing_is_annealed(ground):
    endless = Ppo(dataclasses.replace(ground().setup, expected_updates=None))
    endless.start(ORDER)
    assert endless._progress() == 0.0
    constant = Ppo(ground().setup, anneal=False, lr=0.5)
    constant.start(ORDER)
    constant.updates = 20
    assert constant._progress() == 1.0
    constant._anneal()
    assert constant.optimiser.rate == 0.5


@pytest.mark.parametrize(
    "options",
    [
        {"epochs": 1, "minibatches": 1, "hidden": 1, "gamma": 1.0, "gae": 1.0, "lr_end": 1.0},
        {"gamma": 0.0, "gae": 0.0, "clip": 0.0, "entropy": 0.0, "threads": 0, "lr_end": 0.0},
        {"clip": 1.5, "entropy": 3.0, "lr": 2.0, "max_grad_norm": 7.0, "target_kl": 2.0},
    ],
)
def test_options_at_their_limits_are_taken(options):
    assert {name: getattr(PpoOptions(**options), name) for name in options} == options


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"minibatches": 0}, "minibatches is 0; it must be at least 1"),
        ({"hidden": 0}, "hidden is 0; it must be at least 1"),
        ({"threads": -1}, "threads is -1; it must be a finite number of at least 0"),
        ({"lr": math.inf}, "lr is inf; it must be a finite number of at least 0"),
        ({"gae": 1.01}, "gae is 1.01; it must be at most 1"),
        ({"lr_end": 1.5}, "lr_end is 1.5; it must be at most 1"),
        ({"backend": "jax"}, "backend is 'jax'; it must be one of auto, compiled, torch"),
    ],
)
def test_options_beyond_them_are_refused(options, says):
    with pytest.raises(ValueError, match=says):
        PpoOptions(**options)
    with pytest.raises(ValueError, match="value_weight is -1"):
        DocumentedOptions(value_weight=-1)
