"""Verdicts about time and memory on chosen measurements, on both sides of each."""

from __future__ import annotations

import pytest

from wfbench.contract import Finding
from wfbench_claims.costs import (
    measure_memory,
    measure_search_data,
    measure_sequential,
    measure_single,
    measure_workflow,
)
from wfbench_claims.speed import measure_episode, measure_headline, measure_vector_step

SPEED = [measure_headline, measure_vector_step, measure_episode]


def rates(*, payload=1.0, transport=1.0, policy=1.0):
    """Rates that follow from these factors."""

    def rate(case):
        found = 100.0
        found *= 1.0 if "true-state" in case.collector else payload
        found *= transport if case.collector.startswith("shm") else 1.0
        return found * (policy if case.policy == "random" else 1.0)

    return rate


@pytest.mark.parametrize("measure", SPEED)
@pytest.mark.parametrize("quick", [True, False])
@pytest.mark.parametrize(
    ("factors", "verdict"),
    [
        ({"transport": 17.0}, "reproduced"),
        ({"transport": 3.0}, "reproduced in part"),
        ({"payload": 17.0}, "reproduced in part"),
        ({"payload": 1.2, "transport": 1.1, "policy": 1.05}, "not reproduced"),
        ({"transport": 0.5}, "not reproduced"),
    ],
)
def test_shared_memory_over_pipes(chosen_lab, measure, quick, factors, verdict):
    finding = measure(chosen_lab(rate=rates(**factors), quick=quick))
    assert isinstance(finding, Finding)
    assert finding.verdict == verdict
    assert finding.interval.value == pytest.approx(factors.get("transport", 1.0))
    together = factors.get("payload", 1) * factors.get("transport", 1) * factors.get("policy", 1)
    assert finding.values["documented_changes_factor"] == pytest.approx(together)
    assert any("envs in place of" in line for line in finding.scaled) == (
        quick or measure is measure_episode
    )


def test_the_headline_shows_the_same_table_for_every_number_of_envs(chosen_lab):
    factors, speeds = measure_headline(chosen_lab(rate=rates(payload=2.0, transport=3.0))).tables
    assert factors.columns == ("change", "25 envs", "100 envs", "200 envs")
    assert [row[1].split("x")[0] for row in factors.rows] == [
        *("2.00", "3.00", "1.00", "1.00", "1.00"),
        *("6.00", "6.00"),
    ]
    assert len(speeds.rows) == 6
    assert speeds.rows[0][1:] == ("100",) * 3


def test_rate_and_latency_of_one_sample_agree(chosen_lab):
    lab = chosen_lab(rate=rates(payload=2.0, transport=1.5))
    rate = measure_headline(lab).values["before_rate"]
    milliseconds = measure_vector_step(lab).values["before_ms"]
    assert 200 / rate * 1e3 == pytest.approx(milliseconds, rel=1e-3)


@pytest.mark.parametrize(
    ("before", "same_payload", "after", "verdict"),
    [
        (400.0, 200.0, 10.0, "reproduced"),
        (200.0, 10.0, 10.0, "reproduced in part"),
        (30.0, 30.0, 10.0, "reproduced in part"),
        (20.0, 11.0, 10.0, "not reproduced"),
    ],
)
def test_a_whole_workflow(chosen_lab, make_training, before, same_payload, after, verdict):
    taken = {"pipe:payload=true-state": before, "pipe": same_payload}

    steps = set()

    def train(case, number):
        evaluates = case.settings["score"].startswith("evaluate")
        assert evaluates == case.collector.startswith("pipe")
        steps.add(case.settings["n_envs"] * case.settings["max_episodes"])
        return make_training(seconds=taken.get(case.collector, after) * (1 + 0.01 * number))

    assert measure_workflow(chosen_lab(train=train)).verdict == verdict
    assert len(steps) == 1, "equally many steps on all sides"


@pytest.mark.parametrize(
    ("factor", "data", "cores", "verdict"),
    [
        (10.0, 2_500, 64, "reproduced"),
        (1.9, 2_500, 2, "reproduced in part"),
        (1.2, 2_500, 64, "reproduced in part"),
        (1.9, 2_000, 64, "reproduced in part"),
        (1.2, 2_000, 64, "not reproduced"),
        (1.2, 2_000, 2, "not reproduced"),
    ],
)
def test_25_envs_over_one(
    chosen_lab, make_training, make_workflow, make_rollouts, factor, data, cores, verdict
):
    def train(case, number):
        single = case.trainer == "ppo-episode"
        size = make_rollouts(100 if single else data)
        seconds = (10.0 if single else 10.0 / factor) * (1 + 0.01 * number)
        return make_training(make_workflow(rollouts=size), seconds=seconds)

    assert measure_single(chosen_lab(train=train, cores=cores)).verdict == verdict


@pytest.mark.parametrize(
    ("sequential", "parallel", "cores", "verdict"),
    [
        (12.0, 110.0, 64, "reproduced"),
        (12.0, 24.0, 2, "reproduced in part"),
        (12.0, 15.0, 64, "reproduced in part"),
        (3.2, 6.0, 2, "not reproduced"),
        (3.2, 4.0, 64, "not reproduced"),
    ],
)
def test_parallel_against_sequential(chosen_lab, sequential, parallel, cores, verdict):
    def rate(case):
        return 100 * (sequential if case.collector == "sequential" else parallel)

    assert measure_sequential(chosen_lab(rate=rate, cores=cores)).verdict == verdict


@pytest.mark.parametrize(
    ("one", "some", "many", "verdict"),
    [
        (500e6, 500e6, 6e9, "reproduced"),
        (500e6, 500e6, 900e6, "reproduced in part"),
        (500e6, 900e6, 6e9, "reproduced in part"),
        (300e6, 600e6, 900e6, "not reproduced"),
    ],
)
def test_memory(chosen_lab, make_training, one, some, many, verdict):
    held = {("pipe", 1): one, ("pipe", 25): some, ("pipe", 100): many, ("shm", 100): one}

    def train(case, _):
        return make_training(memory=held[case.collector, case.settings["n_envs"]])

    assert measure_memory(chosen_lab(train=train)).verdict == verdict


@pytest.mark.parametrize(
    ("scored", "extra", "seconds", "verdict"),
    [
        (600, 0, 25.0, "reproduced"),
        (600, 0, 6.0, "reproduced in part"),
        (600, 100, 25.0, "reproduced in part"),
        (200, 0, 6.0, "not reproduced"),
    ],
)
def test_what_the_search_is_told(
    chosen_lab, make_training, make_workflow, scored, extra, seconds, verdict
):
    def train(case, _):
        score = case.settings["score"]
        if case.collector != "vector":
            assert score == "evaluate:20"
            return make_training(search=seconds)
        if score == "last-episodes:3":
            done = make_workflow(score_episodes=scored, evaluation_steps=extra, score=-97.0)
        elif score == "evaluate:20":
            done = make_workflow(score_episodes=20, evaluation_steps=2000, score=-104.0)
        else:
            done = make_workflow(score_episodes=2000, score=-100.0)
        return make_training(done)

    finding = measure_search_data(chosen_lab(train=train))
    assert finding.verdict == verdict
    assert finding.values["rms_error_last_episodes"] == pytest.approx(3.0)
    assert finding.values["rms_error_evaluation"] == pytest.approx(4.0)
