from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from wfbench.benchmarks.compare.learning_runs import (
    LearningCurve,
    TrainingPoint,
    load_learning_runs,
)
from wfbench.benchmarks.compare.model import Comparison
from wfbench.benchmarks.compare.searches import Margins, compare_learning
from wfbench.benchmarks.statistics.learning import NonInferiority, Reach
from wfbench.benchmarks.statistics.verdicts import Verdict
from wfbench.contract import NotComparableError, UsageError
from wfbench.store.event_log import json_line
from wfbench.store.events import (
    PHASES,
    EventTime,
    LogEntry,
    RunEvent,
    RunFinished,
    RunStarted,
    UpdateFinished,
    WorkflowFinished,
    WorkflowStarted,
    encode,
)

SETTINGS = {
    "red": "bline",
    "no_fix": 0.5,
    "threshold": 0.95,
    "score": "last-episodes:3",
    "stop": "budget",
    "definition": "effective",
    "n_envs": 20,
}
UNITS = ("a", "b")
IDS = ("effective@2", "strict-nofoothold@1")
SHIFTS = (0.3, -0.1, 0.2, -0.3, 0.0, 0.1, -0.2, 0.15)
"""What each seed adds to the returns of both sides."""


def compare_searches(*sides: list[Path], **options: Any) -> Comparison:
    runs = [load_learning_runs(side) for side in sides]
    return compare_learning(*runs, names=[tuple(map(str, side)) for side in sides], **options)


def plugin(label: str) -> dict[str, Any]:
    return {"name": label, "label": label, "options": {}}


def search(
    folder: Path,
    name: str,
    seed: int,
    final: float,
    *,
    trainer: str = "ppo",
    reached: int | None = 2000,
    status: str = "budget",
    smoke: bool = False,
    cpu: str = "x",
    last: int = 3000,
    reason: str = "episodes",
    unscored: int = 0,
    ended: bool = True,
    orders: tuple[tuple[int, ...], ...] = ((0, 1), (1, 0)),
    **settings: Any,
) -> Path:
    """A search of two orders, three rollouts of 1,000 steps each, as it lies on the disk."""
    path = folder / name
    path.mkdir()
    config = {
        "schema": "wfbench/run-config/1",
        "run": name,
        "created": "now",
        "smoke": smoke,
        "settings": {**SETTINGS, **settings, "seed": seed},
        "plugins": {
            "env": {"name": "made", "label": "made", "options": {"red": "bline"}},
            "collector": plugin("vector"),
            "trainer": plugin(trainer),
            "searcher": plugin("gp-ucb"),
        },
        "units": list(UNITS),
        "episode_steps": 100,
        "definition": IDS[0],
        "beside": IDS[1],
    }
    (path / "config.json").write_text(json.dumps(config))
    (path / "machine.json").write_text(json.dumps({"schema": "wfbench/machine/1", "cpu": cpu}))
    started = RunStarted(name, seed, "made", "vector", trainer, "gp-ucb", *IDS, UNITS, 2, 100)
    entries = [entry(started, 0)]
    for number, order in enumerate(orders):
        begun = WorkflowStarted(number, order, IDS[0], seed, number, 1, None, None, 3000, 20, 50)
        entries.append(entry(begun, 3000 * number))
        for steps in range(1000, last + 1, 1000):
            update = UpdateFinished(
                workflow=number,
                update=steps // 1000,
                order=order,
                definition=IDS[0],
                secondary=IDS[1],
                policy_version=0,
                transitions=1000,
                env_steps=steps,
                episodes=10,
                env_return=final * 3000 / steps + SHIFTS[seed],
                alignment=0.0,
                compliance=0.3 * steps / 1000,
                secondary_compliance=0.0,
                fixes=1.0,
                counted=1.0,
                wasted=0.0,
                marks=(),
                stats=None,
            )
            entries.append(entry(update, 3000 * number + steps, seconds=0.5))
        done = WorkflowFinished(
            workflow=number,
            order=order,
            seed=seed,
            inherited_from=None,
            status=status,
            reason=reason,
            score=final + SHIFTS[seed] + number if number >= unscored else math.nan,
            score_sd=1.0,
            score_episodes=10,
            score_source="last-episodes:3",
            compliance=0.9,
            secondary_compliance=0.0,
            fixes=1.0,
            counted=1.0,
            wasted=0.0,
            compliant=reached is not None,
            steps_to_compliance=reached,
            updates=3,
            env_steps=last,
            evaluation_steps=0,
            episodes=30,
            definition=IDS[0],
            secondary=IDS[1],
            best=False,
        )
        entries.append(entry(done, 3000 * (number + 1)))
    end = RunFinished("workflows", len(orders), 0, None)
    entries += [entry(end, 3000 * len(orders))] if ended else []
    lines = b"".join(json_line(encode(one, UNITS)) for one in entries)
    (path / "events.jsonl").write_bytes(lines)
    return path


