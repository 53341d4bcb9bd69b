"""How a round is measured: who lives beside whom, for how long, and what others used meanwhile."""

from __future__ import annotations

import os
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

from wfbench.benchmarks.measure import rounds
from wfbench.benchmarks.measure.live import take_turns
from wfbench.benchmarks.measure.model import Case, Measurement, Sample, Session, Settings
from wfbench.benchmarks.measure.rounds import Attempt, measure_group
from wfbench.benchmarks.measure.runner import run_session, schedule
from wfbench.benchmarks.measure.turns import Turn, cpu_of, log_ratio_of, rate_of
from wfbench.contract import CollectError, EnvRef, UsageError
from wfbench.processes import usage

MEASURED = Measurement(
    *(0.5, 0.1, 2.0, 3.0, 0.0, 1000, 10, 2**20, {"env": 2.0}, 0, 0, 0, 0, 0.0, 0, (), "h", False)
)


def case(label: str, n_envs: int = 4) -> Case:
    return Case(label, "made:C", {}, EnvRef("e", "made:E"), n_envs, "random", True)  # noqa: FBT003


class Process:
    """A live process that answers at once, and what it was asked for."""

    made: list[Process]
    warm_up, took = 0.1, 0.1
    broken = ""

    def __init__(self, _: Any) -> None:
        self.members = [os.getpid()]
        self.asked: list[tuple[Any, ...]] = []
        Process.made.append(self)

    def ask(self, what: str, *arguments: Any, limit: float | None = None) -> Any:
        self.asked.append((what, limit))
        if what == Process.broken:
            raise CollectError("it hung")
        if what == "end":
            self.asked[-1] = what, *arguments
            return MEASURED
        known = {"open": (self.warm_up, []), "settle": self.took, "window": (100, 0.5, 0.25)}
        return known[what]

    def turn(self, cores: Sequence[int], seconds: float, *, limit: float) -> Turn:
        self.asked.append(("turn", seconds, limit, cores))
        return Turn(100, 0.5, 0.25)

    def adopt(self, workers: list[int]) -> None:
        self.members += workers

    def close(self) -> None:
        self.asked.append(("close",))


@pytest.fixture
def processes(monkeypatch: pytest.MonkeyPatch) -> list[Process]:
    """The processes that are started; other programs use a quarter of a core beside them."""
    for name in ("warm_up", "took", "broken"):
        monkeypatch.setattr(Process, name, getattr(Process, name))
    monkeypatch.setattr(Process, "made", [], raising=False)
    monkeypatch.setattr(rounds, "Live", Process)
    monkeypatch.setattr(rounds, "Isolated", lambda *_: None)
    monkeypatch.setattr(usage, "snapshot", lambda _: SimpleNamespace(at=10.0))
    monkeypatch.setattr(usage, "used_since", lambda _: SimpleNamespace(foreign_cpu=0.5))
    monkeypatch.setattr(rounds, "monotonic", lambda: 12.0)
    monkeypatch.setattr(usage, "memory_bytes", lambda _: 1000)
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=2001))
    return Process.made


def group(settings: Settings, cases: int = 2) -> list[Sample]:
    planned = [Sample(index, 0, index, 7) for index in range(cases)]
    return list(measure_group(planned, [case(str(index)) for index in range(cases)], settings))


def test_two_cases_take_turns_and_wait_as_long_as_they_may(processes: list[Process]) -> None:
    mine = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(mine)})
        other, first = group(Settings(seconds=0.9))
    finally:
        os.sched_setaffinity(0, mine)
    turn = ("turn", 0.1, 0.1 + 2 * 60 + 120, [min(mine)])
    before = [("open", 300 + 60 + 120), ("settle", 60 + 120)]
    assert [one.asked for one in processes] == [
        [*before, *[turn] * 2, ("end", 0), ("close",), ("close",)],
        [*before, *[turn] * 2, ("end", 1), ("close",), ("close",)],
    ]
    assert (other.case, first.case) == (1, 0)
    assert other.measurement is not None
    assert first.measurement is not None
    assert other.measurement.turns == other.measurement.beside == (Turn(100, 0.5, 0.25),) * 2
    assert first.measurement.turns == ()
    assert other.measurement.foreign_cpu == first.measurement.foreign_cpu == 0.25 * 1.0


