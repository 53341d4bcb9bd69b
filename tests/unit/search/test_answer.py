from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from wfbench.contract import Order, UsageError
from wfbench.orders import all_orders, precedences, unit_pairs
from wfbench.orders.compliance import MIN_CHOICES
from wfbench.search.answer import Answer, PairEffect, find_answer, share_interval
from wfbench.search.answer.best import compare_with_best
from wfbench.search.answer.design import design_of
from wfbench.search.answer.effects import any_difference, beyond_pairs, pair_effects
from wfbench.search.answer.noise import Replicates, replicates_of
from wfbench.search.answer.quantiles import t_quantile
from wfbench.store.sweeps import Sweep

Floats = NDArray[np.float64]
ORDERS = all_orders(5)
PAIRS = unit_pairs(5)
SIGNS = np.array([precedences(order) for order in ORDERS]) / 2
E_BEFORE_U = PAIRS.index((1, 4))
NOTHING = np.zeros(len(PAIRS))
EVERY_FIFTH = range(0, 120, 5)
EVENLY = np.ones(len(PAIRS))
MAINLY_ONE = np.full(len(PAIRS), 0.1)
"""Spread of trainings and episodes by pair where it is mainly in one pair."""
MAINLY_ONE[E_BEFORE_U] = 1.0
QUICK = settings(max_examples=12, deadline=None, derandomize=True)


def effects_of(points: float) -> Floats:
    found = NOTHING.copy()
    found[E_BEFORE_U] = points
    return found


def simulate(
    rng: np.random.Generator,
    trainings: int,
    effects: Floats,
    *,
    between: float = 0.2,
    within: float = 5.0,
    episodes: int = 100,
    extra: Floats | float = 0.0,
    shape: Floats = EVENLY,
    by_pair: float = 0.0,
) -> list[Sweep]:
    """Return sweeps; trainings differ by `between` points per pair, episodes by `within`.

    Episodes also differ by `by_pair` points per pair; both have the `shape`.
    """
    nothing = np.zeros((len(ORDERS), episodes), dtype=np.int64)
    sweeps = []
    for _ in range(trainings):
        mean = -17 + SIGNS @ (effects + shape * rng.normal(0, between, len(PAIRS))) + extra
        noise = rng.normal(0, within, (len(ORDERS), episodes)) + rng.normal(0, 4, episodes)
        if by_pair:
            noise += SIGNS @ (shape[:, None] * rng.normal(0, by_pair, (len(PAIRS), episodes)))
        sweeps.append(Sweep(ORDERS, mean[:, None] + noise, nothing, nothing))
    return sweeps


def concentrated(
    rng: np.random.Generator, trainings: int, effects: Floats, episodes: int = 100
) -> list[Sweep]:
    """Return sweeps with trainings and episodes that differ mainly in one pair."""
    return simulate(
        rng,
        trainings,
        effects,
        between=1.0,
        within=0.5,
        episodes=episodes,
        shape=MAINLY_ONE,
        by_pair=5.0,
    )


def replicates(sweeps: Sequence[Sweep]) -> Replicates:
    return replicates_of(design_of(sweeps[0].orders), [sweep.env_return for sweep in sweeps])


def with_choices(sweep: Sweep, choices: NDArray[np.int64], right: NDArray[np.int64]) -> Sweep:
    return replace(sweep, choices=choices, right=right)


def part_of(sweep: Sweep, indices: Iterable[int]) -> Sweep:
    rows = list(indices)
    orders = tuple(sweep.orders[row] for row in rows)
    return Sweep(orders, sweep.env_return[rows], sweep.choices[rows], sweep.right[rows])


def told(effect: PairEffect) -> tuple[float, float]:
    assert effect.effect is not None
    assert effect.half is not None
    return effect.effect, effect.half


def slack(share: float, count: int) -> float:
    return 3 * float(np.sqrt(share * (1 - share) / count))


# Calibration


@pytest.mark.parametrize("trainings", [2, 3])
@pytest.mark.parametrize(("between", "within"), [(0.05, 10.0), (0.5, 3.0)])
def test_at_most_one_in_twenty_answers_claims_a_difference_where_there_is_none(
    trainings: int, between: float, within: float
) -> None:
    rng = np.random.default_rng((1, trainings))
    claims = 0
    for _ in range(200):
        found = replicates(simulate(rng, trainings, NOTHING, between=between, within=within))
        claims += any_difference(found, 0.95)
    assert claims / 200 <= 0.05 + slack(0.05, 200)


