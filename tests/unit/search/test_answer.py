from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from simulated_sweeps import (
    E_BEFORE_U,
    NOTHING,
    ORDERS,
    PAIRS,
    SIGNS,
    Floats,
    concentrated,
    effects_of,
    part_of,
    replicates,
    simulate,
    told,
)

from wfbench.contract import Order, UsageError
from wfbench.orders.compliance import MIN_CHOICES
from wfbench.search.answer import Answer, design, find_answer, share_interval
from wfbench.search.answer.effects import beyond_pairs, pair_effects
from wfbench.search.answer.quantiles import t_quantile
from wfbench.store.sweeps import Sweep

QUICK = settings(max_examples=12, deadline=None, derandomize=True)


def with_choices(sweep: Sweep, choices: NDArray[np.int64], right: NDArray[np.int64]) -> Sweep:
    return replace(sweep, choices=choices, right=right)


# Properties


@QUICK
@given(
    st.integers(0, 1000), st.permutations(range(5)), st.integers(1, 3), st.sampled_from([40, 120])
)
def test_relabelling_units_permutes_the_effects(
    seed: int, names: list[int], trainings: int, size: int
) -> None:
    rng = np.random.default_rng(seed)
    rows = np.sort(rng.permutation(120)[:size])
    effects = rng.normal(0, 1, len(PAIRS))
    sweeps = [part_of(one, rows) for one in simulate(rng, trainings, effects, episodes=4)]
    renamed = [
        replace(one, orders=tuple(tuple(names[unit] for unit in order) for order in one.orders))
        for one in sweeps
    ]
    before, after = find_answer(sweeps).effects, find_answer(renamed).effects
    by_pair = {(one.first, one.second): one for one in after}
    for one in before:
        first, second = names[one.first], names[one.second]
        other = by_pair[min(first, second), max(first, second)]
        assert (one.effect is None) == (other.effect is None)
        if one.effect is not None:
            effect, half = told(other)
            assert (effect if first < second else -effect) == pytest.approx(one.effect, abs=1e-6)
            assert half == pytest.approx(one.half, rel=0.1)


@QUICK
@given(st.integers(0, 1000), st.integers(-500, 500), st.integers(1, 3))
def test_a_constant_changes_nothing_but_means(seed: int, constant: int, trainings: int) -> None:
    rng = np.random.default_rng(seed)
    sweeps = simulate(rng, trainings, effects_of(1.0), episodes=6)
    shifted = [replace(one, env_return=one.env_return + constant) for one in sweeps]
    before, after = find_answer(sweeps), find_answer(shifted)
    for one, other in zip(before.effects, after.effects, strict=True):
        assert told(other) == pytest.approx(told(one), abs=1e-6)
    assert (after.verdict, after.best, after.beyond_pairs) == (
        before.verdict,
        before.best,
        before.beyond_pairs,
    )
    assert after.mean_return == pytest.approx(before.mean_return + constant, abs=1e-6)
    assert after.variance.episodes == pytest.approx(before.variance.episodes, abs=1e-6)
    assert after.largest_difference == pytest.approx(before.largest_difference, abs=1e-6)


@QUICK
@given(st.integers(0, 1000), st.integers(1, 3), st.integers(1, 120), st.floats(0, 3))
def test_an_answer_about_any_orders_is_sound(
    seed: int, trainings: int, size: int, between: float
) -> None:
    rng = np.random.default_rng(seed)
    rows = rng.permutation(120)[:size]
    sweeps = []
    for whole in simulate(rng, trainings, rng.normal(0, 1, 10), between=between, episodes=3):
        choices = rng.poisson(rng.uniform(0, 5), whole.env_return.shape)
        right = rng.binomial(choices, rng.uniform(0, 1))
        sweeps.append(part_of(with_choices(whole, choices, right), rows))
    answer = find_answer(sweeps, free=sweeps)
    json.dumps(asdict(answer), allow_nan=False)
    means = {one.order: one.mean for one in answer.orders}
    assert max(means, key=lambda order: means[order]) in answer.best
    assert answer.best_order in answer.best
    assert answer.best == tuple(one.order for one in answer.orders if one.may_be_best)
    shares = asdict(answer.variance).values()
    assert sum(share for share in shares if share is not None) == pytest.approx(1)
    assert all(share is None or 0 <= share <= 1 for share in shares)
    for one in answer.orders:
        assert 0 <= one.share_low <= (one.share_right or 0) <= 1 or one.share_right is None
        assert one.worse_by_at_most >= 0
    summary = answer.choices
    assert sorted(summary.followed + summary.untested + summary.not_followed) == sorted(means)


