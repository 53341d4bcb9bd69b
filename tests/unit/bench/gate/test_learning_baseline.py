from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest

from wfbench.benchmarks.compare.learning_runs import LearningCurve, LearningRun, TrainingPoint
from wfbench.benchmarks.compare.searches import Margins
from wfbench.benchmarks.gate.baseline_store import read_baseline, write_baseline
from wfbench.benchmarks.gate.learning_baseline import (
    LearningBaseline,
    check_learning,
    make_learning_baseline,
)
from wfbench.benchmarks.statistics.learning import Reach
from wfbench.benchmarks.statistics.verdicts import Verdict
from wfbench.contract import NotComparableError, UsageError

NEVER = Reach(math.inf, reached=False)


def search(seed: int, worse: float = 0.0, compliance: float = 0.9, steps: int = 500) -> LearningRun:
    """Two trainings whose return rises to -20 and -30, give or take the seed."""
    trainings = tuple(
        LearningCurve(
            (0, 1) if goal == -20 else (1, 0),
            tuple(
                TrainingPoint(
                    at, math.nan if at == 100 else goal - 1000 / at - seed - worse, compliance, 1
                )
                for at in range(100, steps + 1, 100)
            ),
            Reach(200.0, reached=True) if goal == -20 else NEVER,
            Reach(2.0, reached=True) if goal == -20 else NEVER,
            steps,
        )
        for goal in (-20, -30)
    )
    return LearningRun(
        Path(f"s{seed}"),
        seed,
        ("vector", "ppo", "random"),
        {"env": "made", "episode steps": 10},
        {"n_envs": 4},
        {"cpu": "one"},
        trainings,
        ((500, -20.0), (1000, -20.0)),
        1000,
        finished=True,
    )


THEN = [search(seed) for seed in range(4)]


def remembered(runs: list[LearningRun] = THEN, **changed: object) -> LearningBaseline:
    return make_learning_baseline(
        runs,
        "made",
        created="then",
        margins=Margins(),
        **changed,  # type: ignore[arg-type]
    )


def verdicts(baseline: LearningBaseline, runs: list[LearningRun]) -> dict[str, Verdict]:
    return {one.metric: verdict for one, verdict in check_learning(baseline, runs, "now").verdicts}


def test_a_baseline_comes_back_as_it_was(tmp_path: Path) -> None:
    path = write_baseline(tmp_path, remembered(), replace=False)
    json.loads(path.read_text(), parse_constant=pytest.fail)
    assert read_baseline(path) == remembered()


def test_it_keeps_no_more_than_it_needs(tmp_path: Path) -> None:
    long = [search(seed, steps=50_000) for seed in range(4)]
    file = write_baseline(tmp_path, remembered(long, steps=300), replace=False)
    assert len(file.read_text()) < 20_000


@pytest.mark.parametrize(("steps", "kept"), [(300, [300]), (350, [300, 400]), (500, [500])])
def test_it_keeps_the_points_just_before_and_after(steps: int, kept: list[int]) -> None:
    for run in remembered(steps=steps).runs:
        assert [[p.steps for p in one.points] for one in run.trainings] == [kept] * 2


def test_the_same_searches_are_no_regression() -> None:
    assert set(verdicts(remembered(), THEN).values()) == {Verdict.NO_CHANGE}


def test_a_bit_worse_is_good_enough_and_much_worse_is_not() -> None:
    bit = [search(seed, worse=0.1 + 0.01 * seed) for seed in range(4)]
    much = [search(seed, worse=10.0 + seed) for seed in range(4)]
    assert verdicts(remembered(), bit)["return"] is Verdict.NO_CHANGE
    assert verdicts(remembered(), much)["return"] is Verdict.REGRESSED


def test_lost_compliance_is_a_regression_too() -> None:
    lost = [search(seed, compliance=0.7) for seed in range(4)]
    assert verdicts(remembered(), lost) == {
        "return": Verdict.NO_CHANGE,
        "compliance": Verdict.REGRESSED,
    }


def test_one_seed_says_nothing() -> None:
    assert verdicts(remembered(), [search(0, worse=50.0)])["return"] is Verdict.INCONCLUSIVE


def test_searches_are_compared_after_equally_many_steps() -> None:
    longer = [search(seed, steps=900) for seed in range(4)]
    assert set(verdicts(remembered(), longer).values()) == {Verdict.NO_CHANGE}
    with pytest.raises(NotComparableError, match="has 300 steps"):
        verdicts(remembered(), [search(seed, steps=300) for seed in range(4)])


def test_who_complies_sooner_and_stops_is_compared_all_the_same() -> None:
    def settled(run: LearningRun) -> LearningRun:
        return replace(run, trainings=tuple(replace(t, settled=True) for t in run.trainings))

    sooner = [settled(search(seed, worse=-10.0, steps=400)) for seed in range(4)]
    assert set(verdicts(remembered(), sooner).values()) == {Verdict.NO_CHANGE}
    worse = [settled(search(seed, worse=10.0 + seed, steps=400)) for seed in range(4)]
    assert verdicts(remembered(), worse)["return"] is Verdict.REGRESSED


def test_another_task_is_not_comparable_and_named() -> None:
    other = [replace(run, workload={**run.workload, "env": "other"}) for run in THEN]
    with pytest.raises(NotComparableError, match="env made / other"):
        verdicts(remembered(), other)


def test_what_is_not_finished_becomes_no_baseline() -> None:
    with pytest.raises(NotComparableError, match="s0 is not finished"):
        remembered([replace(THEN[0], finished=False)])
    with pytest.raises(NotComparableError, match="has 500 steps, which is less than 9,000"):
        remembered(steps=9_000)


def test_a_broken_file_is_refused(tmp_path: Path) -> None:
    path = write_baseline(tmp_path, remembered(), replace=False)
    values = json.loads(path.read_text())
    path.write_text(json.dumps(values | {"runs": []}))
    with pytest.raises(NotComparableError, match="holds no search"):
        read_baseline(path)
    values["runs"][0]["best"] = [[1]]
    path.write_text(json.dumps(values))
    with pytest.raises(UsageError, match=r"best\[0\] has 1 values, not 2"):
        read_baseline(path)
