"""What every searcher promises, and what each of them does."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import pytest

from wfbench.contract import Order, Outcome, SearcherSetup, UsageError, load_object
from wfbench.orders import NAMED, all_orders, order_index
from wfbench.testing import check_searcher
from wfbench_searchers.gp_ucb import GpUcb
from wfbench_searchers.halving import Halving
from wfbench_searchers.options import GpUcbOptions, HalvingOptions
from wfbench_searchers.plugin import wfbench_searchers
from wfbench_searchers.sweeps import Exhaustive, Given, RandomSweep

SPECS = {spec.name: spec for spec in wfbench_searchers()}
Score = Callable[[Order], float]


def build(name: str, seed: int = 1, num_units: int = 5, **options: Any) -> Any:
    return load_object(SPECS[name].factory)(SearcherSetup(num_units, seed), **options)


def outcome(score: float) -> Outcome:
    return Outcome(score, 1.0, compliant=math.isfinite(score), env_steps=100)


def search(searcher: Any, asks: int, score: Score) -> list[Order]:
    asked = []
    for _ in range(asks):
        order = searcher.ask()
        searcher.tell(order, outcome(score(order)))
        asked.append(order)
    return asked


def by_index(order: Order) -> float:
    return -float(order_index(order))


@pytest.mark.parametrize("name", SPECS)
def test_the_promises_of_a_searcher(name: str) -> None:
    for promise in check_searcher(SPECS[name]):
        assert promise.kept, promise


@pytest.mark.parametrize("name", SPECS)
@pytest.mark.parametrize("told", [0, 1, 7, 23])
def test_a_state_goes_through_json_exactly(name: str, told: int) -> None:
    def score(order: Order) -> float:
        return math.nan if order_index(order) % 5 == 0 else math.pi * order_index(order) / 7

    whole = build(name)
    search(whole, told, score)
    resumed = build(name)
    resumed.load(json.loads(json.dumps(whole.state(), allow_nan=False)))
    assert json.dumps(resumed.state()) == json.dumps(whole.state())
    assert resumed.recommend() == whole.recommend()
    assert search(resumed, 8, score) == search(whole, 8, score)


@pytest.mark.parametrize("name", SPECS)
def test_what_was_told_is_all_that_matters(name: str) -> None:
    """A search that is told of runs it never asked for, in one go, goes on as if it had asked."""
    asked_itself = build(name)
    orders = search(asked_itself, 9, by_index)
    told = build(name)
    for order in orders:
        told.tell(order, outcome(by_index(order)))
    assert told.ask() == asked_itself.ask()


@pytest.mark.parametrize("name", SPECS)
def test_a_state_of_other_units_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="is of 3 units, not of 5"):
        build(name).load(build(name, num_units=3).state())
    with pytest.raises(UsageError, match="not an order of 5 units"):
        build(name).tell((0, 1, 2), outcome(0.0))


@pytest.mark.parametrize("name", SPECS)
def test_nothing_is_recommended_before_anything_is_known(name: str) -> None:
    searcher = build(name)
    assert searcher.recommend() is None
    [first] = search(searcher, 1, by_index)
    assert searcher.recommend() == first


@pytest.mark.parametrize("name", SPECS)
@pytest.mark.parametrize("units", [1, 2, 3, 6])
def test_other_numbers_of_units(name: str, units: int) -> None:
    for order in search(build(name, num_units=units), 6, by_index):
        assert order in all_orders(units)


def test_exhaustive_goes_through_all_orders_by_index() -> None:
    searcher = Exhaustive(SearcherSetup(5, seed=9))
    assert search(searcher, 240, by_index) == [*all_orders(), *all_orders()]
    assert searcher.recommend() == all_orders()[0]


def test_random_asks_every_order_once_before_any_again() -> None:
    searcher = RandomSweep(SearcherSetup(5, seed=9))
    asked = search(searcher, 240, by_index)
    first, second = asked[:120], asked[120:]
    assert set(first) == set(second) == set(all_orders())
    assert first != second
    assert first != list(all_orders())
    assert search(RandomSweep(SearcherSetup(5, seed=10)), 120, by_index) != first


def test_given_asks_what_it_was_given() -> None:
    searcher = Given(SearcherSetup(5, seed=0), orders="S>E>U>H>D+reverse+7")
    expected = [(2, 1, 4, 3, 0), NAMED["reverse"], all_orders()[7]]
    assert search(searcher, 5, by_index) == [*expected, *expected[:2]]
    with pytest.raises(UsageError, match="'SEU' is not an order"):
        Given(SearcherSetup(5, seed=0), orders="SEUHD+SEU")
    with pytest.raises(UsageError, match="no order 6"):
        Given(SearcherSetup(3, seed=0), orders="6")


def test_the_best_mean_is_recommended_and_a_failure_counts_as_worse_than_the_worst() -> None:
    searcher = Exhaustive(SearcherSetup(3, seed=0))
    scores = [-10.0, -3.0, math.nan, -4.0, -9.0, -8.0, -10.0, -20.0, -1.0, -4.0, -9.0, -8.0]
    for score in scores:
        searcher.tell(searcher.ask(), outcome(score))
    assert searcher.recommend() == all_orders(3)[3]


def test_halving_gives_the_better_third_three_times_the_budget() -> None:
    searcher = Halving(SearcherSetup(5, seed=4), orders=9, eta=3)
    asked, shares = [], []
    for _ in range(13):
        order = searcher.ask()
        shares.append(searcher.budget(order))
        searcher.tell(order, outcome(by_index(order)))
        asked.append(order)
    assert shares == pytest.approx([1 / 9] * 9 + [1 / 3] * 3 + [1.0])
    assert len(set(asked[:9])) == 9
    assert asked[9:12] == sorted(asked[:9], key=order_index)[:3]
    assert asked[12] == asked[9]
    assert sum(shares) == pytest.approx(3.0)
    assert searcher.recommend() == asked[12]
    search(searcher, 9, by_index)
    assert searcher.recommend() == asked[12], "a score on a small budget is no match for a full one"


def test_halving_begins_every_bracket_with_orders_not_tried_before() -> None:
    searcher = Halving(SearcherSetup(5, seed=4), orders=20, eta=4)
    per_bracket = 20 + 5 + 1
    asked = search(searcher, 6 * per_bracket, by_index)
    begun = [order for b in range(6) for order in asked[b * per_bracket : b * per_bracket + 20]]
    assert sorted(begun) == list(all_orders())


def test_halving_drops_what_failed() -> None:
    searcher = Halving(SearcherSetup(5, seed=4), orders=4, eta=2)
    first = [searcher.ask()]
    searcher.tell(first[0], outcome(math.nan))
    first += search(searcher, 3, lambda _: -500.0)
    assert first[0] not in search(searcher, 2, by_index)


def test_halving_among_fewer_orders_than_a_bracket_wants() -> None:
    searcher = Halving(SearcherSetup(2, seed=0), orders=9, eta=3)
    assert set(search(searcher, 2, by_index)) == set(all_orders(2))
    assert searcher.budget(searcher.ask()) == 1.0


@pytest.mark.parametrize(
    ("options", "given"),
    [
        (GpUcbOptions, {"beta": -1.0}),
        (GpUcbOptions, {"beta": math.nan}),
        (GpUcbOptions, {"beta": math.inf}),
        (GpUcbOptions, {"replicate": -0.1}),
        (GpUcbOptions, {"replicate": 1.0}),
        (HalvingOptions, {"eta": 1}),
        (HalvingOptions, {"orders": 2}),
    ],
)
def test_senseless_options_are_refused(options: type[Any], given: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="it must"):
        options(**given)


def test_a_searcher_need_neither_explore_nor_repeat() -> None:
    options = GpUcbOptions(beta=0.0, replicate=0.0)
    assert (options.beta, options.replicate) == (0.0, 0.0)


def test_an_order_that_was_not_followed_counts_no_more_than_the_worst_that_was():
    searcher = build("exhaustive")
    told = [(3, -20.0, True), (7, -10.0, False), (9, -50.0, False), (11, -30.0, True)]
    for index, score, compliant in told:
        outcome = Outcome(score, 1.0, compliant=compliant, env_steps=1)
        searcher.tell(all_orders(5)[index], outcome)
    assert searcher.effective_scores().tolist() == [-20.0, -30.0, -50.0, -30.0]
    assert searcher.recommend() == all_orders(5)[3]
    again = build("exhaustive")
    again.load(json.loads(json.dumps(searcher.state())))
    assert again.effective_scores().tolist() == searcher.effective_scores().tolist()


def test_before_any_order_was_followed_scores_count_as_they_are():
    searcher = build("exhaustive")
    for index, score in ((3, -20.0), (7, -10.0)):
        outcome = Outcome(score, 0.5, compliant=False, env_steps=1)
        searcher.tell(all_orders(5)[index], outcome)
    assert searcher.effective_scores().tolist() == [-20.0, -10.0]


def test_gp_ucb_turns_away_from_orders_that_cannot_be_followed():
    """Orders that begin with unit 0 score best and are never followed."""
    searcher = GpUcb(SearcherSetup(5, 1))
    asked = []
    for _ in range(30):
        order = searcher.ask()
        asked.append(order)
        first = order[0] == 0
        outcome = Outcome(0.0 if first else -order[0], 1.0, compliant=not first, env_steps=1)
        searcher.tell(order, outcome)
    assert sum(order[0] == 0 for order in asked[10:]) <= 5
    assert searcher.recommend()[0] == 1


@pytest.mark.parametrize("name", SPECS)
def test_the_same_seed_asks_for_the_same_orders_in_every_version(
    name: str, golden: Callable[[str, str], None]
) -> None:
    def score(order: Order) -> float:
        return math.nan if order_index(order) == 7 else math.sin(order_index(order))

    searcher = build(name, seed=3)
    asked = search(searcher, 15, score)
    lines = [" ".join(map(str, order)) for order in (*asked, searcher.recommend())]
    golden(f"{name}.txt", "\n".join(lines))
