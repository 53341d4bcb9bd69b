from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wfbench.contract import CollectError, EnvInfo, UsageError, WorkflowModel
from wfbench.policies import NetworkPolicy, RandomPolicy

OBS, ACTIONS = 52, 145


def binary_rows(count: int, distinct: int = 40, seed: int = 1) -> np.ndarray:
    rng = np.random.default_rng(seed)
    pool = (rng.random((distinct, OBS)) < 0.2).astype(np.uint8)
    return pool[rng.integers(0, distinct, count)]


def draws(count: int, seed: int = 2) -> np.ndarray:
    return np.random.default_rng(seed).random(count)


def untabled(policy: NetworkPolicy) -> NetworkPolicy:
    return NetworkPolicy(policy.actor, policy.critic, condition=policy.condition, table_rows=0)


def forward64(layers, rows: np.ndarray) -> np.ndarray:
    for index, (weights, biases) in enumerate(layers):
        rows = rows @ weights.astype(np.float64) + biases.astype(np.float64)
        if index + 1 < len(layers):
            rows = np.tanh(rows)
    return rows


def reference(policy: NetworkPolicy, obs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    rows = obs.reshape(len(obs), -1).astype(np.float64)
    condition = np.broadcast_to(
        policy.condition.astype(np.float64), (len(rows), len(policy.condition))
    )
    rows = np.concatenate([rows, condition], axis=1)
    logits = forward64(policy.actor, rows)
    logits -= logits.max(axis=1, keepdims=True)
    log_probs = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    return log_probs, forward64(policy.critic, rows)[:, 0]


def same(left, right) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(left, right, strict=True))


@pytest.mark.parametrize("dtype", [np.uint8, np.bool_, np.float32, np.float64, np.int64])
@pytest.mark.parametrize("hidden", [(64, 64), (8,), ()])
@pytest.mark.parametrize("conditioned", [False, True])
def test_equals_a_plain_float64_evaluation(dtype, hidden, conditioned):
    condition = np.eye(5, dtype=np.float32).ravel() if conditioned else None
    policy = NetworkPolicy.initial(OBS, ACTIONS, 3, hidden=hidden, condition=condition)
    obs, u = binary_rows(300).astype(dtype), draws(300)
    acts = policy.act(obs, u)
    log_probs, values = reference(policy, obs)
    rows = np.arange(300)
    np.testing.assert_allclose(acts.log_probs, log_probs[rows, acts.actions], atol=2e-5)
    np.testing.assert_allclose(acts.values, values, atol=2e-5)
    cdf = np.cumsum(np.exp(log_probs), axis=1)
    below = np.where(acts.actions > 0, cdf[rows, acts.actions - 1], 0.0)
    assert (below <= u + 1e-5).all()
    assert (cdf[rows, acts.actions] >= u - 1e-5).all()


@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
@pytest.mark.parametrize("value", [2, 3, 255])
def test_inputs_other_than_bits_count_by_their_value(dtype, value):
    policy = NetworkPolicy.initial(OBS, 7, 3, hidden=(8,))
    obs = binary_rows(40, distinct=40).astype(dtype)
    obs[::2] *= dtype(value)
    obs[1::4, 5] = value
    acts = policy.act(obs, draws(40))
    log_probs, values = reference(policy, obs)
    found = log_probs[np.arange(40), acts.actions]
    np.testing.assert_allclose(acts.log_probs, found, atol=2e-5, rtol=2e-5)
    np.testing.assert_allclose(acts.values, values, atol=2e-5, rtol=2e-5)


def test_actions_follow_the_distribution():
    policy = NetworkPolicy.initial(OBS, 6, 0)
    obs = np.repeat(binary_rows(1), 60_000, axis=0)
    actions = policy.act(obs, draws(60_000)).actions
    expected = np.exp(reference(policy, obs[:1])[0][0])
    np.testing.assert_allclose(np.bincount(actions, minlength=6) / 60_000, expected, atol=0.01)


@settings(max_examples=30)
@given(st.lists(st.integers(0, 119), min_size=1, max_size=60), st.integers(0, 2**32))
def test_a_row_is_the_same_bits_in_any_batch_with_any_table(picks, seed):
    policy = NetworkPolicy.initial(OBS, ACTIONS, 5)
    obs, u = binary_rows(120, distinct=90, seed=seed), draws(120, seed=seed + 1)
    whole = policy.act(obs, u)
    tiny = NetworkPolicy(policy.actor, policy.critic, table_rows=7)
    for other in (policy, tiny, untabled(policy)):
        part = other.act(obs[picks], u[picks])
        assert same(part, [column[picks] for column in whole])


