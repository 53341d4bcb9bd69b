"""Landscape files, their signal, and searchers that search them."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wfbench.contract import Order, Outcome, SearcherSetup, UsageError
from wfbench.orders import NAMED_UNITS, all_orders, order_index
from wfbench.search.landscape.records import (
    Landscape,
    Replicate,
    collect_landscape,
    read_landscape,
    write_landscape,
)
from wfbench.search.landscape.regret import compare, median_interval, regret_curves, run_bench
from wfbench.search.landscape.signal import measure_signal
from wfbench.search.landscape.world import SyntheticWorld, recorded_world
from wfbench_searchers.gp_ucb import GpUcb
from wfbench_searchers.halving import Halving
from wfbench_searchers.sweeps import Exhaustive, RandomSweep

META = {
    "env": "cage2:red=bline",
    "trainer": "ppo",
    "definition": "effective@2",
    "score": "last-episodes:3",
    "budget": 1_000_000,
    "command": "wfbench run --searcher exhaustive",
}
Score = Callable[[int, int], float]


def landscape(score: Score, runs: int = 4) -> Landscape:
    """One in which the k-th run of order i scores `score(i, k)`."""
    rows = [
        (order, Replicate(seed, score(index, seed), 0.97, 20_000, 1_000_000))
        for seed in range(runs)
        for index, order in enumerate(all_orders())
    ]
    return collect_landscape(rows, NAMED_UNITS, META)


def random_score(order_sd: float, seed_sd: float, seed: int = 1) -> Score:
    def score(index: int, run: int) -> float:
        value = np.random.default_rng([seed, index]).normal(-30, order_sd)
        return float(value + np.random.default_rng([seed, index, run]).normal(0, seed_sd))

    return score


def test_a_landscape_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    def score(index: int, run: int) -> float:
        return math.nan if (index, run) == (7, 1) else -math.pi * index + run / 3

    written = landscape(score)
    path = tmp_path / "cage2.json"
    write_landscape(path, written)
    read = read_landscape(path)
    assert read.units == written.units
    assert read.meta == META
    assert math.isnan(read.replicates[7][1].score)
    assert len(read.scores(7)) == 3
    assert [r for i, r in enumerate(read.replicates) if i != 7] == [
        r for i, r in enumerate(written.replicates) if i != 7
    ]
    assert path.stat().st_size < 1_000_000
    assert json.loads(path.read_text())["orders"][119]["order"] == "U>H>S>E>D"


def test_a_landscape_may_hold_compliance_that_nothing_tested(tmp_path: Path) -> None:
    rows = [(all_orders()[0], Replicate(0, -20.0, math.nan, None, 1_000))]
    write_landscape(tmp_path / "l.json", collect_landscape(rows, NAMED_UNITS, META))
    [[read]] = [one for one in read_landscape(tmp_path / "l.json").replicates if one]
    assert math.isnan(read.compliance)
    assert (read.score, read.env_steps) == (-20.0, 1_000)


def test_orders_that_were_not_trained_are_empty(tmp_path: Path) -> None:
    rows = [((4, 3, 2, 1, 0), Replicate(1, -3.0, 1.0, None, 10))]
    path = tmp_path / "part.json"
    write_landscape(path, collect_landscape(rows, NAMED_UNITS, META))
    read = read_landscape(path)
    assert [len(runs) for runs in read.replicates] == [0] * 119 + [1]
    assert read.replicates[119][0].steps_to_compliance is None


def edited(change: Callable[[dict[str, Any]], None]) -> Callable[[str], str]:
    def edit(text: str) -> str:
        data = json.loads(text)
        change(data)
        return json.dumps(data)

    return edit


@pytest.mark.parametrize(
    ("edit", "complaint"),
    [
        (lambda text: text[:-9], "not JSON"),
        (lambda _: "[]", "has schema None"),
        (edited(lambda d: d.update(schema="wfbench/landscape/9")), "landscape/9', not"),
        (edited(lambda d: d.pop("units")), "'units' is missing"),
        (edited(lambda d: d["orders"][3].pop("replicates")), "'replicates' is missing"),
        (edited(lambda d: d["orders"][3].update(index=4)), "D>E>H>U>S does not have index 4"),
        (edited(lambda d: d["orders"].append(d["orders"][0])), "order 0 is listed twice"),
        (
            edited(lambda d: d["orders"][3]["replicates"][0].update(compliance=3)),
            "order 3 has compliance 3.0",
        ),
        (edited(lambda d: d["orders"][3]["replicates"][0].update(score="x")), "not of type float"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(
    tmp_path: Path, edit: Callable[[str], str], complaint: str
) -> None:
    path = tmp_path / "bad.json"
    write_landscape(path, landscape(random_score(1, 1), runs=1))
    path.write_text(edit(path.read_text()))
    with pytest.raises(UsageError, match=complaint) as caught:
        read_landscape(path)
    assert str(path) in str(caught.value)


def test_a_missing_file_and_missing_terms_are_usage_errors(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No such file"):
        read_landscape(tmp_path / "none.json")
    with pytest.raises(UsageError, match="must name its definition"):
        collect_landscape([], NAMED_UNITS, {k: v for k, v in META.items() if k != "definition"})


@pytest.mark.parametrize(("order_sd", "seed_sd"), [(5.2, 9.2), (2.0, 2.5), (0.0, 1.7)])
def test_signal_and_noise_are_told_apart(order_sd: float, seed_sd: float) -> None:
    signal = measure_signal(landscape(random_score(order_sd, seed_sd), runs=6))
    assert signal.seed_sd == pytest.approx(seed_sd, rel=0.1)
    assert signal.order_sd == pytest.approx(order_sd, abs=0.25 * seed_sd)
    true = order_sd**2 / (order_sd**2 + seed_sd**2)
    assert signal.icc_low <= signal.icc <= signal.icc_high
    assert signal.icc == pytest.approx(true, abs=0.12)
    assert signal.reliability >= signal.icc
    assert (signal.orders, signal.runs) == (120, 720)


def test_signal_counted_by_hand() -> None:
    """Three orders twice: means 1, 3, 8; within-order variances 2, 2, 0 (mean 4/3)."""
    scores = {0: (0.0, 2.0), 1: (2.0, 4.0), 2: (8.0, 8.0)}
    rows = [
        (all_orders()[index], Replicate(seed, score, 1.0, None, 1))
        for index, both in scores.items()
        for seed, score in enumerate(both)
    ]
    signal = measure_signal(collect_landscape(rows, NAMED_UNITS, META))
    between = (2 * ((1 - 4) ** 2 + (3 - 4) ** 2 + (8 - 4) ** 2) / 2 - 4 / 3) / 2
    assert signal.seed_sd**2 == pytest.approx(4 / 3)
    assert signal.order_sd**2 == pytest.approx(between)
    assert signal.icc == pytest.approx(between / (between + 4 / 3))
    assert signal.reliability == pytest.approx(between / (between + 2 / 3))


def test_one_run_per_order_says_nothing_about_noise() -> None:
    with pytest.raises(UsageError, match="more seeds"):
        measure_signal(landscape(random_score(1, 1), runs=1))


def test_a_recorded_world_has_the_signal_that_was_measured() -> None:
    """Means of four runs differ by more than the orders do; the world's values do not."""
    recorded = landscape(random_score(2.0, 6.0), runs=4)
    world, signal = recorded_world(recorded)
    values = world.values(0)
    means = np.array([np.mean(recorded.scores(index)) for index in range(120)])
    assert values.std(ddof=1) == pytest.approx(signal.order_sd, rel=0.02)
    assert means.std() > 1.3 * values.std()
    assert (np.argsort(values) == np.argsort(means)).all()
    rng = np.random.default_rng(0)
    luck = [world.run(index, rng) for index in range(120) for _ in range(40)]
    assert np.std(luck) == pytest.approx(signal.seed_sd, rel=0.05)
    assert np.mean(luck) == pytest.approx(0.0, abs=0.4)


