"""Numbers and choices of the searchers that can be written down."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from wfbench.contract import Order, Outcome, SearcherSetup
from wfbench.orders import all_orders, order_index, precedences
from wfbench_searchers import gaussian_process as gp
from wfbench_searchers.gp_ucb import GpUcb
from wfbench_searchers.halving import Halving
from wfbench_searchers.options import HalvingOptions
from wfbench_searchers.sweeps import Exhaustive

SIGNS = np.array([precedences(order) for order in all_orders()], dtype=np.float64)
RUNS = [3, 17, 3, 60, 119, 60, 60, 5]
SCORES = np.array([0.3, -1.0, 0.9, 0.1, -0.4, 0.6, -0.2, 1.4])


def tell(searcher: Any, order: Order, score: float) -> None:
    searcher.tell(order, Outcome(score, 1.0, compliant=math.isfinite(score), env_steps=1))


def test_scores_are_grouped_by_order() -> None:
    data = gp.data_of(SIGNS[RUNS], SCORES)
    found = {tuple(signs): row for row, signs in enumerate(data.signs.tolist())}
    rows = [found[tuple(SIGNS[index].tolist())] for index in (3, 5, 17, 60, 119)]
    assert len(found) == 5
    assert data.means[rows] == pytest.approx([0.6, 1.4, -1.0, 0.5 / 3, -0.4])
    assert data.counts[rows].tolist() == [2, 1, 1, 3, 1]
    assert data.within == pytest.approx(2 * 0.3**2 + 0.41 - 0.5**2 / 3)
    assert data.repeats == 3


def test_the_mallows_kernel_falls_with_the_share_of_pairs_that_differ() -> None:
    one_pair = np.array([[1.0], [-1.0]])
    near = math.exp(-3.0)
    assert gp.mallows(one_pair, one_pair, 3.0) == pytest.approx(np.array([[1, near], [near, 1]]))
    assert gp.mallows(SIGNS[:1], SIGNS[[0, 1, 119]], 2.0)[0] == pytest.approx(
        [1.0, math.exp(-0.2), math.exp(-2.0)]
    )
    no_pairs = np.zeros((1, 0))
    assert gp.mallows(no_pairs, no_pairs, 2.0) == pytest.approx(np.array([[math.exp(-1.0)]]))


def test_the_density_of_a_prior() -> None:
    density = gp.Prior(0.5, 4.0).log_density(np.array([0.5, 0.25]))
    assert density == pytest.approx([-2 * (math.log(0.5) + 1), -2 * (math.log(0.25) + 2)])
    model = gp.Model(1.0, 0.3, np.array([0.05, 0.05]), noise=0.5)
    parts = (-2 * (math.log(0.5) + 1), -(math.log(0.3) + 1), -(math.log(0.05) + 1))
    assert gp._log_prior(model) == pytest.approx(sum(parts))


def test_variances_fitted_to_scores_are_the_same_in_every_version() -> None:
    model = gp.fit(gp.data_of(SIGNS[RUNS], SCORES))
    found = (model.theta, model.smooth, model.noise)
    assert found == pytest.approx((1.0, 0.2660642, 0.3436391), rel=1e-5)
    pairs = [
        0.04436672,
        0.04265457,
        0.04265457,
        0.04436672,
        0.05651286,
        0.05651286,
        0.0776253,
        0.0433628,
        0.0433628,
        0.04706838,
    ]
    assert model.pairs == pytest.approx(pairs, rel=1e-5)


@pytest.mark.parametrize(
    ("kernel", "smooth", "pairs"),
    [("both", True, True), ("mallows", True, False), ("pairs", False, True)],
)
def test_a_kernel_has_the_parts_of_its_name(kernel: str, *, smooth: bool, pairs: bool) -> None:
    searcher = GpUcb(SearcherSetup(5, 0), kernel=kernel)
    for index, score in zip(RUNS, SCORES.tolist(), strict=True):
        tell(searcher, all_orders()[index], score)
    searcher.belief()
    assert searcher._known is not None
    model = searcher._known[1]
    assert (model.smooth > 0, model.pairs.any()) == (smooth, pairs)


def test_variances_are_fitted_to_the_last_60_scores() -> None:
    scores = np.sin(np.arange(70.0))
    searcher = GpUcb(SearcherSetup(5, 0))
    for index, score in enumerate(scores.tolist()):
        tell(searcher, all_orders()[index], score)
    searcher.belief()
    standard = (scores - scores.mean()) / scores.std()
    wanted = gp.fit(gp.data_of(SIGNS[10:70], standard[10:]))
    assert searcher._known is not None
    assert searcher._known[1].noise == pytest.approx(wanted.noise, rel=1e-12)
    assert searcher._known[1].pairs == pytest.approx(wanted.pairs, rel=1e-12)


def test_a_model_is_fitted_once_for_what_was_told() -> None:
    searcher = GpUcb(SearcherSetup(5, 0))
    models = []
    for order in all_orders()[:2]:
        tell(searcher, order, 0.0)
        for _ in range(2):
            searcher.ask_batch(2)
            assert searcher._known is not None
            models.append(searcher._known[1])
    first, again, second, at_last = models
    assert first is again
    assert second is at_last
    assert first is not second


@pytest.mark.parametrize(
    ("schedule", "value"),
    [
        ("constant", 3.0),
        ("decay", 3.0 / math.sqrt(6)),
        ("theory", 3.0 * math.sqrt(math.log(7200 * math.pi**2) / math.log(200 * math.pi**2))),
    ],
)
def test_orders_that_were_asked_for_count_as_turns(schedule: str, value: float) -> None:
    searcher = GpUcb(SearcherSetup(5, 0), beta=3.0, schedule=schedule)
    for index in range(3):
        tell(searcher, all_orders()[index], 0.0)
    assert searcher._optimism([7, 8]) == pytest.approx(value)


def test_the_leader_is_repeated_as_soon_as_its_share_allows() -> None:
    """By a fifth of all orders, the fifth and then the tenth may be the first repeats."""
    searcher = GpUcb(SearcherSetup(5, 0), beta=5.0, replicate=0.2)
    asked: list[Order] = []
    for number in range(12):
        order = searcher.ask()
        tell(searcher, order, float(np.random.default_rng([number, 8]).normal(0, 300)))
        asked.append(order)
    repeats = [at for at, order in enumerate(asked) if order in asked[:at]]
    assert repeats[:2] == [4, 9]


def test_a_failure_counts_one_deviation_or_1_less_than_the_worst() -> None:
    searcher = Exhaustive(SearcherSetup(3, seed=0))
    tell(searcher, all_orders(3)[0], math.nan)
    assert searcher.effective_scores().tolist() == [0.0]
    tell(searcher, all_orders(3)[1], -5.0)
    assert searcher.effective_scores().tolist() == [-6.0, -5.0]
    tell(searcher, all_orders(3)[2], -9.0)
    assert searcher.effective_scores().tolist() == [-11.0, -5.0, -9.0]


def test_a_state_without_compliance_counts_every_score_in_full() -> None:
    searcher = Exhaustive(SearcherSetup(5, seed=0))
    searcher.load({"num_units": 5, "told": [[3, -20.0], [7, -10.0]]})
    assert searcher.effective_scores().tolist() == [-20.0, -10.0]
    assert searcher.recommend() == all_orders()[7]


def test_halving_recommends_the_best_of_the_largest_budget_so_far() -> None:
    """Scores rise from bracket to bracket, so that later brackets matter, too."""
    searcher = Halving(SearcherSetup(5, seed=4), orders=9, eta=3)
    told: list[tuple[float, float, Order]] = []
    for number in range(30):
        order = searcher.ask()
        budget = searcher.budget(order)
        score = 1000.0 * (number // 13) - order_index(order)
        tell(searcher, order, score)
        told.append((budget, score, order))
        assert searcher.recommend() == max(told)[2], number


def test_halving_begins_with_what_is_expected_to_be_best_and_goes_on_in_turn() -> None:
    searcher = Halving(SearcherSetup(3, seed=4), orders=4, eta=2)
    worth = {all_orders(3)[index]: float(-place) for place, index in enumerate((5, 2, 0, 4, 1, 3))}
    searcher.prior(worth)
    ranked = sorted(worth, key=lambda order: -worth[order])
    asked = []
    for _ in range(11):
        asked.append(searcher.ask())
        tell(searcher, asked[-1], worth[asked[-1]])
    assert asked[:4] == ranked[:4]
    assert asked[4:7] == [*ranked[:2], ranked[0]]
    assert asked[7:] == [*ranked[4:], *ranked[:2]]


def test_the_smallest_bracket_halves_two_orders() -> None:
    options = HalvingOptions(orders=2, eta=2)
    searcher = Halving(SearcherSetup(3, seed=4), **vars(options))
    first, second = searcher.ask_batch(5)
    tell(searcher, first, 0.0)
    tell(searcher, second, 1.0)
    assert searcher.ask_batch(5) == [second]