@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
def test_the_table_grows_holds_each_distinct_row_once_and_changes_nothing(dtype):
    size, distinct = 4096, 1500
    policy = NetworkPolicy.initial(size, ACTIONS, 5, hidden=(8,))
    rng = np.random.default_rng(0)
    obs = rng.integers(0, 200, (2 * distinct, size), dtype=np.uint8).astype(dtype)
    obs[distinct:] = obs[:distinct]
    u = draws(2 * distinct)
    first = policy.act(obs[:1], u[:1])
    [(table, *_)] = policy._tables.values()
    assert table.capacity == 2**21 // (8 * (size * obs.itemsize // 8 + ACTIONS)) < distinct
    acts = policy.act(obs, u)
    assert same(acts, untabled(policy).act(obs, u))
    assert same(first, [column[:1] for column in acts])
    assert policy.distinct_rows == distinct
    assert table.capacity >= distinct


def test_a_full_table_goes_on_without_storing():
    policy = NetworkPolicy.initial(OBS, ACTIONS, 5)
    bounded = NetworkPolicy(policy.actor, policy.critic, table_rows=10)
    obs, u = binary_rows(500, distinct=100), draws(500)
    assert same(bounded.act(obs, u), policy.act(obs, u))
    assert bounded.distinct_rows == 10
    assert untabled(policy).distinct_rows == 0


def test_rows_with_the_same_bits_but_other_values_are_told_apart():
    policy = NetworkPolicy.initial(OBS, ACTIONS, 5)
    ones = binary_rows(20, distinct=20)
    obs = np.concatenate([ones, 2 * ones, 255 * ones])
    u = draws(60)
    assert same(policy.act(obs, u), untabled(policy).act(obs, u))
    assert policy.distinct_rows == len(np.unique(obs, axis=0))


def test_observations_of_several_dimensions():
    policy = NetworkPolicy.initial(12, 4, 0)
    obs = np.random.default_rng(0).random((9, 3, 4))
    assert same(policy.act(obs, draws(9)), policy.act(obs.reshape(9, 12), draws(9)))


def test_extreme_draws_choose_possible_actions():
    weights = np.zeros((2, 4), dtype=np.float32)
    biases = np.array([-200.0, 0.0, 0.0, -200.0], dtype=np.float32)
    critic = (np.zeros((2, 1), dtype=np.float32), np.zeros(1, dtype=np.float32))
    policy = NetworkPolicy([(weights, biases)], [critic])
    u = np.array([0.0, np.nextafter(1.0, 0.0)])
    assert policy.act(np.zeros((2, 2), dtype=np.uint8), u).actions.tolist() == [1, 2]


@pytest.mark.parametrize("policy", [RandomPolicy(7, 3), NetworkPolicy.initial(OBS, 7, 1)])
def test_a_snapshot_restores_the_same_policy(policy):
    snapshot = policy.snapshot()
    restored = snapshot.policy()
    obs, u = binary_rows(50), draws(50)
    assert restored.version == policy.version
    assert same(restored.act(obs, u), policy.act(obs, u))


def test_a_snapshot_keeps_condition_version_and_table_bound():
    start = NetworkPolicy.initial(OBS, 7, 1, condition=np.ones(3, dtype=np.float32))
    policy = NetworkPolicy(
        start.actor, start.critic, version=9, condition=start.condition, table_rows=5
    )
    restored = policy.snapshot().policy()
    assert restored.version == 9
    obs, u = binary_rows(50), draws(50)
    assert same(restored.act(obs, u), start.act(obs, u))
    assert restored.distinct_rows == 5


def test_another_condition_of_the_same_size_is_taken():
    start = NetworkPolicy.initial(OBS, 7, 1, condition=np.ones(3, dtype=np.float32))
    other = np.array([0.5, -1.0, 2.0], dtype=np.float32)
    obs, u = binary_rows(50), draws(50)
    wanted = NetworkPolicy(start.actor, start.critic, condition=other).act(obs, u)
    assert same(start.conditioned(other).act(obs, u), wanted)
    with pytest.raises(UsageError, match="takes a condition of 3 numbers, not of 2"):
        start.conditioned(other[:2])


def test_a_policy_keeps_its_own_weights():
    start = NetworkPolicy.initial(OBS, 7, 1)
    weights = [(w.copy(), b.copy()) for w, b in start.actor]
    policy = NetworkPolicy(weights, start.critic)
    for pair in weights:
        pair[0].fill(1)
    obs, u = binary_rows(50), draws(50)
    assert same(policy.act(obs, u), start.act(obs, u))


def test_weights_that_are_not_finite_are_refused_when_acting():
    start = NetworkPolicy.initial(OBS, 7, 1)
    actor = [(w * np.nan, b) for w, b in start.actor]
    with pytest.raises(CollectError, match="gives no probabilities"):
        NetworkPolicy(actor, start.critic).act(binary_rows(3), draws(3))
    obs = np.full((3, OBS), np.nan, dtype=np.float32)
    with pytest.raises(CollectError, match="gives no probabilities"):
        start.act(obs, draws(3))