def test_no_order_has_luck_of_its_own() -> None:
    """Two runs of an order that happen to be alike do not make it one that is easy to judge."""

    def score(index: int, run: int) -> float:
        return -float(index) + (0.0 if index < 60 else 4.0 * run)

    world, signal = recorded_world(landscape(score, runs=2))
    rng = np.random.default_rng(0)
    for half in (range(60), range(60, 120)):
        luck = [world.run(index, rng) for index in half for _ in range(40)]
        assert np.std(luck) == pytest.approx(signal.seed_sd, rel=0.05)


def test_runs_of_an_order_with_more_of_them_differ_no_more() -> None:
    """Differences from the mean of two runs are smaller than from that of six; luck is not."""
    noise = np.random.default_rng(3).normal(0.0, 5.0, (120, 6))
    rows = [
        (order, Replicate(run, float(index + noise[index, run]), 1.0, None, 1))
        for index, order in enumerate(all_orders())
        for run in range(6 if index % 2 else 2)
    ]
    world, _ = recorded_world(collect_landscape(rows, NAMED_UNITS, META))
    assert len(world.luck) == 60 * 6 + 60 * 2
    assert world.luck.std() == pytest.approx(5.0, rel=0.1)


def test_an_order_with_one_run_has_the_luck_of_the_others() -> None:
    rows = [
        (order, Replicate(run, float(index + 3 * run), 1.0, None, 1))
        for index, order in enumerate(all_orders())
        for run in range(1 if index == 7 else 2)
    ]
    world, signal = recorded_world(collect_landscape(rows, NAMED_UNITS, META))
    rng = np.random.default_rng(0)
    luck = [world.run(7, rng) for _ in range(400)]
    assert np.std(luck) == pytest.approx(signal.seed_sd, rel=0.05)