@QUICK
@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), min_size=1, max_size=40))
def test_a_share_is_within_its_interval(episodes: list[tuple[int, int]]) -> None:
    choices = np.array([max(one) for one in episodes])
    right = np.array([min(one) for one in episodes])
    share, low, high = share_interval(right, choices)
    if share is None:
        assert not choices.any()
        assert (low, high) == (0, 1)
    else:
        assert share == pytest.approx(right.sum() / choices.sum())
        assert 0 <= low <= share <= high <= 1
        assert high - low > 0


# Effects and verdicts


def test_the_pair_that_matters_is_named_and_halves_the_orders() -> None:
    rng = np.random.default_rng(7)
    answer = find_answer(simulate(rng, 3, effects_of(3.6), between=0.05, episodes=300))
    assert answer.verdict == "difference"
    assert answer.about == "orders"
    assert [(one.first, one.second) for one in answer.effects if one.significant] == [(1, 4)]
    assert set(answer.best) == {one for one in ORDERS if one.index(1) < one.index(4)}
    assert told(answer.effects[E_BEFORE_U])[0] == pytest.approx(3.6, abs=0.2)


def test_no_difference_gives_every_order_and_a_bound() -> None:
    answer = find_answer(simulate(np.random.default_rng(8), 2, NOTHING))
    assert answer.verdict == "no-difference"
    assert answer.best == ORDERS
    assert answer.largest_effect == max(abs(e) + h for e, h in map(told, answer.effects))
    assert answer.largest_difference == max(one.worse_by_at_most for one in answer.orders) > 0


def test_one_training_is_provisional_and_about_the_policy() -> None:
    answer = find_answer(simulate(np.random.default_rng(9), 1, effects_of(3.6)))
    assert (answer.verdict, answer.about, answer.different) == ("provisional", "this policy", True)
    assert answer.variance.trainings is None
    assert answer.variance.trainings_by_orders is None
    assert answer.variance.orders is not None


@pytest.mark.parametrize("trainings", [1, 2])
@pytest.mark.parametrize("value", [0.0, -0.1, 1e7 / 3])
def test_equal_returns_claim_nothing(trainings: int, value: float) -> None:
    nothing = np.zeros((120, 7), dtype=np.int64)
    answer = find_answer([Sweep(ORDERS, np.full((120, 7), value), nothing, nothing)] * trainings)
    assert not answer.different
    assert answer.best == ORDERS
    assert all(told(one) == (0, 0) and not one.significant for one in answer.effects)
    assert answer.largest_difference == 0
    assert {share for share in asdict(answer.variance).values() if share is not None} == {0}


def test_exact_differences_need_no_spread() -> None:
    nothing = np.zeros((120, 3), dtype=np.int64)
    returns = np.repeat((SIGNS @ effects_of(2.0))[:, None], 3, axis=1)
    answer = find_answer([Sweep(ORDERS, returns, nothing, nothing)] * 2)
    effect, half = told(answer.effects[E_BEFORE_U])
    assert effect == pytest.approx(2)
    assert half == 0
    assert len(answer.best) == 60


def test_differences_beyond_pairs_are_compared_by_raw_means() -> None:
    lone = np.zeros(120)
    lone[17] = 4.0
    sweeps = simulate(np.random.default_rng(10), 2, effects_of(1.5), between=0.05, extra=lone)
    answer = find_answer(sweeps)
    assert answer.beyond_pairs
    assert answer.best_order == ORDERS[17]
    assert answer.orders[17].estimate == pytest.approx(answer.orders[17].mean)


ONE_APART = np.where(np.arange(120) == 17, 3.0, 0.0)
ALL_A_LITTLE = np.where(np.random.default_rng(3).random(120) < 0.5, 0.8, -0.8)


@pytest.mark.parametrize("extra", [ONE_APART, ALL_A_LITTLE], ids=["one apart", "all a little"])
def test_one_order_apart_and_many_a_little_apart_are_both_beyond_pairs(extra: Floats) -> None:
    """The largest residual alone shows the one, the sum of the squares alone the other."""
    rng = np.random.default_rng(10)
    assert beyond_pairs(replicates(simulate(rng, 2, NOTHING, between=0.05, extra=extra)), 0.95)


