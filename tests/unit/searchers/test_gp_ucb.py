"""The Gaussian process: exact where it can be checked, and a searcher that uses it."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

from wfbench.contract import Order, Outcome, SearcherSetup
from wfbench.orders import all_orders, kendall, order_index, precedences, unit_pairs
from wfbench_searchers import gaussian_process as gp
from wfbench_searchers.gp_ucb import GpUcb

SIGNS = np.array([precedences(order) for order in all_orders()], dtype=np.float64)
MODEL = gp.Model(theta=2.0, smooth=0.4, pairs=np.linspace(0.0, 0.2, 10), noise=0.3)
E_BEFORE_U = unit_pairs().index((1, 4))


def told(indices: Any, scores: Any) -> gp.Data:
    """Data in which orders may repeat."""
    distinct, which = np.unique(indices, return_inverse=True)
    counts = np.bincount(which).astype(np.float64)
    means = np.bincount(which, scores) / counts
    within = float(((np.asarray(scores) - means[which]) ** 2).sum())
    return gp.Data(SIGNS[distinct], means, counts, within)


@cache
def distances() -> Any:
    """Kendall distances of all orders."""
    return np.array([[kendall(a, b) for b in all_orders()] for a in all_orders()])


def full_covariance(model: gp.Model, indices: Any) -> Any:
    """Of single runs, by the definition."""
    runs = np.array(indices)
    covariance = gp.CONSTANT + model.smooth * np.exp(-model.theta * distances()[runs][:, runs])
    for pair, variance in enumerate(model.pairs):
        covariance += variance * np.outer(SIGNS[runs, pair], SIGNS[runs, pair])
    return covariance


RUNS = [3, 17, 3, 60, 119, 60, 60, 5]
SCORES = np.array([0.3, -1.0, 0.9, 0.1, -0.4, 0.6, -0.2, 1.4])


def test_beliefs_equal_the_textbook_formula_run_by_run() -> None:
    covariance = full_covariance(MODEL, RUNS) + MODEL.noise * np.eye(len(RUNS))
    every = full_covariance(MODEL, range(120))
    cross = every[:, RUNS]
    mean = cross @ np.linalg.solve(covariance, SCORES)
    variance = np.diag(every - cross @ np.linalg.solve(covariance, cross.T))
    belief = gp.posterior(MODEL, told(RUNS, SCORES), SIGNS)
    assert belief.mean == pytest.approx(mean)
    assert belief.sd == pytest.approx(np.sqrt(variance))


def test_evidence_equals_the_density_of_the_runs() -> None:
    """Up to a constant that depends only on how often orders were repeated."""

    def density(model: gp.Model) -> float:
        covariance = full_covariance(model, RUNS) + model.noise * np.eye(len(RUNS))
        _, log_determinant = np.linalg.slogdet(covariance)
        return float(-0.5 * (SCORES @ np.linalg.solve(covariance, SCORES) + log_determinant))

    data = told(RUNS, SCORES)
    other = gp.Model(theta=5.0, smooth=0.1, pairs=np.full(10, 0.03), noise=0.9)
    assert gp.log_evidence(MODEL, data) - gp.log_evidence(other, data) == pytest.approx(
        density(MODEL) - density(other)
    )


def test_before_anything_is_told_all_orders_are_alike() -> None:
    empty = gp.Data(SIGNS[:0], np.zeros(0), np.zeros(0), 0.0)
    belief = gp.posterior(MODEL, empty, SIGNS)
    assert not belief.mean.any()
    assert belief.sd == pytest.approx(np.full(120, belief.sd[0]))


def drawn(model: gp.Model, seed: int, runs: int = 3) -> gp.Data:
    """A landscape of all orders, drawn from a model, each order run several times."""
    rng = np.random.default_rng(seed)
    covariance = full_covariance(model, range(120)) - gp.CONSTANT
    values = rng.multivariate_normal(np.zeros(120), covariance, method="cholesky")
    scores = np.repeat(values, runs) + rng.normal(0, math.sqrt(model.noise), 120 * runs)
    return told(np.repeat(np.arange(120), runs), scores)


def test_fitting_finds_the_noise_and_the_pairs_that_matter() -> None:
    values = SIGNS[:, 2] - 0.8 * SIGNS[:, E_BEFORE_U]
    luck = np.random.default_rng(1).normal(0, math.sqrt(0.5), 360)
    model = gp.fit(told(np.repeat(np.arange(120), 3), np.repeat(values, 3) + luck))
    assert model.noise == pytest.approx(0.5, rel=0.2)
    others = np.delete(model.pairs, [2, E_BEFORE_U])
    assert model.pairs[[2, E_BEFORE_U]].min() > 5 * others.max()


def test_fitting_finds_the_length_of_the_smooth_part() -> None:
    none = np.full(10, 1e-9)
    fitted = {
        theta: gp.fit(drawn(gp.Model(theta, 1.0, none, noise=0.1), seed=2), pairs=False).theta
        for theta in gp.THETAS
    }
    assert fitted == {theta: theta for theta in gp.THETAS}


@pytest.mark.parametrize("seed", [11, 13, 18])
def test_the_length_that_is_likely_beforehand_and_by_the_data_is_taken(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(seed)
    runs = rng.integers(0, 120, 8)
    data = told(runs, rng.normal(0, 1, 8))
    chosen = gp.fit(data).theta
    each = []
    for theta in gp.THETAS:
        monkeypatch.setattr(gp, "THETAS", (theta,))
        each.append(gp.fit(data))
    by_data = [gp.log_evidence(model, data) for model in each]
    beforehand = [gp._log_prior(model) for model in each]
    assert chosen == each[int(np.argmax(np.add(by_data, beforehand)))].theta
    assert chosen != each[int(np.argmax(by_data))].theta


def test_no_sweep_makes_the_model_less_likely(monkeypatch: pytest.MonkeyPatch) -> None:
    data = told(RUNS, SCORES)
    likelihoods = []
    for sweeps in range(1, 40):
        monkeypatch.setattr(gp, "SWEEPS", sweeps)
        model = gp.fit(data)
        likelihoods.append(gp.log_evidence(model, data) + gp._log_prior(model))
    assert (np.diff(likelihoods) > -1e-9).all()
    assert likelihoods[-1] - likelihoods[0] > 1e-3


def test_what_is_not_wanted_is_not_in_the_model() -> None:
    data = told(RUNS, SCORES)
    assert gp.fit(data, pairs=False).pairs.tolist() == [0.0] * 10
    assert gp.fit(data, smooth=False).smooth == 0.0


def search(
    score: Callable[[Order, int], float], asks: int, seed: int = 0, **options: Any
) -> tuple[GpUcb, list[Order]]:
    searcher = GpUcb(SearcherSetup(5, seed), **options)
    asked: list[Order] = []
    for number in range(asks):
        order = searcher.ask()
        outcome = Outcome(score(order, number), 1.0, compliant=True, env_steps=1)
        searcher.tell(order, outcome)
        asked.append(order)
    return searcher, asked


def noisy(order: Order, number: int) -> float:
    """U before E costs 20 points; runs of the same order differ by about 3."""
    luck = np.random.default_rng([number, 8]).normal(0, 3)
    return -40.0 + 10.0 * float(precedences(order)[E_BEFORE_U]) + luck


def test_it_learns_which_pair_matters() -> None:
    searcher, asked = search(noisy, 20)
    assert all(precedences(order)[E_BEFORE_U] == 1 for order in asked[-6:])
    recommended = searcher.recommend()
    assert recommended is not None
    assert precedences(recommended)[E_BEFORE_U] == 1
    belief = searcher.belief()
    sides = {
        sign: np.mean([m for o, (m, _) in belief.items() if precedences(o)[E_BEFORE_U] == sign])
        for sign in (1, -1)
    }
    assert sides[1] - sides[-1] > 8
    assert -60 < sides[-1] < sides[1] < -20


def test_beliefs_are_honest_about_their_error() -> None:
    """Of orders never tried, about as many lie within two deviations as should."""
    inside = []
    for seed in range(4):
        model = gp.Model(3.0, 0.5, np.full(10, 0.05), noise=0.5)
        rng = np.random.default_rng(seed)
        values = rng.multivariate_normal(
            np.zeros(120), full_covariance(model, range(120)), method="cholesky"
        )
        seen = rng.permutation(120)[:40]
        searcher = GpUcb(SearcherSetup(5, seed))
        for index in seen:
            score = values[index] + rng.normal(0, math.sqrt(0.5))
            outcome = Outcome(score, 1.0, compliant=True, env_steps=1)
            searcher.tell(all_orders()[index], outcome)
        belief = np.array(list(searcher.belief().values()))
        unseen = np.setdiff1d(np.arange(120), seen)
        inside.append(np.abs(values - belief[:, 0])[unseen] < 2 * belief[unseen, 1])
    assert 0.85 < np.mean(inside) <= 1.0


def test_the_seed_breaks_ties() -> None:
    firsts = {search(noisy, 1, seed=seed)[1][0] for seed in range(20)}
    assert len(firsts) > 10
    assert search(noisy, 6, seed=3)[1] == search(noisy, 6, seed=3)[1]


def test_a_failing_order_is_not_asked_for_ever() -> None:
    def failing(order: Order, number: int) -> float:
        return math.nan if precedences(order)[E_BEFORE_U] < 0 else noisy(order, number)

    _, asked = search(failing, 25)
    assert any(precedences(order)[E_BEFORE_U] < 0 for order in asked[:6])
    assert all(precedences(order)[E_BEFORE_U] > 0 for order in asked[-8:])


def test_a_search_in_which_everything_fails_goes_on_to_other_orders() -> None:
    _, asked = search(lambda _order, _number: math.nan, 15)
    assert len(set(asked)) >= 12


def test_equal_scores_are_no_trouble() -> None:
    searcher, asked = search(lambda _order, _number: -10.0, 12)
    assert len(set(asked)) > 5
    assert all(math.isfinite(sd) for _, sd in searcher.belief().values())


def test_noise_asks_for_repetition() -> None:
    def repeats(sd: float, **options: Any) -> float:
        def score(order: Order, number: int) -> float:
            luck = np.random.default_rng([number, 8]).normal(0, sd)
            return 5.0 * float(SIGNS[order_index(order)] @ np.arange(10)) + luck

        _, asked = search(score, 20, beta=5.0, **options)
        return 1 - len(set(asked)) / 20

    assert repeats(300.0, replicate=0.2) == pytest.approx(0.2)
    assert repeats(300.0, replicate=0.0) < 0.2
    assert repeats(0.0, replicate=0.2) < 0.2


@pytest.mark.parametrize(("replicate", "repeats"), [(0.2, 4), (0.3, 6), (0.5, 10)])
def test_a_batch_repeats_no_more_than_orders_asked_one_by_one(
    replicate: float, repeats: int
) -> None:
    """The cap is a share of the 10 that were told and the 10 that are asked."""
    searcher = GpUcb(SearcherSetup(5, 0), beta=5.0, replicate=replicate)
    tried = set(all_orders()[:70:7])
    for number, order in enumerate(sorted(tried, key=order_index)):
        luck = np.random.default_rng([number, 8]).normal(0, 300)
        searcher.tell(order, Outcome(luck, 1.0, compliant=True, env_steps=1))
    found = 0
    for order in searcher.ask_batch(10):
        found += order in tried
        tried.add(order)
    assert found == repeats


def test_a_batch_looks_elsewhere_after_each_of_its_orders() -> None:
    searcher, _ = search(noisy, 6, replicate=0.0)
    assert len(set(searcher.ask_batch(5))) == 5


def test_beta_is_what_makes_it_explore() -> None:
    distinct = [len(set(search(noisy, 20, beta=beta)[1])) for beta in (0.0, 1.0, 6.0)]
    assert distinct == sorted(distinct)
    assert distinct[0] < distinct[-1]


def test_schedules_begin_with_beta() -> None:
    values = {}
    for schedule in ("constant", "theory", "decay"):
        searcher = GpUcb(SearcherSetup(5, 0), beta=3.0, schedule=schedule)
        values[schedule] = [searcher._optimism()]
        for number in range(9):
            order = all_orders()[number]
            searcher.tell(order, Outcome(0.0, 1.0, compliant=True, env_steps=1))
            values[schedule].append(searcher._optimism())
    assert values["constant"] == [3.0] * 10
    assert values["theory"][0] == values["decay"][0] == 3.0
    assert values["theory"] == sorted(values["theory"])
    assert values["theory"][-1] > 3.5
    assert values["decay"][-1] == pytest.approx(3.0 / math.sqrt(10))


def test_what_is_expected_beforehand_counts_as_it_was_told() -> None:
    expected = {order: -20.0 - place for place, order in enumerate(all_orders()[:12])}
    searcher = GpUcb(SearcherSetup(5, 0))
    searcher.prior(expected)
    belief = searcher.belief()
    assert {order: belief[order][0] for order in expected} == pytest.approx(expected)
    assert searcher.ask() == next(iter(expected))
    asked = searcher.ask_batch(6)
    assert set(asked) <= set(expected)
    for order in asked:
        searcher.tell(order, Outcome(expected[order] + 3.0, 1.0, compliant=True, env_steps=1))
    after = searcher.belief()
    assert {order: after[order][0] for order in expected} == pytest.approx(
        {order: score + 3.0 for order, score in expected.items()}
    )
    assert searcher.recommend() == next(iter(expected))
    assert set(searcher.ask_batch(6)) <= set(expected)
