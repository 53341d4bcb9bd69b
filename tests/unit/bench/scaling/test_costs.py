from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wfbench.benchmarks.scaling.costs import StepCosts, StepPoint, fit_costs

SIZES, WORKERS, CORES = (1, 50, 200, 5_000), (1, 2, 3, 4), 2


def seconds(costs: StepCosts, n_envs: int, workers: int, cores: int) -> float:
    return sum(costs.parts(n_envs, workers, cores).values())


def measured(costs: StepCosts) -> list[StepPoint]:
    points = []
    for n, w in product(SIZES, WORKERS):
        computed = costs.fixed + costs.message * w + (costs.transition + costs.work) * n
        points.append(StepPoint(n, w, seconds(costs, n, w, CORES), computed))
    return points


cost = st.floats(1e-6, 1e-4)


@given(st.builds(StepCosts, cost, cost, cost, cost, cost, st.just(0.0), st.just(0.0)))
def test_costs_are_found_again_and_predict_other_machines(costs: StepCosts) -> None:
    found = fit_costs(measured(costs), CORES)
    assert isinstance(found, StepCosts), found
    assert found.error < 1e-6
    for n, cores in ((200, 64), (20_000, 640)):
        expected = seconds(costs, n, cores, cores)
        assert seconds(found, n, cores, cores) == pytest.approx(expected, rel=1e-6)


def test_environments_that_sleep_scale_beyond_the_cores() -> None:
    costs = StepCosts(1e-4, 1e-4, 2e-5, 1e-6, 5e-5, 3e-3, 0.0)
    found = fit_costs(measured(costs), CORES)
    assert isinstance(found, StepCosts), found
    assert found.wait == pytest.approx(3e-3, rel=1e-6)
    parts = found.parts(64, 64, CORES)
    assert parts["messages"] == pytest.approx(64 * 2e-5, rel=1e-6)
    assert sum(parts.values()) == pytest.approx(seconds(costs, 64, 64, CORES), rel=1e-6)


def test_no_cost_is_below_0() -> None:
    found = fit_costs([StepPoint(200, w, 1e-3 / w**1.2, 1e-3) for w in WORKERS], 4)
    assert isinstance(found, StepCosts), found
    assert min(found.parts(200, 64, 64).values()) >= 0


def test_what_does_not_follow_the_model_is_not_predicted() -> None:
    odd = [
        StepPoint(200, w, seconds, 1e-3)
        for w, seconds in zip(WORKERS, (1e-3, 9e-3, 1e-3, 9e-3), strict=True)
    ]
    assert "do not follow the model" in str(fit_costs(odd, CORES))
    alike = [StepPoint(n, 2, 1e-3, 1e-3) for n in SIZES]
    assert "all with the same number of workers" in str(fit_costs(alike, CORES))


@pytest.mark.parametrize(("kept", "fitted"), [(4, True), (3, False)])
def test_four_points_of_two_numbers_of_workers_are_enough(kept: int, *, fitted: bool) -> None:
    points = [StepPoint(n, w, 1e-3 * n / w, 1e-3 * n) for n in (10, 20) for w in (1, 2)]
    found = fit_costs(points[:kept], CORES)
    assert isinstance(found, StepCosts) == fitted


@pytest.mark.parametrize(("cpu", "sleeps"), [(0.5, False), (0.499, True)])
def test_one_worker_that_computes_less_than_half_of_the_time_sleeps(
    cpu: float, *, sleeps: bool
) -> None:
    shares = {1: cpu, 2: 0.1, 3: 0.1, 4: 0.1}
    points = [StepPoint(n, w, n / w, shares[w] * n / w) for n, w in product((16, 64, 256), WORKERS)]
    found = fit_costs(points, 4)
    assert (isinstance(found, StepCosts) and found.wait > 0) == sleeps


def test_costs_of_chosen_points_are_what_they_were(golden: Callable[[str, str], None]) -> None:
    rng = np.random.default_rng(4)
    lines = []
    for wait in (0.0, 3e-3):
        for _ in range(6):
            costs = StepCosts(*(10 ** rng.uniform(-6, -4, 5)).tolist(), wait, 0.0)
            luck = rng.lognormal(0.0, 0.1, (len(SIZES) * len(WORKERS), 2)).tolist()
            points = [
                StepPoint(one.n_envs, one.workers, one.seconds * a, one.cpu * b)
                for one, (a, b) in zip(measured(costs), luck, strict=True)
            ]
            lines.append(repr(fit_costs(points, CORES)))
    golden("costs.txt", "\n".join(lines))