def test_only_pairs_that_the_orders_can_tell_have_an_effect() -> None:
    sweeps = simulate(np.random.default_rng(11), 2, effects_of(3.6), between=0.05)
    named = [ORDERS.index(one) for one in ((0, 1, 2, 3, 4), (0, 1, 2, 4, 3), (0, 1, 4, 2, 3))]
    answer = find_answer([part_of(one, named) for one in sweeps])
    known = {(one.first, one.second) for one in answer.effects if one.effect is not None}
    assert known == {(3, 4), (2, 4)}


def test_orders_whose_pairs_cannot_be_told_apart_are_still_compared() -> None:
    sweeps = simulate(np.random.default_rng(12), 3, effects_of(9.0), between=0.05, within=1.0)
    answer = find_answer([part_of(one, [0, 119]) for one in sweeps])
    assert all(one.effect is None for one in answer.effects)
    assert answer.largest_effect is None
    assert answer.verdict == "difference"
    assert answer.best == (ORDERS[0],)


def test_each_pair_has_the_interval_of_its_own_noise() -> None:
    answer = find_answer(concentrated(np.random.default_rng(21), 2, effects_of(3.6), 200))
    halves = [told(one)[1] for one in answer.effects]
    others = np.delete(halves, E_BEFORE_U)
    assert halves[E_BEFORE_U] > 4 * others.max()


def test_trainings_that_differ_without_spread_of_episodes_are_pooled_over_pairs() -> None:
    rng = np.random.default_rng(22)
    sweeps = [
        replace(one, env_return=np.repeat(one.env_return.mean(axis=1, keepdims=True), 4, axis=1))
        for one in simulate(rng, 2, NOTHING)
    ]
    single = [replace(one, env_return=one.env_return[:, :1]) for one in sweeps]
    halves = [told(one)[1] for one in pair_effects(replicates(sweeps), 0.95)]
    assert halves == pytest.approx([halves[0]] * len(PAIRS))
    assert halves == pytest.approx(
        [told(one)[1] for one in pair_effects(replicates(single), 0.95)], rel=1e-6
    )


def test_equal_trainings_keep_the_noise_of_their_episodes() -> None:
    sweep = simulate(np.random.default_rng(23), 1, NOTHING)[0]
    assert all(told(one)[1] > 0 for one in find_answer([sweep, sweep]).effects)


def test_whichever_basis_a_decomposition_finds_the_same_one_is_used() -> None:
    found = design.design_of(ORDERS)
    for basis in (found.pairs, found.positions, found.cycles, found.rest):
        count = basis.shape[1]
        turn, _ = np.linalg.qr(np.random.default_rng(count).normal(size=(count, count)))
        assert design._settled(basis @ turn) == pytest.approx(basis, abs=1e-9)
        assert basis.T @ basis == pytest.approx(np.eye(count), abs=1e-12)


# Variance, choices and cost


def test_variance_is_attributed_to_its_source() -> None:
    rng = np.random.default_rng(13)
    sweeps = simulate(rng, 40, effects_of(4.0), between=0.5, within=3.0, episodes=10)
    for sweep in sweeps:
        sweep.env_return[:] += rng.normal(0, 2)
    found = find_answer(sweeps).variance
    parts = np.array([4.0, 4.0, 2.5 * 0.25, 9.0 + 16.0])  # orders, trainings, both, episodes
    shares = [found.orders, found.trainings, found.trainings_by_orders, found.episodes]
    assert shares == pytest.approx(list(parts / parts.sum()), abs=0.06)


def answer_with(choices: Sequence[int], right: Sequence[int]) -> Answer:
    """Return the answer about orders that have these choices in each of 20 episodes."""
    whole = part_of(simulate(np.random.default_rng(14), 1, NOTHING, episodes=20)[0], range(3))
    made, good = (np.repeat(np.array(one)[:, None], 20, axis=1) for one in (choices, right))
    return find_answer([with_choices(whole, made, good)])


def test_orders_are_followed_not_followed_or_untested() -> None:
    answer = answer_with([20, 20, 2], [19, 18, 2])
    summary = answer.choices
    assert summary.followed == (ORDERS[0],)
    assert summary.not_followed == (ORDERS[1],)
    assert summary.untested == (ORDERS[2],)
    assert answer.orders[2].choices < MIN_CHOICES
    assert summary.share_right == pytest.approx(39 / 42)
    assert not answer.few_choices