def entry(event: RunEvent, spent: int, seconds: float = 0.0) -> LogEntry:
    work = {**dict.fromkeys(PHASES, 0.0), "update": seconds}
    return LogEntry(event, spent, EventTime(at=0.0, elapsed=0.0, work=work))


def searches(folder: Path, name: str, final: float, seeds: int = 8, **options: Any) -> list[Path]:
    return [search(folder, f"{name}{seed}", seed, final, **options) for seed in range(seeds)]


def cells(found: Any) -> dict[str, Any]:
    return {cell.metric: cell for cell in found.cells}


def test_what_is_learned_is_compared_at_equal_steps_and_paired_by_seed(tmp_path: Path) -> None:
    old = searches(tmp_path, "old", -40.0, trainer="ppo", reached=3000)
    new = searches(tmp_path, "new", -20.0, trainer="better", reached=1000)
    found = compare_searches(old, new)
    by_metric = cells(found)
    assert {cell.name for cell in found.cells} == {"ppo -> better"}
    assert by_metric["return"].effect.value == pytest.approx(20.0)
    assert by_metric["return"].verdict is Verdict.IMPROVED
    assert by_metric["compliance"].verdict is Verdict.IDENTICAL
    assert by_metric["steps to compliance"].effect.value == pytest.approx(1 / 3)
    assert by_metric["steps to compliance"].verdict is Verdict.IMPROVED
    assert by_metric["best score"].verdict is Verdict.IMPROVED
    returns = next(one for one in found.learned if one.metric == "return")
    assert (returns.improvement.value, returns.tasks) == (1.0, 2)
    assert returns.non_inferiority is NonInferiority.NON_INFERIOR
    assert (returns.old_steps.median, returns.new_steps.median) == (3000, 1000)
    assert returns.new_seconds.median == pytest.approx(0.5)


def test_fewer_steps_can_be_asked_for_and_no_more_than_there_are(tmp_path: Path) -> None:
    old, new = searches(tmp_path, "old", -40.0, 2), searches(tmp_path, "new", -20.0, 2)
    found = compare_searches(old, new, steps=1500)
    assert cells(found)["return"].effect.value == pytest.approx(60.0)
    with pytest.raises(NotComparableError, match="3,000 steps, which is less than 4,000"):
        compare_searches(old, new, steps=4000)
    with pytest.raises(NotComparableError, match="had ended an episode by 10 steps"):
        compare_searches(old, new, steps=10)


def test_worse_learning_is_a_regression_and_inferior(tmp_path: Path) -> None:
    old, new = searches(tmp_path, "old", -20.0), searches(tmp_path, "new", -30.0)
    found = compare_searches(old, new, margins=Margins(returns=5.0))
    assert cells(found)["return"].verdict is Verdict.REGRESSED
    assert found.learned[0].non_inferiority is NonInferiority.INFERIOR
    forgiving = compare_searches(old, new, margins=Margins(returns=15.0))
    assert cells(forgiving)["return"].verdict is Verdict.WITHIN_NOISE
    assert forgiving.learned[0].non_inferiority is NonInferiority.NON_INFERIOR