@pytest.mark.parametrize("trainings", [2, 3])
@pytest.mark.parametrize("points", [0.5, 3.6])
def test_the_interval_of_the_pair_that_matters_covers_the_truth(
    trainings: int, points: float
) -> None:
    rng = np.random.default_rng((2, trainings))
    covered = 0
    for _ in range(200):
        found = pair_effects(replicates(simulate(rng, trainings, effects_of(points))), 0.95)
        effect, half = told(found[E_BEFORE_U])
        covered += abs(effect - points) <= half
    assert covered / 200 >= 0.95 - slack(0.95, 200)


@pytest.mark.parametrize("trainings", [2, 3])
@pytest.mark.parametrize("episodes", [2, 100])
def test_answers_are_calibrated_where_noise_is_mainly_in_one_pair(
    trainings: int, episodes: int
) -> None:
    rng = np.random.default_rng((20, trainings))
    claims = covered = together = 0
    for _ in range(100):
        found = replicates(concentrated(rng, trainings, NOTHING, episodes))
        claims += any_difference(found, 0.95)
        all_told = [told(one) for one in pair_effects(found, 0.95)]
        effect, half = all_told[E_BEFORE_U]
        covered += abs(effect) <= half
        together += all(abs(one) <= wide for one, wide in all_told)
    assert claims / 100 <= 0.05 + slack(0.05, 100)
    assert covered / 100 >= 0.95 - slack(0.95, 100)
    assert together / 100 >= 0.95 - slack(0.95, 100)


@pytest.mark.parametrize("trainings", [2, 3])
@pytest.mark.parametrize(("points", "noise"), [(0.5, "even"), (3.6, "even"), (3.6, "one pair")])
def test_any_given_best_order_is_among_those_that_may_be_best(
    trainings: int, points: float, noise: str
) -> None:
    rng = np.random.default_rng((3, trainings))
    ahead = SIGNS[EVERY_FIFTH, E_BEFORE_U] > 0
    kept = bounded = 0
    for _ in range(100):
        effects = effects_of(points)
        if noise == "one pair":
            whole = concentrated(rng, trainings, effects, 40)
        else:
            whole = simulate(rng, trainings, effects, between=0.3, within=3.0, episodes=40)
        found = replicates([part_of(one, EVERY_FIFTH) for one in whole])
        different, raw = any_difference(found, 0.95), beyond_pairs(found, 0.95)
        compared = compare_with_best(found, 0.95, different=different, raw=raw)
        kept += bool(compared.may_be_best[rng.choice(np.flatnonzero(ahead))])
        worse = np.where(ahead, 0.0, points)
        bounded += bool((worse <= compared.worse_by_at_most).all())
    assert kept / 100 >= 0.95 - slack(0.95, 100)
    assert bounded / 100 >= 0.95 - slack(0.95, 100)


def test_one_policy_is_calibrated_over_its_episodes() -> None:
    rng = np.random.default_rng(4)
    claims = sum(
        any_difference(replicates(simulate(rng, 1, NOTHING, between=0.0)), 0.95) for _ in range(200)
    )
    assert claims / 200 <= 0.05 + slack(0.05, 200)


def test_the_share_of_clustered_choices_is_covered() -> None:
    rng = np.random.default_rng(5)
    covered = 0
    for _ in range(300):
        choices = rng.poisson(3, 200)
        chance = rng.beta(1.8, 0.2, 200)
        _, low, high = share_interval(rng.binomial(choices, chance), choices)
        covered += low <= 0.9 <= high
    assert covered / 300 >= 0.95 - slack(0.95, 300)


def test_the_cost_of_following_is_covered_by_two_trainings_of_each() -> None:
    rng = np.random.default_rng(6)
    covered = 0
    for _ in range(100):
        shift = rng.normal(0, 1, 4)
        sweeps = simulate(rng, 2, NOTHING, episodes=5)
        free = simulate(rng, 2, NOTHING, episodes=5)
        for place, sweep in enumerate(sweeps + free):
            sweep.env_return[:] += shift[place]
        cost = find_answer(
            [part_of(sweep, range(4)) for sweep in sweeps],
            free=[part_of(sweep, range(4)) for sweep in free],
        ).cost
        assert cost is not None
        assert cost.about == "orders"
        covered += cost.against_mean.low <= 0 <= cost.against_mean.high
    assert covered / 100 >= 0.95 - slack(0.95, 100)


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
