"""How a pair is measured, with sides that answer at once and on a clock of the test."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from wfbench.benchmarks.measure.turns import Turn
from wfbench.benchmarks.revisions import pairs, series
from wfbench.benchmarks.revisions.model import Pair, Request, SideSample
from wfbench.benchmarks.revisions.pairs import Place, measure_pair
from wfbench.benchmarks.revisions.series import Effort, side_by_side
from wfbench.contract import CollectError

PLACES = (Place(Path("old")), Place(Path("new")))
ASKED = Request("sequential", "synthetic", 2)


class Machine:
    """Sides whose turns take a second each, the CPU time of one core, and what happened to them."""

    def __init__(self) -> None:
        self.now, self.busy = 100.0, 40.0
        self.others = 0.0
        self.known = (True, True)
        self.log: list[str] = []
        self.steps: list[int] = []
        self.marks: dict[str, list[str]] = {}
        self.broken = ""

    def side(self, place: Place) -> Any:
        name, machine = place.path.name, self

        class Side:
            def open(self, *_: Any) -> tuple[float, str]:
                machine.log.append(f"open {name}")
                return {"old": 1.0, "new": 2.0}[name], f"proof of {name}"

            def turn(self, _cores: Any, _seconds: float, steps: int) -> Turn:
                machine.log.append(name)
                machine.steps.append(steps)
                machine.now += 1.0
                machine.busy += 1.0 + machine.others
                if machine.broken == name:
                    raise CollectError(f"{name} died")
                return Turn({"old": 10, "new": 20}[name], 1.0, 1.0)

            def ask(self, what: str) -> Any:
                machine.log.append(f"{what} {name}")
                answers = {"fitting_steps": 9, "memory": {"old": 5, "new": 6}[name]}
                return machine.marks.get(name, []) if what == "end" else answers[what]

            def close(self) -> None:
                machine.log.append(f"close {name}")

        return Side()

    def times(self) -> Any:
        first = "asked" not in self.log
        self.log.append("asked")
        known = self.known[0] if first else self.known[1]
        return SimpleNamespace(busy=self.busy) if known else None


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    found = Machine()
    monkeypatch.setattr(pairs, "LiveSide", found.side)
    monkeypatch.setattr(pairs, "machine_times", found.times)
    monkeypatch.setattr(pairs, "monotonic", lambda: found.now)
    return found


def measured(planned: Pair, seconds: float = 0.0) -> Pair:
    return measure_pair(ASKED, planned, PLACES, seconds=seconds, cores=[0])


@pytest.mark.parametrize("number", range(4))
def test_who_begins_alternates_from_round_to_round(machine: Machine, number: int) -> None:
    found = measured(Pair(0, number, 1))
    first, second = ("old", "new") if number in {0, 2} else ("new", "old")
    block = [first, second, second, first]
    begun = [f"open {first}", f"open {second}", "fitting_steps old"]
    turns = ["old", "new", "asked", *block, *block, *block, "asked"]
    ends = ["memory old", "memory new", "end old", "end new", f"close {second}", f"close {first}"]
    assert machine.log == [*begun, *turns, *ends]
    assert found.old == SideSample(1.0, 5, (Turn(10, 1.0, 1.0),) * 6, "proof of old")
    assert found.new == SideSample(2.0, 6, (Turn(20, 1.0, 1.0),) * 6, "proof of new")
    assert (found.round, found.seed, found.failure) == (number, 1, None)


@pytest.mark.parametrize(("asked", "taken"), [(0, 9), (4, 4)])
def test_what_fits_is_asked_for_where_no_steps_are_planned(
    machine: Machine, asked: int, taken: int
) -> None:
    assert measured(Pair(0, 0, 1, steps=asked)).steps == taken
    assert set(machine.steps) == {taken}


@pytest.mark.parametrize(
    ("others", "known", "cores"),
    [
        (0.25, (True, True), 0.25),
        (-0.5, (True, True), 0.0),
        (0.25, (False, True), 0.0),
        (0.25, (True, False), 0.0),
    ],
)
def test_what_others_used_is_the_rest_of_what_the_machine_did(
    machine: Machine, others: float, known: tuple[bool, bool], cores: float
) -> None:
    machine.others, machine.known = others, known
    assert measured(Pair(0, 0, 1), seconds=8.0).foreign_cores == cores
    assert machine.log.count("old") == machine.log.count("new") == 9


def test_a_side_that_dies_or_is_marked_is_a_failure(machine: Machine) -> None:
    machine.marks = {"old": ["late"], "new": ["torn", "late"]}
    assert measured(Pair(0, 0, 1)).failure == "marked: late; torn"
    machine.broken = "new"
    found = measured(Pair(2, 3, 1))
    assert found == replace(Pair(2, 3, 1), failure="new died")
    assert machine.log[-2:] == ["close old", "close new"]
    for metric in ("rate", "memory"):
        with pytest.raises(ValueError, match="was not measured: new died"):
            found.figures(metric)


@pytest.mark.parametrize("missing", ["old", "new"])
def test_half_a_pair_has_no_ratio(missing: str) -> None:
    side = SideSample(1.0, 5, (Turn(10, 1.0, 1.0),), None)
    half = replace(Pair(0, 0, 0, old=side, new=side), **{missing: None})
    with pytest.raises(ValueError, match="was not measured"):
        half.log_ratio("memory")


def test_figures_have_the_units_of_bench() -> None:
    old = SideSample(1.5, 5, (Turn(10, 2.0, 3.0),), None)
    new = SideSample(2.5, 6, (Turn(20, 2.0, 3.0),), None)
    pair = Pair(0, 0, 0, old=old, new=new)
    assert pair.figures("memory") == (5.0, 6.0)
    assert pair.figures("start-up") == (1.5, 2.5)
    assert pair.figures("rate") == (5.0, 10.0)
    assert pair.figures("cpu") == pytest.approx((3e5, 1.5e5))


def test_the_first_pair_of_a_case_is_no_measurement_and_tells_the_steps(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[tuple[str, int, float, list[int]]] = []
    watched: list[tuple[Request, int]] = []

    def measure(
        request: Request, planned: Pair, _: Any, *, seconds: float, cores: list[int]
    ) -> Pair:
        asked.append((request.collector, planned.steps, seconds, cores))
        failure = "it hung" if request.collector == "bad" else None
        return replace(planned, steps=planned.steps or 7, failure=failure)

    monkeypatch.setattr(series, "measure_pair", measure)
    mine = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(mine)})
        take = side_by_side(PLACES, Effort(seconds=0.5), lambda r, p: watched.append((r, p.round)))
    finally:
        os.sched_setaffinity(0, mine)
    cores = [min(mine)]
    good, bad = Request("good"), Request("bad")
    assert [take(good, Pair(0, number, 1)).steps for number in range(2)] == [7, 7]
    assert asked == [("good", 0, 0.0, cores), *[("good", 7, 0.5, cores)] * 2]
    assert watched == [(good, 0), (good, 1)]
    assert [take(bad, Pair(1, number, 1)).failure for number in range(2)] == ["it hung"] * 2
    assert asked[3:] == [("bad", 0, 0.0, cores)]
    assert len(watched) == 2
    assert side_by_side(PLACES, Effort())(good, Pair(0, 5, 1)).round == 5
