"""What landscapes and searches of chosen numbers give, to the digit.

`pytest --update-golden` writes the files anew after an intended change; look at the difference.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wfbench.contract import Order, Outcome, SearcherSetup, UsageError
from wfbench.orders import NAMED_UNITS, all_orders
from wfbench.search.landscape import regret
from wfbench.search.landscape.records import (
    META,
    Landscape,
    Replicate,
    collect_landscape,
    read_landscape,
    write_landscape,
)
from wfbench.search.landscape.signal import measure_signal
from wfbench.search.landscape.world import SyntheticWorld, recorded_world
from wfbench_searchers.halving import Halving
from wfbench_searchers.sweeps import RandomSweep

TERMS: dict[str, Any] = {**dict.fromkeys(META, "x"), "command": "wfbench run --env µ"}


def scored(scores: dict[int, tuple[float, ...]]) -> Landscape:
    """The landscape in which these orders have these scores."""
    rows = [
        (all_orders()[index], Replicate(seed, score, 1.0, None, 1))
        for index, runs in scores.items()
        for seed, score in enumerate(runs)
    ]
    return collect_landscape(rows, NAMED_UNITS, TERMS)


def noisy() -> Landscape:
    """One in which one to four runs of every order scatter, and every fifth order fails once."""
    rng = np.random.default_rng(7)
    found = {}
    for index in range(120):
        runs = rng.normal(-0.1 * index, 3.0, int(rng.integers(1, 5))).tolist()
        found[index] = (*runs, math.nan) if index % 5 == 0 else tuple(runs)
    return scored(found)


class InTurn:
    """Asks for orders in turn, alone or several at a time, and keeps what it is told."""

    def __init__(self, setup: SearcherSetup) -> None:
        self._orders = iter(all_orders(setup.num_units))
        self.sizes: list[int] = []
        self.told: list[Outcome] = []

    def ask(self) -> Order:
        return next(self._orders)

    def ask_batch(self, size: int) -> list[Order]:
        self.sizes.append(size)
        return [self.ask() for _ in range(size)]

    def tell(self, order: Order, outcome: Outcome) -> None:
        assert order
        self.told.append(outcome)

    def state(self) -> dict[str, Any]:
        return {}

    def load(self, state: Any) -> None:
        del state


def test_searches_of_chosen_worlds_are_what_they_were(
    golden: Callable[[str, str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(regret, "perf_counter", count().__next__)
    recorded, signal = recorded_world(noisy())
    worlds = {
        "pairs": SyntheticWorld("pairs", icc=0.3),
        "mallows": SyntheticWorld("mallows", icc=0.6),
        "recorded": recorded,
    }
    searchers: dict[str, regret.Build] = {
        "random": RandomSweep,
        "in turn": InTurn,
        "halving": lambda setup: Halving(setup, orders=9, eta=3),
    }
    lines = [repr(signal), repr(signal.reliability), f"{recorded.failing[:6].tolist()}"]
    for name, world in worlds.items():
        lines.append(f"{name}: {world.values(3)[:8].tolist()}")
        for batch in (1, 3):
            found = regret.run_bench(searchers, world, asks=5, seeds=4, batch=batch)
            lines += [f"batch {found.batch} of seed {found.seed}"]
            lines += [*map(repr, found.searchers), *map(repr, found.rivals)]
    lines.append(repr(regret.median_interval(np.random.default_rng(1).normal(0.0, 1.0, 40))))
    golden("searches.txt", "\n".join(lines))


def test_asks_and_tells_are_timed_and_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock that moves a second when it is looked at: one for an ask, one for a tell."""
    monkeypatch.setattr(regret, "perf_counter", count().__next__)
    made: list[InTurn] = []

    def build(setup: SearcherSetup) -> InTurn:
        made.append(InTurn(setup))
        return made[-1]

    world = SyntheticWorld("mallows", icc=1.0)
    one = regret.regret_curves(build, world, asks=1, seeds=1)
    assert (one.ask_seconds, one.repeats) == (2.0, 0.0)
    two = regret.regret_curves(build, world, asks=4, seeds=1, batch=2)
    assert (two.ask_seconds, two.repeats) == (2.0, 0.0)
    assert [searcher.sizes for searcher in made] == [[], [2, 2]]
    assert [(o.compliance, o.compliant, o.env_steps, o.seed) for o in made[1].told] == [
        (1.0, True, 1, number) for number in (1, 2, 3, 4)
    ]


def test_who_recommends_nothing_gets_the_best_mean_of_what_did_not_fail() -> None:
    told = {5: [math.nan], 6: [-50.0, -40.0], 7: [math.nan, -60.0]}
    searcher: Any = object()
    assert regret._recommended(searcher, told) == 6
    assert regret._recommended(searcher, {5: [math.nan]}) == 5


def test_signal_does_not_depend_on_the_unit_of_scores() -> None:
    scores = {0: (0.0, 2.0), 1: (2.0, 4.0), 2: (8.0, 8.0)}
    large = measure_signal(scored(scores))
    small = measure_signal(
        scored({index: tuple(one / 100 for one in runs) for index, runs in scores.items()})
    )
    assert small.icc == pytest.approx(large.icc)
    assert (small.icc_low, small.icc_high) == pytest.approx((large.icc_low, large.icc_high))
    assert small.reliability == pytest.approx(large.reliability)
    assert 0 < small.order_sd < 0.1


def test_two_orders_and_one_second_run_are_enough_for_a_signal() -> None:
    found = measure_signal(scored({0: (0.0, 2.0), 1: (7.0,)}))
    assert (found.orders, found.runs) == (2, 3)
    assert found.seed_sd**2 == pytest.approx(2.0)
    for few in ({0: (0.0, 2.0)}, {0: (0.0,), 1: (1.0,)}):
        with pytest.raises(UsageError, match="at least two orders and a second run"):
            measure_signal(scored(few))
    assert measure_signal(scored({0: (1.0, 1.0), 1: (1.0, 1.0)})).reliability == 0.0


def test_a_landscape_is_written_as_it_was(
    tmp_path: Path, golden: Callable[[str, str], None]
) -> None:
    rows = [
        ((0, 1), Replicate(2, -20.5, 0.0, None, 1_000)),
        ((0, 1), Replicate(1, math.nan, math.nan, 30, 1_000)),
        ((1, 0), Replicate(1, 3.0, 1.0, 40, 2_000)),
    ]
    written = collect_landscape(rows, ("a", "b"), TERMS)
    path = tmp_path / "l.json"
    write_landscape(path, written)
    golden("landscape.json", path.read_text(encoding="utf-8"))
    read = read_landscape(path)
    assert read.replicates[0][1] == written.replicates[0][1]
    assert read.replicates[1] == written.replicates[1]
    path.write_text(path.read_text(encoding="utf-8").replace("1.0,", "1.5,"), encoding="utf-8")
    with pytest.raises(UsageError, match=r"order 1 has compliance 1\.5"):
        read_landscape(path)
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_landscape(path, collect_landscape(rows, ("a", "b"), {**TERMS, "budget": math.nan}))