def test_failed_runs_fail_again() -> None:
    def score(index: int, run: int) -> float:
        return math.nan if index == 3 and run < 2 else float(index + run)

    world, _ = recorded_world(landscape(score))
    rng = np.random.default_rng(0)
    failed = np.mean([math.isnan(world.run(3, rng)) for _ in range(400)])
    assert failed == pytest.approx(0.5, abs=0.1)
    assert not any(math.isnan(world.run(4, rng)) for _ in range(50))


def test_a_landscape_with_holes_cannot_be_searched() -> None:
    rows = [
        (order, Replicate(s, 1.0 * s, 1.0, None, 1)) for order in all_orders()[:30] for s in (1, 2)
    ]
    with pytest.raises(UsageError, match="no run of 90 orders, such as order 30"):
        recorded_world(collect_landscape(rows, NAMED_UNITS, META))


@pytest.mark.parametrize("shape", ["mallows", "pairs"])
def test_a_synthetic_world_has_one_best_order_and_the_noise_asked_for(shape: Any) -> None:
    world = SyntheticWorld(shape, icc=0.2)
    best = set()
    for seed in range(20):
        values = world.values(seed)
        assert values.std() == pytest.approx(5.0)
        assert np.count_nonzero(values > values.max() - 1e-6) == 1
        best.add(int(values.argmax()))
    assert len(best) > 10
    rng = np.random.default_rng(1)
    noise = np.var([world.run(0, rng) for _ in range(4000)])
    assert 25 / (25 + noise) == pytest.approx(0.2, abs=0.02)


@pytest.mark.parametrize("icc", [0.0, -1.0, 1.5, math.nan])
def test_senseless_correlations_are_refused(icc: float) -> None:
    with pytest.raises(UsageError, match="icc is"):
        SyntheticWorld("mallows", icc)


class Fixed:
    """Always asks the same order, and has nothing to recommend."""

    def __init__(self, order: Order) -> None:
        self.order = order
        self.told: list[float] = []

    def ask(self) -> Order:
        return self.order

    def tell(self, order: Order, outcome: Outcome) -> None:
        assert order == self.order
        self.told.append(outcome.score)

    def state(self) -> dict[str, Any]:
        return {}

    def load(self, state: Any) -> None:
        del state


def test_regret_of_a_searcher_that_never_moves_is_known() -> None:
    world, _ = recorded_world(landscape(lambda index, run: -float(index) + run))
    values = world.values(0)
    curves = regret_curves(lambda _: Fixed(all_orders()[9]), world, asks=5, seeds=3)
    expected = values[0] - values[9]
    assert curves.recommended == pytest.approx(np.full((3, 5), expected))
    assert curves.best_asked == pytest.approx(np.full((3, 5), expected))
    assert curves.repeats == pytest.approx(0.8)


class Listed(Fixed):
    """Asks for orders one after the other."""

    def __init__(self, *orders: Order) -> None:
        self.orders = list(orders)

    def ask(self) -> Order:
        return self.orders.pop(0)

    def tell(self, order: Order, outcome: Outcome) -> None:
        pass


def test_rivals_are_compared_after_the_whole_budget() -> None:
    world, _ = recorded_world(landscape(lambda index, _: -float(index)))
    one, two, three, *_, last = all_orders()
    late, never = ((last, three, one), (last, three, two))
    searchers = {"late": lambda _: Listed(*late), "never": lambda _: Listed(*never)}
    [rival] = run_bench(searchers, world, asks=3, seeds=3).rivals
    assert (rival.comparison.better, rival.comparison.worse) == (1.0, 0.0)