def test_trainings_that_never_complied_count_and_those_given_up_count_as_never(
    tmp_path: Path,
) -> None:
    old = searches(tmp_path, "old", -20.0, reached=1000)
    new = searches(tmp_path, "new", -20.0, reached=None, status="hopeless")
    found = compare_searches(old, new)
    steps = cells(found)["steps to compliance"]
    assert found.learned[0].new_steps.median is None
    assert found.learned[0].new_steps.censored == 16
    assert steps.reason == "counted up to 3,000, where some had not reached it"
    assert (steps.effect.value, steps.verdict) == (pytest.approx(3.0), Verdict.REGRESSED)
    late = [search(tmp_path, f"late{seed}", seed, -20.0, reached=None) for seed in range(8)]
    steps = cells(compare_searches(old, late))["steps to compliance"]
    assert steps.effect.value == pytest.approx(3.0)
    assert steps.verdict is Verdict.REGRESSED


def test_where_nobody_complied_there_is_nothing_to_say_about_it(tmp_path: Path) -> None:
    old = searches(tmp_path, "old", -20.0, 2, reached=None)
    new = searches(tmp_path, "new", -20.0, 2, reached=None)
    steps = cells(compare_searches(old, new))["steps to compliance"]
    assert (steps.verdict, steps.p) == (Verdict.INCONCLUSIVE, None)
    assert "no training reached the threshold" in steps.reason


def test_five_seeds_are_too_few_and_that_is_said(tmp_path: Path) -> None:
    old, new = searches(tmp_path, "old", -20.0, 5), searches(tmp_path, "new", -60.0, 5)
    found = compare_searches(old, new)
    assert cells(found)["return"].verdict is Verdict.INCONCLUSIVE
    assert any("smallest reachable p is 0.25" in note for note in found.notes)


def test_different_orders_are_not_taken_for_tasks(tmp_path: Path) -> None:
    old = searches(tmp_path, "old", -20.0, 3)
    new = searches(tmp_path, "new", -20.0, 3, orders=((0, 1), (0, 1)))
    assert {one.tasks for one in compare_searches(old, new).learned} == {1}


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"red": "meander"}, "red bline / meander"),
        ({"threshold": 0.5}, "threshold 0.95 / 0.5"),
        ({"stop": "compliant"}, "stop budget / compliant"),
        ({"smoke": True}, "is a smoke run"),
    ],
)
def test_different_tasks_are_refused_by_name(tmp_path: Path, changed: Any, named: str) -> None:
    old, new = search(tmp_path, "a", 0, -1.0), search(tmp_path, "b", 0, -1.0, **changed)
    with pytest.raises(NotComparableError, match=named):
        compare_searches([old], [new])


def test_seeds_pair_and_what_has_no_partner_is_told(tmp_path: Path) -> None:
    zero, one = search(tmp_path, "a", 0, -1.0), search(tmp_path, "b", 1, -1.0)
    found = compare_searches([zero, one], [search(tmp_path, "c", 0, -1.0)])
    assert "vector, ppo, gp-ucb: seeds 1 have no partner" in found.notes
    with pytest.raises(UsageError, match="the same seed on one side"):
        compare_searches([zero, search(tmp_path, "d", 0, -1.0)], [one])


def test_other_seeds_are_compared_unpaired_and_that_is_said(tmp_path: Path) -> None:
    old = [search(tmp_path, f"old{seed}", seed, -20.0) for seed in range(3)]
    new = [search(tmp_path, f"new{seed}", seed, -60.0) for seed in range(3, 7)]
    found = compare_searches(old, new)
    assert found.basis.endswith("not paired, since the seeds differ")
    assert not [note for note in found.notes if "partner" in note]
    assert {cell.metric: cell.samples for cell in found.cells} == dict.fromkeys(
        ("return", "compliance", "steps to compliance", "best score"), (3, 4)
    )
    returns = cells(found)["return"]
    assert returns.effect is not None
    assert returns.old is not None
    assert returns.new is not None
    assert returns.effect.value == pytest.approx(returns.new.value - returns.old.value)


