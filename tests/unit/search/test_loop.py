from __future__ import annotations

import json
import math
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numba.core.event import trigger_event

from wfbench.contract import CollectError, PluginError, UsageError
from wfbench.orders.compliance import find_definition
from wfbench.search.engine import run_searches
from wfbench.search.search import Search
from wfbench.store.events import UpdateFinished
from wfbench.store.policy_file import read_policy
from wfbench_executors.local import LocalExecutor

DEFINITION = find_definition("effective").id
Make = Callable[..., Any]
Begin = Callable[..., Any]


def _events(search: Search, kind: str | None = None) -> list[dict[str, Any]]:
    lines = (search.store.path / "events.jsonl").read_text().splitlines()
    events = [json.loads(line) for line in lines]
    return [event for event in events if kind is None or event["event"] == kind]


def test_events_tell_the_whole_story_in_order(make_job: Make, begin: Begin) -> None:
    seen: list[Any] = []
    search = begin(make_job(), "r", seen.append)
    search.run()
    events = _events(search)
    kinds = [event["event"] for event in events]
    assert kinds[0] == "run-started"
    assert kinds[-1] == "run-finished"
    assert kinds.count("workflow-started") == kinds.count("workflow-finished") == 3
    assert [event["event"] for event in seen] == kinds
    assert {e["definition"] for e in events if "order" in e} == {DEFINITION}


def test_the_ledger_counts_every_step_of_training_and_evaluation(
    make_job: Make, begin: Begin
) -> None:
    search = begin(make_job(score="evaluate:7"))
    search.run()
    trained = sum(event["transitions"] for event in _events(search, "update"))
    ends = _events(search, "workflow-finished")
    evaluated = sum(event["evaluation_steps"] for event in ends)
    assert trained == 3 * 4 * 6 * 10
    assert evaluated == 3 * 2 * 4 * 10
    assert (
        _events(search)[-1]["env_steps_spent"] == search.recorded().env_steps == trained + evaluated
    )
    ledgers = [event["env_steps_spent"] for event in _events(search)]
    assert ledgers == sorted(ledgers)
    assert all(event["score_episodes"] == 7 for event in ends)


def test_phases_of_all_events_sum_to_their_wall_time(make_job: Make, begin: Begin) -> None:
    search = begin(make_job())
    search.run()
    for event in _events(search):
        parts = {
            name: s
            for name, s in event["time"].items()
            if name not in {"at", "elapsed", "training", "work"}
        }
        assert sum(parts.values()) == pytest.approx(event["time"]["work"], abs=2e-6)
        assert min(parts.values()) >= -1e-6, parts
        for name, digits in {"at": 3, "elapsed": 7, "training": 7}.items():
            seconds = event["time"].get(name, 0.0)
            assert seconds == round(seconds, digits)
    told = sum(event["time"]["work"] for event in _events(search))
    assert search.recorded().work_seconds == pytest.approx(told)


def test_the_last_rollout_is_judged_before_any_further_update(make_job: Make, begin: Begin) -> None:
    search = begin(make_job(workflows=1))
    search.run()
    updates = _events(search, "update")
    assert len(updates) == 6
    assert updates[-1]["stats"] is None
    assert [event["policy_version"] for event in updates] == [0, 1, 2, 3, 4, 5]
    stored = read_policy(search.store.path / "policy.npz")
    assert stored.snapshot.version == updates[-1]["policy_version"] == 5
    assert search.finished[0].updates == 5


def test_the_score_is_the_environment_reward_of_the_last_episodes(
    make_job: Make, begin: Begin
) -> None:
    search = begin(make_job(workflows=1, score="last-episodes:2"))
    search.run()
    [result] = search.finished
    last = [event["return"] for event in _events(search, "update")[-2:]]
    assert result.score == pytest.approx(np.mean(last))
    assert result.score_episodes == 2 * 4


def test_training_stops_as_soon_as_compliance_is_reached(make_job: Make, begin: Begin) -> None:
    search = begin(make_job(stop="compliant", threshold=0.05, min_episodes=2, workflows=2))
    search.run()
    for result in search.finished:
        assert (result.status, result.reason) == ("compliant", "threshold")
        assert result.env_steps == 2 * 4 * 10
        assert result.steps_to_compliance == 4 * 10


def test_a_statistic_that_is_not_finite_is_hopeless_and_told_as_data(
    make_job: Make, begin: Begin
) -> None:
    search = begin(make_job(trainer="lab:nan_stat=2"))
    search.run()
    assert [r.reason for r in search.finished] == ["not-finite"] * 3
    assert all(math.isnan(outcome.score) for _, outcome in search.searcher.told)  # type: ignore[attr-defined]
    assert search.best is None
    assert [r.inherited_from for r in search.finished] == [None] * 3


