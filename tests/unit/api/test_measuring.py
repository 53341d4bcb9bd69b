"""Cases, rounds and progress of a bench, its rows, and the progress of revisions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from made_runs import CASES, MEASURED

import wfbench
from wfbench.api import measuring, revisions
from wfbench.api.results import Progress
from wfbench.benchmarks.measure.model import Sample, Session, Settings
from wfbench.benchmarks.measure.saved import SessionWriter
from wfbench.benchmarks.measure.stopping import MOST_ROUNDS, Limits
from wfbench.benchmarks.revisions.model import Pair, Request
from wfbench.benchmarks.scaling import points
from wfbench.contract import UsageError
from wfbench.processes.limits import usable_cores


@pytest.mark.parametrize(
    ("asked", "scaling", "sizes", "workers"),
    [
        ({}, False, [200], None),
        ({"n_envs": 3, "workers": 2}, False, [3], 2),
        ({"n_envs": [1, 5], "workers": [1]}, False, [1, 5], 1),
        ({}, True, list(points.SIZES), list(points.worker_counts(usable_cores()))),
        ({"smoke": True}, False, [200], None),
        ({"smoke": True, "workers": [1, 2]}, True, list(points.SMOKE_SIZES), [1, 2]),
        ({"n_envs": 7}, True, [7], list(points.worker_counts(usable_cores()))),
    ],
)
def test_a_bench_has_the_cases_that_were_asked_for(
    instead: Any, asked: dict[str, Any], *, scaling: bool, sizes: list[int], workers: Any
) -> None:
    plain = instead(measuring, "select_cases", ())
    grown = instead(points, "select_points", ())
    instead(measuring, "measure_session", (None, Path()))
    wfbench.bench(**asked, scaling=scaling)
    [(_, given)] = (grown if scaling else plain).calls
    assert (given["n_envs"], given["workers"]) == (sizes, workers)
    assert (given["env"], given["policy"], given["collectors"]) == ("cage2", "random", ["all"])


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"n_envs": []}, "not a list of positive numbers"),
        ({"n_envs": 0}, "--n-envs 0: this is not a list of positive numbers"),
        ({"n_envs": [2, -1]}, "--n-envs 2,-1: this is not"),
        ({"n_envs": [2, 2]}, "--n-envs 2,2: a number is given twice"),
        ({"workers": [0]}, "--workers 0: this is not"),
        ({"workers": [1, 2]}, "several numbers of --workers need --scaling"),
        ({"smoke": True, "budget": 3.0}, "leave --budget and --until-precision out"),
        ({"scaling": True, "until_precision": 0.1}, "leave --budget and --until-precision out"),
    ],
)
def test_what_a_bench_cannot_use_is_refused(asked: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        wfbench.bench(**asked)


@pytest.mark.parametrize(
    ("asked", "rounds"),
    [
        ({}, 5),
        ({"rounds": 3}, 3),
        ({"budget": 9.0}, MOST_ROUNDS),
        ({"until_precision": 0.1}, MOST_ROUNDS),
        ({"budget": 9.0, "rounds": 3}, 3),
        ({"smoke": True}, 2),
        ({"scaling": True}, 3),
    ],
)
def test_a_bench_has_as_many_rounds_as_its_limits_leave_room_for(
    instead: Any, asked: dict[str, Any], rounds: int
) -> None:
    instead(measuring, "select_cases", ())
    instead(points, "select_points", ())
    measured = instead(measuring, "measure_session", (None, Path()))
    wfbench.bench(**asked)
    [((_, settings), given)] = measured.calls
    assert settings.rounds == rounds
    assert (given["skip"] is points.too_much) == ("scaling" in asked)


class Clock(Limits):
    """Limits of a bench that has so many seconds left."""

    left = 0.0

    def seconds_left(self, _: Session) -> float:
        return self.left


@pytest.mark.parametrize(
    ("budget", "precision", "rounds", "left", "text"),
    [
        (None, None, 5, 0.9, "round 3/5  second  4 envs  1,000 transitions/s"),
        (None, None, 5, 1.0, "round 3/5  second  4 envs  1,000 transitions/s  1 s left"),
        (9.0, None, MOST_ROUNDS, 3.0, "round 3  second  4 envs  1,000 transitions/s  3 s left"),
        (9.0, None, 4, 3.0, "round 3/4  second  4 envs  1,000 transitions/s  3 s left"),
        (None, 0.1, MOST_ROUNDS, 3.0, "round 3  second  4 envs  1,000 transitions/s"),
        (None, 0.1, 4, 3.0, "round 3  second  4 envs  1,000 transitions/s"),
        (9.0, 0.1, 4, 3.0, "round 3  second  4 envs  1,000 transitions/s  3 s left"),
    ],
)
def test_a_sample_is_told_with_its_round_and_what_is_left(
    budget: float | None, precision: float | None, rounds: int, left: float, text: str
) -> None:
    limits = Clock(budget, precision)
    limits.left = left
    told: list[Progress] = []
    update = measuring.session_progress(told.append, limits)
    assert update is not None
    measured = replace(MEASURED, wall=1.0)
    first, last = (Sample(case, 2, 4 + case, 0, measurement=measured) for case in (0, 1))
    update(Session(CASES, Settings(rounds=rounds), [first, last]))
    assert told == [Progress(2, 2 * rounds, text, last)]


def test_samples_that_failed_or_were_left_out_are_told_so() -> None:
    told: list[Progress] = []
    update = measuring.session_progress(told.append)
    assert update is not None
    assert measuring.session_progress(None) is None
    update(Session(CASES, Settings(rounds=1), []))
    assert not told
    for changed in ({"failure": "hung"}, {"skipped": "too much"}):
        update(Session(CASES, Settings(rounds=1), [Sample(0, 0, 0, 0, **changed)] * 2))
    said = [one.text for one in told]
    assert said == [
        f"round 1/1  first  4 envs  {how}" for how in ("failed: hung", "skipped: too much")
    ]


def test_rows_have_the_figures_that_there_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    with SessionWriter(tmp_path / ("long" * 20), "r", CASES, Settings(rounds=4)) as writer:
        for place in range(8):
            case = place % 2
            found: dict[str, Any] = {"failure": "x"} if case else {"measurement": MEASURED}
            writer.record(Sample(case, place // 2, place, 0, **found))
    bench = measuring.Bench.load(writer.path)
    first, second = bench.rows()
    assert first.keys() > second.keys() == {"collector", "n_envs", "ratio"}
    assert first["rate"] == pytest.approx(1000 / MEASURED.wall)
    assert second["ratio"] is None
    assert bench.exit_code == 3
    bench.show()
    assert capsys.readouterr().out.endswith(f"\nsamples are in {writer.path}\n")


def test_rows_have_the_ratio_to_the_first_case(runs: Path) -> None:
    _, second = measuring.Bench.load(runs / "b3").rows()
    assert second["ratio"] == pytest.approx(0.5, rel=0.02)


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "round 1  shm, 2 envs  10 and 20 transitions/s"),
        (3, "round 4  shm, 2 envs  10 and 20 transitions/s"),
        (revisions.gate.AGAIN, "again, round 1  shm, 2 envs  10 and 20 transitions/s"),
        (revisions.gate.AGAIN + 1, "again, round 2  shm, 2 envs  10 and 20 transitions/s"),
    ],
)
def test_a_pair_of_revisions_is_told_with_its_round(
    monkeypatch: pytest.MonkeyPatch, number: int, text: str
) -> None:
    monkeypatch.setattr(Pair, "figures", lambda *_: (10.0, 20.0))
    told: list[Progress] = []
    watch = revisions._watching(told.append)
    assert watch is not None
    assert revisions._watching(None) is None
    request = Request("shm", n_envs=2)
    watch(request, Pair(0, number, 0))
    watch(request, Pair(0, 0, 0, failure="hung"))
    assert [(one.done, one.total) for one in told] == [(1, 0), (2, 0)]
    assert [one.text for one in told] == [text, "round 1  shm, 2 envs  failed: hung"]


Recorded = Callable[..., Any]


def test_a_revision_is_compared_in_what_was_asked_for(instead: Recorded, runs: Path) -> None:
    gate = instead(revisions.gate, "check_against")
    instead(revisions, "write_verdict")
    wfbench.check_against("HEAD", collector="shm", env="cage2", n_envs=3)
    wfbench.check_against("HEAD")
    wfbench.save_baseline("main", runs / "b1", force=True)
    [(_, named), (_, bare)] = gate.calls
    assert named["requests"] == [Request("shm", n_envs=3)]
    assert (bare["requests"], bare["like"]) == ([], Request("all"))
    for more in ({"collector": "shm"}, {"n_envs": 3}):
        with pytest.raises(UsageError, match="--baseline already says what to measure"):
            wfbench.check_against("HEAD", baseline="main", **more)
    with pytest.raises(UsageError, match="no metric 'x'"):
        wfbench.bisect("shm", good="HEAD", metric="x")
    with pytest.raises(UsageError, match="--md none/x: there is no such directory"):
        wfbench.check_against("HEAD", md="none/x")
    bisected = instead(revisions.bisecting, "bisect")
    wfbench.bisect("shm", good="HEAD")
    [((request,), given)] = bisected.calls
    assert request == Request("shm", "cage2", 200, "random")
    assert (given["metric"], given["bad"], given["effort"].seed) == ("rate", "HEAD", 0)