def test_one_search_made_twice_is_identical(tmp_path: Path) -> None:
    once, again = search(tmp_path, "a", 0, -20.0), search(tmp_path, "b", 0, -20.0)
    found = compare_searches([once], [again])
    assert {cell.verdict for cell in found.cells} == {Verdict.IDENTICAL}
    assert not any("no difference can be shown" in note for note in found.notes)
    other = compare_searches([once], [search(tmp_path, "c", 0, -21.0)])
    assert cells(other)["return"].verdict is Verdict.INCONCLUSIVE


def test_settings_may_differ_between_the_sides_and_not_within_one(tmp_path: Path) -> None:
    old = searches(tmp_path, "old", -20.0, 2)
    new = searches(tmp_path, "new", -20.0, 2, n_envs=200)
    assert "n_envs: 20 / 200" in compare_searches(old, new).notes
    with pytest.raises(NotComparableError, match="may differ in their seeds only"):
        compare_searches([old[0], new[1]], old)


def test_matrices_are_compared_cell_by_cell(tmp_path: Path) -> None:
    sides = []
    for name in ("one", "two"):
        folder = tmp_path / name
        folder.mkdir()
        runs = [
            search(folder, f"{trainer}{seed}", seed, -20.0, trainer=trainer)
            for trainer in ("ppo", "other")
            for seed in range(2)
        ]
        matrix = {"schema": "wfbench/matrix/1", "run": name, "cells": [run.name for run in runs]}
        (folder / "matrix.json").write_text(json.dumps(matrix))
        sides.append([folder])
    found = compare_searches(*sides)
    assert {cell.name for cell in found.cells} == {"vector, ppo, gp-ucb", "vector, other, gp-ucb"}


def test_a_search_without_a_whole_training_and_a_broken_one_are_refused(tmp_path: Path) -> None:
    path = search(tmp_path, "a", 0, -1.0, orders=())
    with pytest.raises(NotComparableError, match=r"no training of .* has come to its end"):
        load_learning_runs([path])
    broken = search(tmp_path, "b", 0, -1.0)
    lines = (broken / "events.jsonl").read_text().replace('"env_steps"', '"steps"')
    (broken / "events.jsonl").write_text(lines)
    with pytest.raises(UsageError, match="has 'steps', which this version does not know"):
        load_learning_runs([broken])


def told(folder: Path, found: Comparison) -> list[str]:
    """What a comparison says, without where its runs lie."""
    lines = [
        f"{found.kind}, {found.basis}, {found.old} {found.new}",
        *map(repr, found.cells),
        *map(repr, found.learned),
    ]
    return [line.replace(f"{folder}/", "") for line in (*lines, *found.notes)]


def test_comparisons_of_chosen_searches_say_what_they_said(
    tmp_path: Path, golden: Callable[[str, str], None]
) -> None:
    old = searches(tmp_path, "old", -40.0, reached=2500)
    new = searches(tmp_path, "new", -39.0, trainer="other", reached=1000, cpu="y")
    lone = searches(tmp_path, "lone", -41.0, 3, orders=((1, 0),), reached=None)
    short = searches(tmp_path, "short", -40.0, 3, last=2000, reason="threshold", reached=1500)
    given_up = searches(tmp_path, "up", -38.0, 6, status="hopeless", reached=None)
    odd = [search(tmp_path, f"odd{seed}", seed, -30.0, trainer="ppo") for seed in (5, 6, 7)]
    late = searches(tmp_path, "late", -40.0, 3, unscored=1, ended=False)
    none = [search(tmp_path, f"none{seed}", seed, -40.0, unscored=2) for seed in (6, 7)]
    found = {
        "all": compare_searches(old, new),
        "early": compare_searches(old, new, steps=1000),
        "margins": compare_searches(old, new, margins=Margins(0.5, 0.25)),
        "one order": compare_searches(old, lone),
        "ended early": compare_searches(old, short),
        "later than some": compare_searches(old, short, steps=3000),
        "given up": compare_searches(given_up, old),
        "some without a partner": compare_searches(old[:6], odd),
        "one with one": compare_searches(old[:1], new[1:2]),
        "a late score": compare_searches(late, odd),
        "no score": compare_searches(late, none),
        "more old groups": compare_searches([*old[:2], *new[:2]], odd[:1]),
        "more new groups": compare_searches(new[:2], [*new[:2], *odd[:1]]),
        "two groups": compare_searches([*old[:3], *new[:2]], [*odd, *new[2:4]]),
    }
    lines = [line for name, one in found.items() for line in (f"# {name}", *told(tmp_path, one))]
    golden("searches.txt", "\n".join(lines))