def test_without_noise_a_full_sweep_finds_the_best_order() -> None:
    world = SyntheticWorld("mallows", icc=1.0)
    for build in (Exhaustive, RandomSweep):
        curves = regret_curves(build, world, asks=120, seeds=3)
        assert curves.recommended[:, -1] == pytest.approx(0.0)
        assert (np.diff(curves.recommended, axis=1) <= 1e-12).all()
        assert (curves.recommended[:, 0] > 0).all()


def test_every_searcher_meets_the_same_luck() -> None:
    searchers: list[Fixed] = []

    def build(_: SearcherSetup) -> Fixed:
        searchers.append(Fixed(all_orders()[4]))
        return searchers[-1]

    world = SyntheticWorld("pairs", icc=0.3)
    regret_curves(build, world, asks=4, seeds=2)
    regret_curves(build, world, asks=4, seeds=2)
    assert searchers[0].told == searchers[2].told
    assert searchers[1].told == searchers[3].told
    assert searchers[0].told != searchers[1].told
    assert len(set(searchers[0].told)) == 4


def test_partial_budgets_are_charged_as_parts() -> None:
    world = SyntheticWorld("mallows", icc=0.5)
    asked: list[int] = []

    class Watched(Halving):
        def tell(self, order: Order, outcome: Outcome) -> None:
            asked.append(order_index(order))
            super().tell(order, outcome)

    regret_curves(lambda setup: Watched(setup, orders=9, eta=3), world, asks=3, seeds=1)
    assert len(asked) == 13


def test_the_seed_of_a_world_tells_a_searcher_nothing() -> None:
    """A searcher that draws from its seed as a world does starts no better than chance."""
    world = SyntheticWorld("mallows", icc=0.3)

    class Peeking(Fixed):
        def __init__(self, setup: SearcherSetup) -> None:
            rng = np.random.default_rng([setup.seed, 0])
            super().__init__(all_orders()[int(rng.integers(120))])

    curves = regret_curves(Peeking, world, asks=1, seeds=60)
    assert curves.recommended[:, 0].mean() > 10


def test_gp_ucb_beats_random_where_there_is_something_to_find() -> None:
    searchers = {"gp-ucb": GpUcb, "random": RandomSweep}
    bench = run_bench(searchers, SyntheticWorld("mallows", icc=0.8), asks=20, seeds=25)
    [rival] = bench.rivals
    assert rival.comparison.difference.high < 0
    assert rival.comparison.better > rival.comparison.worse + 0.5


def test_nobody_wins_where_there_is_nothing_to_find() -> None:
    world, signal = recorded_world(landscape(random_score(0.0, 3.0, seed=5)))
    assert signal.icc < 0.1
    bench = run_bench({"gp-ucb": GpUcb, "random": RandomSweep}, world, asks=10, seeds=10)
    for searcher in bench.searchers:
        assert searcher.recommended[-1].median <= 3 * signal.order_sd + 1e-9


def test_the_same_bench_twice_gives_the_same_numbers() -> None:
    world = SyntheticWorld("pairs", icc=0.3)
    benches = [
        run_bench({"gp-ucb": GpUcb}, world, asks=6, seeds=4, seed=seed) for seed in (1, 1, 2)
    ]
    curves = [bench.searchers[0].recommended for bench in benches]
    assert curves[0] == curves[1]
    assert curves[0] != curves[2]


def test_medians_and_comparisons() -> None:
    values = np.arange(101.0)
    interval = median_interval(values)
    assert interval.median == 50.0
    assert 30 < interval.low < 50 < interval.high < 70
    comparison = compare(np.array([1.0, 2.0, 3.0, 4.0]), np.array([2.0, 2.0, 5.0, 3.0]))
    assert (comparison.better, comparison.worse) == (0.5, 0.25)
    assert comparison.difference.median == -0.5


def test_a_batch_changes_nothing_for_who_learns_nothing_and_delays_who_does() -> None:
    world = SyntheticWorld("mallows", icc=0.8)
    one, four = (
        {
            "random": regret_curves(RandomSweep, world, asks=12, seeds=8, batch=batch),
            "gp-ucb": regret_curves(GpUcb, world, asks=12, seeds=8, batch=batch),
        }
        for batch in (1, 4)
    )
    assert np.array_equal(one["random"].recommended, four["random"].recommended)
    assert np.array_equal(one["gp-ucb"].recommended[:, 0], four["gp-ucb"].recommended[:, 0])
    assert not np.array_equal(one["gp-ucb"].best_asked, four["gp-ucb"].best_asked)
    assert four["gp-ucb"].recommended[:, -1].mean() < four["random"].recommended[:, -1].mean()
