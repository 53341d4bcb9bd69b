"""Known answers of returns and advantages."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from wfbench_trainers.returns import discounted_returns, gae_advantages


def column(*values, dtype=np.float32):
    return np.array(values, dtype=dtype).reshape(-1, 1)


def test_returns_stop_at_the_end_of_an_episode():
    rewards = column(1, 2, 4, 8, 16)
    ended = column(0, 1, 0, 0, 0, dtype=bool)
    got = discounted_returns(rewards, ended, 0.5)
    assert got[:, 0].tolist() == [2, 2, 4 + 4 + 4, 8 + 8, 16]


def test_gae_with_lambda_1_is_the_return_minus_the_value():
    rng = np.random.default_rng(0)
    rewards, values = rng.normal(size=(2, 30, 4)).astype(np.float32)
    ended = rng.random((30, 4)) < 0.2
    ended[-1] = True
    following = np.vstack([values[1:], values[:1]])
    following[ended] = 0
    got = gae_advantages(rewards, values, following, ended, 0.9, 1.0)
    expected = discounted_returns(rewards, ended, 0.9) - values
    np.testing.assert_allclose(got, expected, rtol=2e-4, atol=1e-5)


def test_gae_with_lambda_0_is_the_one_step_error():
    rewards, values, following = column(1, 2, 3), column(4, 5, 6), column(5, 6, 7)
    ended = column(0, 0, 1, dtype=bool)
    got = gae_advantages(rewards, values, following, ended, 0.5, 0.0)
    assert got[:, 0].tolist() == [1 + 2.5 - 4, 2 + 3 - 5, 3 + 3.5 - 6]


@settings(max_examples=50)
@given(cut=st.integers(1, 19), seed=st.integers(0, 1000))
def test_nothing_bleeds_into_the_next_episode_or_back(cut, seed):
    rng = np.random.default_rng(seed)
    rewards, values = rng.normal(size=(2, 20, 1)).astype(np.float32)
    ended = np.zeros((20, 1), dtype=bool)
    ended[cut - 1] = True
    following = np.vstack([values[1:], np.zeros((1, 1))]).astype(np.float32)
    following[ended] = 0
    whole = gae_advantages(rewards, values, following, ended, 0.99, 0.95)
    first = gae_advantages(rewards[:cut], values[:cut], following[:cut], ended[:cut], 0.99, 0.95)
    assert (whole[:cut] == first).all()
    changed = rewards.copy()
    changed[cut:] += 100
    again = gae_advantages(changed, values, following, ended, 0.99, 0.95)
    assert (again[:cut] == first).all()
    returns = discounted_returns(changed, ended, 0.99)
    assert (returns[:cut] == discounted_returns(rewards, ended, 0.99)[:cut]).all()