def test_groups_of_which_no_two_are_the_same_are_not_compared(tmp_path: Path) -> None:
    first, second, third = (
        searches(tmp_path, trainer, -1.0, 1, trainer=trainer) for trainer in ("one", "two", "three")
    )
    with pytest.raises(NotComparableError, match=r"no search was run on both .*three, gp-ucb$"):
        compare_searches([*first, *second], third)


def test_steps_of_no_run_that_goes_on_may_be_exceeded(tmp_path: Path) -> None:
    whole, short = (search(tmp_path, str(last), 0, -1.0, last=last) for last in (3000, 2000))
    with pytest.raises(NotComparableError, match="2000 has 2,000 steps, which is less than 2,001"):
        compare_searches([whole], [short], steps=2001)
    assert "after 2,000 environment steps" in compare_searches([whole], [short], steps=2000).basis
    assert "after 2,000 environment steps" in compare_searches([whole], [short]).basis


def test_a_run_remembers_only_when_its_best_order_changed(tmp_path: Path) -> None:
    path = search(tmp_path, "a", 0, -20.0, orders=((0, 1), (1, 0), (0, 1)), unscored=1)
    [run] = load_learning_runs([path])
    assert run.best == ((6000, -20.0 + SHIFTS[0] + 1), (9000, -20.0 + SHIFTS[0] + 2))


def test_a_first_score_may_come_too_late_to_be_compared(tmp_path: Path) -> None:
    three = search(tmp_path, "a", 0, -1.0, orders=((0, 1), (1, 0), (0, 1)), unscored=2)
    best = cells(compare_searches([three], [search(tmp_path, "b", 0, -1.0)]))["best score"]
    assert best.reason == "a search had no order with a score after 6,000 steps"
    assert best.effect is None


def test_without_a_rollout_there_is_nothing_to_compare(tmp_path: Path) -> None:
    old, new = (search(tmp_path, name, 0, -1.0, last=0) for name in "ab")
    with pytest.raises(NotComparableError, match="had ended an episode by 0 steps"):
        compare_searches([old], [new])


@pytest.mark.parametrize(
    ("score", "compliance", "known"),
    [(1.0, 0.5, True), (math.nan, 0.5, False), (1.0, math.nan, False)],
)
def test_a_point_is_known_if_all_of_it_is(score: float, compliance: float, *, known: bool) -> None:
    point = TrainingPoint(100, score, compliance, 1.0)
    assert point.known == known
    reach = Reach(100.0, reached=False)
    curve = LearningCurve((0, 1), (point,), reach, reach, 100)
    assert not curve.settled
    assert [curve.at(steps) for steps in (99, 100)] == [None, point if known else None]


@pytest.mark.parametrize(
    ("reached", "status", "steps", "seconds", "horizon"),
    [
        (2000, "budget", Reach(2000.0, reached=True), Reach(1.0, reached=True), 2000),
        (1001, "budget", Reach(1001.0, reached=True), Reach(1.0, reached=True), 2000),
        (2001, "budget", Reach(2001.0, reached=True), Reach(1.0, reached=True), 2000),
        (None, "budget", Reach(2000.0, reached=False), Reach(1.0, reached=False), 2000),
        (
            *(None, "hopeless"),
            *(Reach(math.inf, reached=False), Reach(math.inf, reached=False), 3000),
        ),
    ],
)
def test_steps_and_seconds_are_counted_until_the_order_is_followed(
    tmp_path: Path, reached: int | None, status: str, steps: Reach, seconds: Reach, horizon: int
) -> None:
    path = search(tmp_path, "a", 0, -1.0, last=2000, reached=reached, status=status)
    [run] = load_learning_runs([path])
    for one in run.trainings:
        assert (one.steps, one.seconds, one.horizon) == (steps, seconds, horizon)