@pytest.mark.parametrize(
    ("warm_up", "took", "seconds", "turns"),
    [
        (5.0, 0.25, 1.0, True),
        (5.1, 0.25, 1.0, False),
        (0.1, 0.26, 1.0, False),
        (0.1, 0.25, 0.99, False),
        (0.1, 0.0, 1.0, False),
    ],
)
def test_a_collect_that_is_too_slow_takes_no_turns(
    processes: list[Process],
    monkeypatch: pytest.MonkeyPatch,
    warm_up: float,
    took: float,
    seconds: float,
    *,
    turns: bool,
) -> None:
    monkeypatch.setattr(Process, "warm_up", warm_up)
    monkeypatch.setattr(Process, "took", took)
    found = group(Settings(seconds=seconds))
    assert [bool(one.measurement and one.measurement.turns) for one in found] == [turns, False]
    windows = [
        limit for one in processes for what, limit, *_ in map(padded, one.asked) if what == "window"
    ]
    assert windows == ([] if turns else [seconds + 60 + 120] * 2)


def padded(asked: tuple[Any, ...]) -> tuple[Any, ...]:
    return (*asked, None)


@pytest.mark.parametrize(("free", "together"), [(2000, False), (2001, True)])
def test_two_live_together_only_if_there_is_memory_for_both(
    processes: list[Process], monkeypatch: pytest.MonkeyPatch, free: int, *, together: bool
) -> None:
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=free))
    found = group(Settings())
    assert [one.case for one in found] == ([1, 0] if together else [0, 1])
    assert any(one.measurement and one.measurement.beside for one in found) == together
    assert len(processes) == 2


def test_the_first_takes_turns_with_all_others(processes: list[Process]) -> None:
    *others, first = group(Settings(), cases=3)
    assert [one.case for one in others] == [1, 2]
    assert all(one.measurement and one.measurement.beside for one in others)
    assert first.measurement is not None
    assert first.measurement.foreign_cpu == 0.25 * 2.0  # four turns of half a second
    assert [what for what, *_ in processes[0].asked].count("turn") == 4


@pytest.mark.parametrize("broken", ["open", ""])
def test_a_first_case_that_takes_no_turns_is_sampled_once(
    processes: list[Process], monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    monkeypatch.setattr(Process, "broken", broken)
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=2000))
    found = group(Settings(), cases=4)
    assert [one.case for one in found] == [0, 1, 2, 3]
    assert len(processes) == 4