def test_misuse_is_named():
    policy = NetworkPolicy.initial(OBS, 7, 1)
    with pytest.raises(UsageError, match="takes 52 features but the observation has 51"):
        policy.act(binary_rows(3)[:, :51], draws(3))
    with pytest.raises(UsageError, match="2 draws were given for 3"):
        policy.act(binary_rows(3), draws(2))
    with pytest.raises(UsageError, match="layer 1 of the actor"):
        NetworkPolicy([policy.actor[0], policy.actor[0]], policy.critic)
    with pytest.raises(UsageError, match="the condition has 60 numbers"):
        NetworkPolicy(policy.actor, policy.critic, condition=np.ones(60, dtype=np.float32))
    with pytest.raises(UsageError, match="has 52 numbers but the networks take only 52 inputs"):
        NetworkPolicy(policy.actor, policy.critic, condition=np.ones(52, dtype=np.float32))
    with pytest.raises(UsageError, match="table_rows is -1; it must not be negative"):
        NetworkPolicy(policy.actor, policy.critic, table_rows=-1)
    with pytest.raises(UsageError, match="the actor has no layers"):
        NetworkPolicy([], policy.critic)
    with pytest.raises(UsageError, match="layer 0 of the critic"):
        NetworkPolicy(policy.actor, [(np.ones((OBS, 1)), np.ones(2))])
    with pytest.raises(UsageError, match="the critic must have one output"):
        NetworkPolicy(policy.actor, policy.actor)
    with pytest.raises(UsageError, match="take inputs of different sizes"):
        NetworkPolicy(policy.actor, NetworkPolicy.initial(OBS + 1, 7, 1).critic)
    with pytest.raises(UsageError, match="layer 0 of the actor"):
        NetworkPolicy([(np.ones((OBS, 7, 1)), np.ones((7, 1)))], policy.critic)
    with pytest.raises(UsageError, match="num_actions is 0"):
        RandomPolicy(0)


def test_the_smallest_policies_are_taken_and_have_what_is_usual():
    network = NetworkPolicy.initial(1, 1, 0, condition=np.ones(3, dtype=np.float32))
    found = (network.obs_size, network.num_actions, network.version, network.table_rows)
    assert found == (1, 1, 0, 32768)
    chance = RandomPolicy(1)
    assert chance.version == 0
    assert chance.act(np.zeros((2, 1)), np.array([0.0, 0.9])).actions.tolist() == [0, 0]


@pytest.mark.parametrize(
    ("shape", "dtype", "actions", "fits"),
    [
        ((OBS,), "uint8", 7, True),
        ((OBS,), "float32", 8, True),
        ((OBS,), "uint8", 6, False),
        ((OBS,), "float64", 7, False),
        ((OBS + 1,), "uint8", 7, False),
        ((OBS, 1), "uint8", 7, False),
    ],
)
def test_which_environments_a_network_plays_by_itself(shape, dtype, actions, fits):
    model = WorkflowModel(("a",), ("h",), (0,), (-1, *[0] * (actions - 1)))
    assert NetworkPolicy.initial(OBS, 7, 1).can_play(EnvInfo(shape, dtype, actions, model)) == fits


def test_random_policy_is_uniform_and_in_range():
    policy = RandomPolicy(ACTIONS)
    u = np.concatenate([draws(50_000), [0.0, np.nextafter(1.0, 0.0)]])
    acts = policy.act(np.zeros((len(u), 1)), u)
    assert acts.actions[-2:].tolist() == [0, ACTIONS - 1]
    assert np.bincount(acts.actions, minlength=ACTIONS).min() > 250
    np.testing.assert_allclose(acts.log_probs, -np.log(ACTIONS), rtol=1e-6)
    assert not acts.values.any()


def test_numba_is_loaded_only_by_a_network_that_acts():
    code = (
        "import sys, numpy as np\n"
        "from wfbench.policies import NetworkPolicy, RandomPolicy\n"
        "RandomPolicy(3).act(np.zeros((1, 2)), np.zeros(1))\n"
        "policy = NetworkPolicy.initial(2, 3, 0)\n"
        "assert 'numba' not in sys.modules\n"
        "policy.act(np.zeros((1, 2)), np.zeros(1))\n"
        "assert 'numba' in sys.modules and 'torch' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=100)


def test_networks_have_two_layers_of_64_unless_told_otherwise():
    policy = NetworkPolicy.initial(5, 3, 0)
    for layers, outputs in ((policy.actor, 3), (policy.critic, 1)):
        assert [weights.shape for weights, _ in layers] == [(5, 64), (64, 64), (64, outputs)]