def test_without_choices_all_is_untested() -> None:
    answer = answer_with([0, 0, 0], [0, 0, 0])
    assert answer.few_choices
    assert answer.choices.share_right is None
    assert len(answer.choices.untested) == 3


def test_a_perfect_record_counts_once_per_episode() -> None:
    choices = np.full(100, 5)
    share, low, high = share_interval(choices, choices)
    assert (share, high) == (1, 1)
    assert low == pytest.approx(100 / (100 + 1.96**2), abs=0.002)


def test_the_cost_is_about_policies_unless_both_kinds_have_two_trainings() -> None:
    rng = np.random.default_rng(15)
    sweeps = simulate(rng, 2, effects_of(3.6))
    free = simulate(rng, 1, NOTHING, extra=3.0)
    cost = find_answer(sweeps, free=free).cost
    assert cost is not None
    assert cost.about == "this policy"
    assert cost.against_mean.low < 3.0 < cost.against_mean.high
    assert cost.against_best.value == pytest.approx(cost.against_mean.value - 1.8, abs=0.7)
    assert find_answer(sweeps).cost is None


def test_a_cost_without_spread_is_refused() -> None:
    rng = np.random.default_rng(18)
    sweeps = simulate(rng, 2, NOTHING, episodes=3)
    with pytest.raises(UsageError, match="2 episodes per order"):
        find_answer(sweeps, free=simulate(rng, 1, NOTHING, episodes=1))
    single = simulate(rng, 2, NOTHING, episodes=1)
    with pytest.raises(UsageError, match="or 2 trainings of each"):
        find_answer(single, free=single[:1])
    of_trainings = find_answer(single, free=single).cost
    of_episodes = find_answer(sweeps, free=simulate(rng, 1, NOTHING, episodes=2)).cost
    assert of_trainings is not None
    assert of_episodes is not None
    assert (of_trainings.about, of_episodes.about) == ("orders", "this policy")
    lost = replace(sweeps[0], env_return=sweeps[0].env_return * np.nan)
    with pytest.raises(UsageError, match="free policy"):
        find_answer(sweeps, free=[lost])


# Input


def test_orders_may_come_in_any_sequence() -> None:
    sweeps = simulate(np.random.default_rng(16), 2, effects_of(1.0))
    shuffled = [sweeps[0], part_of(sweeps[1], np.random.default_rng(0).permutation(120))]
    assert find_answer(shuffled) == find_answer(sweeps)


def bad_sweeps() -> dict[str, list[Sweep]]:
    sweep = part_of(simulate(np.random.default_rng(17), 1, NOTHING, episodes=3)[0], range(4))
    first = [one[:, :1] for one in (sweep.choices, sweep.right)]
    one_episode = Sweep(sweep.orders, sweep.env_return[:, :1], *first)
    twice: tuple[Order, ...] = (sweep.orders[0],) * 4
    return {
        "at least one sweep": [],
        "same orders": [sweep, part_of(sweep, [0, 1])],
        "each order once": [replace(sweep, orders=twice)],
        "not fit": [replace(sweep, env_return=sweep.env_return[:2])],
        "same shape": [replace(sweep, choices=sweep.choices[:, :2])],
        "must have the same shape": [replace(sweep, right=sweep.right[:, :2])],
        "returns of shape": [replace(sweep, env_return=sweep.env_return[:, :0])],
        "or fewer than none": [replace(sweep, right=sweep.right - 1)],
        "finite": [replace(sweep, env_return=sweep.env_return * np.nan)],
        "more right choices": [replace(sweep, right=sweep.right + 1)],
        "at least 2 episodes": [one_episode],
    }


@pytest.mark.parametrize("message", list(bad_sweeps()))
def test_sweeps_that_do_not_fit_are_refused(message: str) -> None:
    with pytest.raises(UsageError, match=message):
        find_answer(bad_sweeps()[message])


@pytest.mark.parametrize(
    ("df", "expected"), [(1, 12.706), (2, 4.303), (2.5, 3.575), (10, 2.228), (30_000, 1.960)]
)
def test_quantiles_of_t(df: float, expected: float) -> None:
    assert t_quantile(0.95, df) == pytest.approx(expected, rel=2e-3)