@pytest.mark.parametrize("broken", ["open", "settle", "window", "end"])
def test_whoever_fails_says_so_and_is_asked_nothing_more(
    processes: list[Process], monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    monkeypatch.setattr(Process, "broken", broken)
    if broken == "window":
        monkeypatch.setattr(Process, "took", 9.0)
    found = group(Settings())
    assert [one.failure for one in found] == ["it hung"] * 2
    assert [one.case for one in found] == ([0, 1] if broken == "open" else [1, 0])
    for process in processes:
        assert process.asked[-1] == ("close",)
        rest = process.asked[[what for what, *_ in process.asked].index(broken) + 1 :]
        assert {what for what, *_ in rest} == {"close"}


def test_what_others_used_is_unknown_if_it_is_for_some_turns(processes: list[Process]) -> None:
    one = Attempt(Sample(0, 0, 0, 7), [case("a")], Settings())
    one.keep([Turn(1, 2.0, 1.0)], 0.5)
    one.keep([Turn(1, 2.0, 1.0), Turn(1, 1.0, 1.0)], 0.5)
    assert one._foreign == 2.5
    one.keep([Turn(1, 2.0, 1.0)], None)
    one.keep([Turn(1, 2.0, 1.0)], 0.5)
    measured = one.sample().measurement
    assert measured is not None
    assert measured.foreign_cpu is None
    assert len(processes) == 1
    assert not one.fits_twice(), "it has ended"


@pytest.mark.parametrize(
    ("seconds", "given", "blocks"),
    [(0.0, {}, 1), (2.0, {}, 1), (2.1, {}, 2), (0.0, {"least": 3}, 3), (6.5, {"least": 3}, 4)],
)
@pytest.mark.parametrize("second", [False, True])
def test_turns_are_taken_in_blocks(
    seconds: float, given: dict[str, int], blocks: int, *, second: bool
) -> None:
    taken: list[int] = []

    def side(which: int) -> Turn:
        taken.append(which)
        return Turn(which, 1.0, 1.0)

    more = {"second": True} if second else {}
    sides = [lambda: side(0), lambda: side(1)]
    found = take_turns(sides, seconds, **given, **more)  # type: ignore[arg-type]
    assert taken == ([1, 0, 0, 1] if second else [0, 1, 1, 0]) * blocks
    assert [len(turns) for turns in found] == [2 * blocks] * 2


def test_a_ratio_is_the_middle_of_blocks_of_two_turns() -> None:
    turns = [(100, 1.0, 2.0), (300, 1.0, 2.0), (200, 1.0, 4.0), (200, 1.0, 8.0), (400, 0.5, 1.0)]
    beside = [(100, 1.0, 1.0)] * 5
    assert rate_of(turns[:2]) == 200.0
    assert cpu_of(turns[:2]) == 0.01
    for figure, ratios in ((rate_of, (2.0, 2.0, 8.0)), (cpu_of, (1.0, 3.0, 0.25))):
        logs = [log_ratio_of(figure, turns[i : i + 2], beside[i : i + 2]) for i in (0, 2, 4)]
        assert [round(2.718281828459045**one, 9) for one in logs] == list(ratios)
        assert log_ratio_of(figure, turns, beside) == pytest.approx(sum(logs) / 3)


def test_rounds_of_a_seed_are_always_shuffled_alike() -> None:
    sequences = [[one.case for one in block] for block in schedule(6, Settings(rounds=3))]
    assert sequences == [[4, 2, 5, 3, 0, 1], [3, 5, 0, 2, 1, 4], [4, 2, 1, 3, 5, 0]]


class TestSkipping:
    CASES = (case("a", 9), case("b", 4), case("c", 1), case("d", 2))

    def test_the_first_round_goes_from_few_to_many_and_all_may_be_left_out(self) -> None:
        seen: list[tuple[int, int]] = []
        told: list[int] = []

        def skip(session: Session, planned: Sample) -> str:
            seen.append((planned.round, planned.case))
            return f"why {len(session.samples)}"

        settings = Settings(rounds=3, seed=2)
        found = run_session(self.CASES, settings, lambda s: told.append(len(s.samples)), skip)
        planned = [[one.case for one in block] for block in schedule(4, settings)]
        rows = [[2, 3, 1, 0], *planned[1:]]
        assert all(block != rows[0] for block in planned), "the seed was chosen for it"
        assert seen == [(number, index) for number, row in enumerate(rows) for index in row]
        assert [one.skipped for one in found.samples] == [f"why {n}" for n in range(12)]
        assert [one.position for one in found.samples] == list(range(12))
        assert told == list(range(13))

    def test_it_ends_after_the_round_that_is_enough(self) -> None:
        found = run_session(
            *(self.CASES, Settings(rounds=9), None, lambda *_: "why"),
            lambda so_far: len(so_far.samples) >= 8,
        )
        assert (found.settings.rounds, len(found.samples)) == (2, 8)


@pytest.mark.parametrize(("seconds", "fits"), [(0.5, True), (3600.0, True), (3600.5, False)])
def test_a_sample_takes_an_hour_at_most(seconds: float, *, fits: bool) -> None:
    if fits:
        assert Settings(seconds=seconds, rounds=1, steps=1, seed=0).seconds == seconds
    else:
        with pytest.raises(UsageError, match="must be between 0 and 3600"):
            Settings(seconds=seconds)
