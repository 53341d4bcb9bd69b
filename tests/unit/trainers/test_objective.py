"""The objective worked out by hand, against torch differentiating its definition."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np
import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st

from wfbench_trainers.objective import Transitions, Weighting, objective

UNIT = np.finfo(np.float32).eps / 2
"""Relative error of one float32 rounding."""
EXPONENTIAL = 6
"""Roundings in one exponential: the kernel promises about 7 digits."""


def drawn(seed, rows, actions, count, moved):
    rng = np.random.default_rng(seed)
    logits = rng.normal(0, 2, (rows, actions)).astype(np.float32)
    row, value_row = rng.integers(0, rows, (2, count))
    action = rng.integers(0, actions, count)
    old = torch.log_softmax(torch.tensor(logits), 1).numpy()[row, action]
    data = Transitions(
        row,
        value_row,
        action,
        (old + rng.normal(0, moved, count)).astype(np.float32),
        rng.random(count) < 0.5,
    )
    values, advantages, targets = (
        rng.normal(0, 3, size).astype(np.float32) for size in (rows, count, count)
    )
    return logits, values, data, advantages, targets


@dataclass(frozen=True)
class Exact:
    """What torch makes of the definition in float64, each number with its error bound."""

    parts: np.ndarray
    by_logits: np.ndarray
    by_values: np.ndarray
    parts_bound: np.ndarray
    by_logits_bound: np.ndarray
    by_values_bound: np.ndarray


def rounding(roundings, size):
    """Bound what that many float32 roundings change in a sum whose summands' sizes add up to size.

    Each changes one partial sum, which is at most `size`, by UNIT of it. The 10 % is for products
    of errors, and 1e-12 for the float64 arithmetic of both sides.
    """
    return 1.1 * UNIT * np.asarray(roundings) * size + 1e-12 * (1 + np.asarray(size))


def per_row(data, rows, weights=None):
    return np.bincount(data.row, weights, minlength=rows)


def per_choice(data, shape, weights=None):
    cells = data.row * shape[1] + data.action
    return np.bincount(cells, weights, minlength=shape[0] * shape[1]).reshape(shape)


def exact(logits, values, data, advantages, targets, weighting):
    wide = torch.tensor(logits, dtype=torch.float64, requires_grad=True)
    wide_values = torch.tensor(values, dtype=torch.float64, requires_grad=True)
    gain, goal = (torch.tensor(array, dtype=torch.float64) for array in (advantages, targets))
    choice = torch.distributions.Categorical(logits=wide[data.row])
    moved = choice.log_prob(torch.tensor(data.action)) - torch.tensor(data.old_log_probs)
    ratio = moved.exp()
    held = ratio.clamp(1 - weighting.clip, 1 + weighting.clip)
    policy_loss = -torch.minimum(ratio * gain, held * gain).mean()
    errors = wide_values[data.value_row] - goal
    value_loss = errors.square().mean()
    entropy = choice.entropy().mean()
    loss = policy_loss + weighting.value * value_loss - weighting.entropy * entropy
    by_logits, by_values = torch.autograd.grad(loss, (wide, wide_values))
    kl = (ratio - 1 - moved).mean()
    mismatch = (moved.abs() * torch.tensor(data.fresh)).max()
    parts = np.array([part.item() for part in (policy_loss, value_loss, entropy, kl, mismatch)])

    # From here on: how far float32 may be away from that.
    rows, count = len(logits), len(data)
    probs = torch.softmax(wide.detach(), 1).numpy()
    depth = np.abs(logits - logits.max(1, keepdims=True))
    exponential = depth + EXPONENTIAL  # rounding x by UNIT * x changes e**x by x roundings
    total = (probs * exponential).sum(1)  # roundings of the sum of exponentials
    mean_depth = (probs * depth).sum(1)
    off_entropy = rounding(
        total * (1 + mean_depth) + (probs * depth * (exponential + 2)).sum(1), 1.0
    )
    off = rounding(total[data.row], 1.0)  # of a log-probability, so of a ratio relatively
    ratio, errors = ratio.detach().numpy(), errors.detach().numpy()
    pull = np.abs(ratio * advantages) / count
    parts_bound = np.array(
        [
            (pull * off).sum(),
            rounding(3, np.square(errors).mean()),
            off_entropy[data.row].mean(),
            (np.abs(ratio - 1) * off + ratio * off**2).mean(),
            off.max(),
        ]
    )
    # A ratio this near the end of its range may be on either side of it.
    edges = np.abs(ratio[:, None] - [1 - weighting.clip, 1 + weighting.clip])
    undecided = pull * (edges <= (ratio * off)[:, None]).any(1)
    weight = weighting.entropy * per_row(data, rows) / count
    size = weight * (2 * np.abs(logits).max(1) + 2 * np.log(probs.shape[1]))
    size += per_row(data, rows, pull)
    off_row = rounding(total, size) + weight * off_entropy + per_row(data, rows, undecided)
    own = per_choice(data, logits.shape, pull)
    added = per_choice(data, logits.shape) + (exponential + total[:, None] + 5)
    by_logits_bound = (
        rounding(added, own + probs * size[:, None])
        + probs * off_row[:, None]
        + per_choice(data, logits.shape, pull * off + undecided)
    )
    sizes = 2 * weighting.value * np.abs(errors) / count
    of_value = np.bincount(data.value_row, minlength=rows)
    added_up = np.bincount(data.value_row, sizes, minlength=rows)
    by_values_bound = rounding(of_value + 1, added_up)
    return Exact(
        parts,
        by_logits.numpy(),
        by_values.numpy(),
        parts_bound + 1e-12 * (1 + np.abs(parts)),
        by_logits_bound,
        by_values_bound,
    )


def assert_within(found, wanted):
    numbers = [found.policy_loss, found.value_loss, found.entropy, found.kl, found.mismatch]
    for name, got in (
        ("parts", np.array(numbers)),
        ("by_logits", found.by_logits),
        ("by_values", found.by_values),
    ):
        away = np.abs(got - getattr(wanted, name))
        bound = getattr(wanted, f"{name}_bound")
        assert (away <= bound).all(), f"{name}: {np.max(away / bound):.3g} times the bound"


@settings(max_examples=60)
@given(
    seed=st.integers(0, 2**32),
    rows=st.integers(1, 30),
    actions=st.integers(1, 40),
    count=st.integers(1, 200),
    moved=st.sampled_from([0.0, 0.05, 0.5]),
    clip=st.floats(0.01, 0.5),
    entropy=st.floats(0.0, 0.1),
)
@example(seed=14, rows=1, actions=10, count=177, moved=0.0, clip=0.5, entropy=0.0)
def test_it_equals_what_torch_makes_of_the_definition(
    seed, rows, actions, count, moved, clip, entropy
):
    given_data = drawn(seed, rows, actions, count, moved)
    weighting = Weighting(clip, 0.5, entropy)
    assert_within(objective(*given_data, weighting), exact(*given_data, weighting))


PLANTED = {
    "policy loss with another sign": lambda made: replace(made, policy_loss=-made.policy_loss),
    "value loss off by 1e-4": lambda made: replace(made, value_loss=made.value_loss * 1.0001),
    "entropy off by 1e-4": lambda made: replace(made, entropy=made.entropy * 1.0001),
    "kl off by 1e-4": lambda made: replace(made, kl=made.kl * 1.0001),
    "mismatch off by 1e-4": lambda made: replace(made, mismatch=made.mismatch * 1.0001),
    "by_logits off by 1e-4": lambda made: replace(made, by_logits=made.by_logits * 1.0001),
    "by_logits with another sign": lambda made: replace(made, by_logits=-made.by_logits),
    "by_values off by 1e-4": lambda made: replace(made, by_values=made.by_values * 1.0001),
    "by_values with another sign": lambda made: replace(made, by_values=-made.by_values),
}


@pytest.mark.parametrize("shape", [(1, 10, 177), (30, 40, 200), (5, 3, 20)])
@pytest.mark.parametrize("error", PLANTED)
def test_a_planted_error_is_beyond_the_bounds(error, shape):
    given_data, weighting = drawn(3, *shape, 0.5), Weighting(0.2, 0.5, 0.01)
    made, wanted = objective(*given_data, weighting), exact(*given_data, weighting)
    assert_within(made, wanted)
    with pytest.raises(AssertionError, match="times the bound"):
        assert_within(PLANTED[error](made), wanted)


@pytest.mark.parametrize(
    "dropped", [Weighting(1e9, 0.5, 0.01), Weighting(0.2, 0.0, 0.01), Weighting(0.2, 0.5, 0.0)]
)
def test_a_dropped_term_is_beyond_the_bounds(dropped):
    given_data = drawn(3, 30, 40, 200, 0.5)
    wanted = exact(*given_data, Weighting(0.2, 0.5, 0.01))
    with pytest.raises(AssertionError, match="times the bound"):
        assert_within(objective(*given_data, dropped), wanted)


def test_a_transition_left_out_is_beyond_the_bounds():
    logits, values, data, advantages, targets = drawn(3, 30, 40, 200, 0.5)
    weighting = Weighting(0.2, 0.5, 0.01)
    wanted = exact(logits, values, data, advantages, targets, weighting)
    fewer = Transitions(*(getattr(data, field.name)[1:] for field in fields(data)))
    made = objective(logits, values, fewer, advantages[1:], targets[1:], weighting)
    with pytest.raises(AssertionError, match="times the bound"):
        assert_within(made, wanted)


def test_nothing_pulls_where_the_ratio_left_the_range_on_the_good_side():
    logits = np.array([[1.0, 0.0]], dtype=np.float32)
    log_prob = float(torch.log_softmax(torch.tensor(logits), 1)[0, 0])
    data = Transitions(
        np.array([0]),
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
