"""The objective worked out by hand, against torch differentiating its definition."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from wfbench_trainers.objective import Transitions, Weighting, objective


def drawn(seed, rows, actions, count, moved):
    rng = np.random.default_rng(seed)
    logits = rng.normal(0, 2, (rows, actions)).astype(np.float32)
    row = rng.integers(0, rows, count)
    action = rng.integers(0, actions, count)
    old = torch.log_softmax(torch.tensor(logits), 1).numpy()[row, action]
    data = Transitions(
        row,
        action,
        (old + rng.normal(0, moved, count)).astype(np.float32),
        rng.random(count) < 0.5,
    )
    values, advantages, targets = (
        rng.normal(0, 3, size).astype(np.float32) for size in (rows, count, count)
    )
    return logits, values, data, advantages, targets


def by_torch(logits, values, data, advantages, targets, weighting):
    logits = torch.tensor(logits, dtype=torch.float64, requires_grad=True)
    values = torch.tensor(values, dtype=torch.float64, requires_grad=True)
    gain, goal = (torch.tensor(array, dtype=torch.float64) for array in (advantages, targets))
    choice = torch.distributions.Categorical(logits=logits[data.row])
    moved = choice.log_prob(torch.tensor(data.action)) - torch.tensor(data.old_log_probs)
    ratio = moved.exp()
    held = ratio.clamp(1 - weighting.clip, 1 + weighting.clip)
    policy_loss = -torch.minimum(ratio * gain, held * gain).mean()
    value_loss = (values[data.row] - goal).square().mean()
    entropy = choice.entropy().mean()
    loss = policy_loss + weighting.value * value_loss - weighting.entropy * entropy
    by_logits, by_values = torch.autograd.grad(loss, (logits, values))
    kl = (ratio - 1 - moved).mean()
    mismatch = (moved.abs() * torch.tensor(data.fresh)).max()
    parts = [part.item() for part in (policy_loss, value_loss, entropy, kl, mismatch)]
    return parts, by_logits.numpy(), by_values.numpy()


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    rows=st.integers(1, 30),
    actions=st.integers(1, 40),
    count=st.integers(1, 200),
    moved=st.sampled_from([0.0, 0.05, 0.5]),
    clip=st.floats(0.01, 0.5),
    entropy=st.floats(0.0, 0.1),
)
def test_it_equals_what_torch_makes_of_the_definition(
    seed, rows, actions, count, moved, clip, entropy
):
    given_data = drawn(seed, rows, actions, count, moved)
    weighting = Weighting(clip, 0.5, entropy)
    found = objective(*given_data, weighting)
    parts, by_logits, by_values = by_torch(*given_data, weighting)
    numbers = [found.policy_loss, found.value_loss, found.entropy, found.kl, found.mismatch]
    np.testing.assert_allclose(numbers, parts, rtol=1e-5, atol=2e-6)
    np.testing.assert_allclose(found.by_logits, by_logits, atol=1e-6)
    np.testing.assert_allclose(found.by_values, by_values, atol=1e-6)


def test_nothing_pulls_where_the_ratio_left_the_range_on_the_good_side():
    logits = np.array([[1.0, 0.0]], dtype=np.float32)
    log_prob = float(torch.log_softmax(torch.tensor(logits), 1)[0, 0])
    data = Transitions(
        np.array([0]),
        np.array([0]),
        np.array([log_prob - 1.0], dtype=np.float32),
        np.array([False]),
    )
    zero, weighting = np.zeros(1, dtype=np.float32), Weighting(0.2, 0.5, 0.0)
    better = objective(logits, zero, data, zero + 1, zero, weighting)
    worse = objective(logits, zero, data, zero - 1, zero, weighting)
    assert not better.by_logits.any()
    assert better.policy_loss == pytest.approx(-1.2)
    assert worse.by_logits[0, 0] > 0
    assert worse.policy_loss == pytest.approx(np.e, rel=1e-5)


@pytest.mark.parametrize("place", ["logits", "values", "old"])
def test_a_number_that_is_none_is_not_hidden(place):
    logits, values, data, advantages, targets = drawn(1, 4, 5, 30, 0.1)
    {"logits": logits[2], "values": values, "old": data.old_log_probs}[place][:] = np.nan
    found = objective(logits, values, data, advantages, targets, Weighting(0.2, 0.5, 0.01))
    assert not np.isfinite([found.policy_loss, found.value_loss, found.entropy]).all()


def test_a_certain_policy_has_no_gradient_too_small_to_work_with():
    logits, values, data, advantages, targets = drawn(2, 6, 9, 50, 0.0)
    logits *= 60
    found = objective(logits, values, data, advantages, targets, Weighting(0.2, 0.5, 0.01))
    sizes = np.abs(found.by_logits[found.by_logits != 0])
    assert sizes.min() > np.finfo(np.float32).tiny
