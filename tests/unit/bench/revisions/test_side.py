"""One side of a pair: what its process counts, and how it chooses the steps of a collect."""

from __future__ import annotations

import itertools
import os
from contextlib import closing
from pathlib import Path
from time import monotonic
from types import SimpleNamespace
from typing import Any

import pytest

import wfbench as package
from wfbench.benchmarks.measure.cases import select_cases
from wfbench.benchmarks.revisions import side as module
from wfbench.benchmarks.revisions.model import Request
from wfbench.benchmarks.revisions.pairs import LiveSide, Place
from wfbench.collecting.seeding import Purpose, make_plan
from wfbench.host.manager import PluginSettings, load_plugins
from wfbench.policies import RandomPolicy
from wfbench_collectors.sequential import SequentialCollector


class Timed(module.Side):
    """A side whose collects take so long per step, the first try of each number ten times."""

    def __init__(self, per_step: float) -> None:
        self.per_step = per_step
        self.asked: list[int] = []

    def turn(self, seconds: float, steps: int) -> tuple[int, float, float]:
        assert seconds == 0.0
        self.asked.append(steps)
        assert len(self.asked) <= 35, "it goes on with as many steps"
        return 0, steps * self.per_step * (1 if self.asked.count(steps) > 1 else 10), 0.0


@pytest.mark.parametrize(
    ("per_step", "tried"),
    [
        (0.006, [1]),
        (0.005, [1]),
        (0.00125, [1, 2, 4]),
        (0.0012, [1, 2, 4, 8]),
        (0.0002, [1, 2, 4, 8, 16, 32]),
        (0.0001, [1, 2, 4, 8, 16, 32, 50]),
        (0.00002, [1, 2, 4, 8, 16, 32, 50]),
    ],
)
def test_a_collect_has_steps_of_five_milliseconds_and_at_most_fifty(
    per_step: float, tried: list[int]
) -> None:
    timed = Timed(per_step)
    assert timed.fitting_steps() == tried[-1]
    asked = {steps: len(list(times)) for steps, times in itertools.groupby(timed.asked)}
    assert asked == dict.fromkeys(tried, 5)


class Counting:
    """A collector that makes six transitions in a collect."""

    def __init__(self) -> None:
        self.collects = 0

    def collect(self, _policy: Any, _steps: int) -> Any:
        self.collects += 1
        marks = ("late",) if self.collects == 2 else ()
        return SimpleNamespace(transitions=6, marks=marks)


@pytest.fixture
def counting(monkeypatch: pytest.MonkeyPatch) -> module.Side:
    """A side on clocks on which every look takes a second, and a worker's two."""
    looks, own, workers = (itertools.count(start) for start in (100, 50, 10))
    monkeypatch.setattr(module, "perf_counter", lambda: float(next(looks)))
    monkeypatch.setattr(module, "process_time", lambda: float(next(own)))
    monkeypatch.setattr(module, "clock_gettime", lambda _: 2.0 * next(workers))
    found = object.__new__(module.Side)
    found._collector, found._policy = Counting(), None
    found.marks, found._clocks = {}, [7]
    return found


@pytest.mark.parametrize(("seconds", "collects"), [(0.0, 1), (1.5, 2), (3.5, 4)])
def test_a_turn_goes_on_until_its_seconds_are_over(
    counting: module.Side, seconds: float, collects: int
) -> None:
    assert counting.turn(seconds, 5) == (6 * collects, float(collects), 3.0)
    assert list(counting.marks) == (["late"] if collects > 1 else [])


def test_a_side_proves_its_first_ten_steps_and_tells_when_it_was_open() -> None:
    host = load_plugins(PluginSettings(external=False))
    [case] = select_cases(
        host, collectors=["sequential"], env="synthetic", n_envs=[2], policy="random"
    )
    with SequentialCollector() as collector:
        info = collector.open(make_plan(case.env, 2, 3, purpose=Purpose.BENCH))
        first = collector.collect(RandomPolicy(info.num_actions), 10)
    began, cores = monotonic(), sorted(os.sched_getaffinity(0))
    with closing(LiveSide(Place(Path(package.__file__).parents[1]))) as side:
        start_up, proof = side.open(Request("sequential", "synthetic", 2), 3, cores)
    assert proof == first.transition_hash()
    assert 0.0 < start_up < monotonic() - began
