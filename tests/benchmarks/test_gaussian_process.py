"""Cost of the searcher's belief: how it grows with what was told, within one run."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

from wfbench.benchmarks.statistics.intervals import ratio_estimate
from wfbench.contract import Order, Outcome, SearcherSetup
from wfbench.orders import all_orders, precedences
from wfbench_searchers import gaussian_process as gp
from wfbench_searchers.gp_ucb import GpUcb

ORDERS = all_orders()
SIGNS = np.array([precedences(order) for order in ORDERS], dtype=np.float64)


def told(count: int) -> gp.Data:
    rng = np.random.default_rng(0)
    picks = rng.integers(0, len(ORDERS), count)
    return gp.data_of(SIGNS[picks], rng.normal(size=count))


@pytest.mark.benchmark(group="GP over the 120 orders")
@pytest.mark.parametrize("count", [20, 100])
def test_fit(benchmark: Any, count: int) -> None:
    data = told(count)
    model = benchmark(gp.fit, data)
    assert model.noise > 0


@pytest.mark.benchmark(group="GP over the 120 orders")
def test_what_a_belief_costs_is_small_beside_the_fit(benchmark: Any) -> None:
    data = told(100)
    model = gp.fit(data)
    costs: dict[str, list[float]] = {"fit": [], "believe": []}

    def rounds() -> None:
        for _ in range(9):
            costs["fit"].append(_cpu(lambda: gp.fit(data)))
            costs["believe"].append(_cpu(lambda: gp.posterior(model, data, SIGNS), 20))

    benchmark.pedantic(rounds, rounds=1, iterations=1)
    ratio = ratio_estimate(costs["believe"], costs["fit"]).value
    benchmark.extra_info["belief, share of a fit"] = round(ratio, 4)
    assert ratio <= 0.2


@pytest.mark.benchmark(group="GP over the 120 orders")
def test_a_question_late_in_a_search_costs_little_more_than_an_early_one(benchmark: Any) -> None:
    early, late = _after(40), _after(240)
    costs: dict[str, list[float]] = {"early": [], "late": []}

    def rounds() -> None:
        for _ in range(7):
            costs["early"].append(_cpu(lambda: _question(early)))
            costs["late"].append(_cpu(lambda: _question(late)))

    benchmark.pedantic(rounds, rounds=1, iterations=1)
    growth = ratio_estimate(costs["late"], costs["early"]).value
    benchmark.extra_info["late / early"] = round(growth, 2)
    # Six times as much was told; without a bound on what is fitted it would be up to 6**3 times.
    assert growth <= 6


def _after(count: int) -> GpUcb:
    searcher = GpUcb(SearcherSetup(num_units=5, seed=0))
    rng = np.random.default_rng(1)
    for pick in rng.integers(0, len(ORDERS), count):
        _tell(searcher, ORDERS[pick], float(rng.normal()))
    return searcher


def _question(searcher: GpUcb) -> None:
    _tell(searcher, searcher.ask(), 0.0)


def _tell(searcher: GpUcb, order: Order, score: float) -> None:
    searcher.tell(
        order,
        Outcome(score=score, compliance=1.0, compliant=True, env_steps=1, seed=0, values={}),
    )


def _cpu(work: Any, times: int = 1) -> float:
    began = time.process_time()
    for _ in range(times):
        work()
    return (time.process_time() - began) / times
