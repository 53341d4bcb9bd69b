"""How often answers err, over many simulated runs with a known truth."""

from __future__ import annotations

import numpy as np
import pytest
from simulated_sweeps import (
    E_BEFORE_U,
    NOTHING,
    SIGNS,
    concentrated,
    effects_of,
    part_of,
    replicates,
    simulate,
    told,
)

from wfbench.search.answer import find_answer, share_interval
from wfbench.search.answer.best import compare_with_best
from wfbench.search.answer.effects import any_difference, beyond_pairs, pair_effects

EVERY_FIFTH = range(0, 120, 5)


def slack(share: float, count: int) -> float:
    return 3 * float(np.sqrt(share * (1 - share) / count))


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