def test_a_weight_that_is_not_finite_never_reaches_the_collector(
    make_job: Make, begin: Begin
) -> None:
    search = begin(make_job(trainer="lab:nan_weight=3", workflows=1))
    search.run()
    [result] = search.finished
    assert (result.status, result.reason) == ("hopeless", "not-finite")
    assert result.env_steps == 3 * 4 * 10


def test_a_policy_that_does_one_thing_only_is_given_up(make_job: Make, begin: Begin) -> None:
    search = begin(make_job(trainer="lab:collapse=true", workflows=1))
    search.run()
    [result] = search.finished
    assert (result.status, result.reason) == ("hopeless", "collapsed")
    assert result.env_steps == 3 * 4 * 10
    assert math.isfinite(result.score)


def test_without_progress_patience_ends(make_job: Make, begin: Begin) -> None:
    search = begin(make_job(workflows=1, max_episodes=40, patience=4, threshold=1.0))
    search.run()
    [result] = search.finished
    assert (result.status, result.reason) == ("hopeless", "no-progress")
    assert result.env_steps < 40 * 4 * 10


def test_a_trainer_that_raises_is_named(make_job: Make, begin: Begin) -> None:
    search = begin(make_job(trainer="lab:fail=2"))
    with pytest.raises(PluginError, match="trainer 'lab' raised RuntimeError: the learner broke"):
        search.run()


def test_a_collector_that_fails_ends_the_run_and_marks_the_workflow(
    make_job: Make, begin: Begin
) -> None:
    env = "synthetic:obs_size=6,num_actions=5,episode_length=10,fault=raise@25"
    search = begin(make_job(env=env, collector="sequential"))
    with pytest.raises(CollectError):
        search.run()
    assert _events(search)[-1]["event"] == "workflow-failed"
    assert not search.store.finished


def test_total_episodes_are_never_overshot(make_job: Make, begin: Begin) -> None:
    for total, score in ((40, "last-episodes:3"), (41, "evaluate:5"), (57, "evaluate:3")):
        job = make_job(total_episodes=total, score=score, workflows=50)
        search = begin(job, f"r{total}")
        search.run()
        assert search.recorded().env_steps <= total * 10
        assert _events(search)[-1]["reason"] == "total-episodes"
        assert total * 10 - search.recorded().env_steps < 4 * 10 + 8 * 10


def test_wall_time_ends_a_run_between_rollouts(
    make_job: Make, begin: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    ticks = count(100.0, 0.004)
    monkeypatch.setattr("wfbench.search.phases.perf_counter", lambda: next(ticks))
    monkeypatch.setattr("wfbench.processes.compile_time.perf_counter", lambda: 0.0)
    search = begin(make_job(collector="sequential", max_seconds=1.5, workflows=1000))
    search.run()
    assert 0.5 < search.recorded().elapsed <= 1.5
    assert _events(search)[-1]["reason"] == "wall-time"
    assert search.finished


def test_compiling_does_not_count_towards_wall_time(
    make_job: Make, begin: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    ticks, compiled = count(100.0, 0.004), 0.0
    monkeypatch.setattr("wfbench.search.phases.perf_counter", lambda: next(ticks) + compiled)
    monkeypatch.setattr("wfbench.processes.compile_time.perf_counter", lambda: compiled)

    def compile_once(event: Any) -> None:
        nonlocal compiled
        if event["event"] == "update" and not compiled:
            with trigger_event("numba:compile"):
                compiled = 60.0

    job = make_job(collector="sequential", max_seconds=1.5, workflows=1000)
    search = begin(job, "r", compile_once)
    search.run()
    assert 0.5 < search.recorded().elapsed - compiled <= 1.5
    assert _events(search)[-1]["reason"] == "wall-time"
    assert len(search.finished) > 1


def test_one_env_does_the_steps_of_all_that_are_configured(make_job: Make, begin: Begin) -> None:
    search = begin(make_job(trainer="lab-one", workflows=1))
    search.run()
    updates = _events(search, "update")
    assert {event["transitions"] for event in updates} == {40}
    [result] = search.finished
    assert result.env_steps == 6 * 4 * 10
    assert result.score_episodes == 3 * 4


def test_a_searcher_can_give_an_order_a_part_of_the_budget(make_job: Make, begin: Begin) -> None:
    search = begin(make_job(searcher="sharing", workflows=4))
    search.run()
    assert [r.env_steps for r in search.finished] == [240, 80, 240, 80]


def test_each_workflow_inherits_as_configured(make_job: Make, begin: Begin) -> None:
    for how, expected in (
        ("none", [None, None, None]),
        ("previous", [None, 0, 1]),
    ):
        search = begin(make_job(inherit=how), how)
        search.run()
        assert [r.inherited_from for r in search.finished] == expected


def test_the_policy_of_the_run_is_the_best_one(make_job: Make, begin: Begin) -> None:
    search = begin(make_job(workflows=4))
    search.run()
    assert search.best is not None
    stored = read_policy(search.store.path / "policy.npz")
    assert stored.label.workflow == search.best.workflow
    assert stored.label.order == search.best.order
    assert stored.label.env_options["episode_length"] == 10


def test_compliance_that_never_changes_is_a_visible_warning(make_job: Make, begin: Begin) -> None:
    search = begin(make_job(no_fix=1.0, trainer="lab:collapse=true"))
    search.run()
    [warning] = _events(search, "warning")
    assert f"compliance by {DEFINITION} was 1 in all" in warning["text"]


@pytest.mark.parametrize("collector", ["sequential", "vector", "shm:workers=2"])
def test_every_synchronous_collector_gives_the_same_events(
    make_job: Make, begin: Begin, collector: str, tmp_path: Path
) -> None:
    def told(search: Search) -> list[Any]:
        search.run()
        skip = {"time", "collector", "run"}
        return [{k: v for k, v in e.items() if k not in skip} for e in _events(search)]

    one = told(begin(make_job(workflows=2), "one"))
    other = told(begin(make_job(workflows=2, collector=collector), "other"))
    assert one == other
    policies = [(tmp_path / name / "policy.npz") for name in ("one", "other")]
    arrays = [read_policy(path).snapshot.arrays for path in policies]
    for name in arrays[0]:
        np.testing.assert_array_equal(arrays[0][name], arrays[1][name])


def test_a_free_running_collector_runs_to_the_end(make_job: Make, begin: Begin) -> None:
    search = begin(make_job(collector="async:workers=2", workflows=2, score="evaluate:6"))
    search.run()
    assert len(search.finished) == 2
    assert all(result.env_steps == 240 for result in search.finished)


def test_searches_take_turns_and_have_the_same_seeds(make_job: Make, begin: Begin) -> None:
    seen: list[tuple[str, Any]] = []
    searches = [
        begin(
            make_job(collector=name),
            name,
            lambda event, name=name: seen.append((name, event)),
        )
        for name in ("vector", "sequential")
    ]
    run_searches(searches, LocalExecutor())
    ends = [name for name, event in seen if event["event"] == "workflow-finished"]
    assert ends == ["vector", "sequential", "sequential", "vector", "vector", "sequential"]
    seeds = [[r.seed for r in search.finished] for search in searches]
    assert seeds[0] == seeds[1]
    assert len(set(seeds[0])) == 3


def test_an_environment_without_a_workflow_model_is_refused(make_job: Make) -> None:
    job = make_job()
    from dataclasses import replace

    from wfbench.search.job import workflow_model

    bare = replace(job.ref, factory="gymnasium:make", options={"id": "CartPole-v1"})
    with pytest.raises(UsageError, match="has no workflow model"):
        workflow_model(bare)


def test_a_resumed_run_knows_what_was_found_and_spent(make_job: Make, begin: Begin) -> None:
    job = make_job()
    first = begin(job, "r", _stop_after(1))
    with pytest.raises(KeyboardInterrupt):
        first.run()
    first.store.close()
    second = begin(job)
    second.begin()
    assert [r.order for r in second.finished] == [r.order for r in first.finished]
    assert second.recorded().env_steps == first.recorded().env_steps
    assert len(second.searcher.told) == 1  # type: ignore[attr-defined]
    second.store.close()
    third = begin(job)
    third.run()
    assert len(third.finished) == 3


def test_a_resumed_run_warns_like_one_that_was_left_alone(make_job: Make, begin: Begin) -> None:
    """Rollouts that end no episode have no compliance; a resume must not forget them."""
    job = make_job(
        training="per-order",
        definition="effective",
        no_fix=1.0,
        trainer="lab:collapse=true",
        update_every=5,
    )
    whole = begin(job, "whole")
    whole.run()
    found = [update.compliance for update in whole.recorded().events(UpdateFinished)]
    assert any(math.isnan(one) for one in found)
    assert {one for one in found if not math.isnan(one)} == {1.0}, "without NaN it would warn"
    first = begin(job, "cut", _stop_after(2))
    with pytest.raises(KeyboardInterrupt):
        first.run()
    first.store.close()
    second = begin(job, "cut")
    second.run()
    kinds = [[event["event"] for event in _events(search)] for search in (whole, second)]
    assert kinds[0] == kinds[1]
    assert "warning" not in kinds[0]


def _stop_after(workflows: int) -> Callable[[Any], None]:
    def observe(event: Any) -> None:
        if event["event"] == "workflow-finished" and event["workflow"] == workflows - 1:
            raise KeyboardInterrupt

    return observe


def test_a_training_is_compliant_from_the_threshold_on(make_job: Make, begin: Begin) -> None:
    def trained(name: str, threshold: float) -> Any:
        search = begin(make_job(workflows=1, threshold=threshold), name)
        search.run()
        return search.finished[0]

    reached = trained("first", 1.0).compliance
    assert 0 < reached < 1
    exact, above = trained("exact", reached), trained("above", np.nextafter(reached, 1.0))
    assert (exact.compliant, exact.status) == (True, "compliant")
    assert (above.compliant, above.status) == (False, "budget")
