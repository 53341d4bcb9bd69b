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


def rates(*, payload=1.0, transport=1.0, policy=1.0, here=1.0):
    """Rates that follow from these factors; on this machine nothing gains more than `here`."""

    def rate(case):
        found = 100.0
        found *= 1.0 if "true-state" in case.collector else payload
        found *= transport if case.collector.startswith("shm") else 1.0
        found *= policy if case.policy == "random" else 1.0
        return found if "busy=false" in case.env else min(found, 100.0 * here)

    return rate


@pytest.mark.parametrize("measure", SPEED)
@pytest.mark.parametrize("quick", [True, False])
@pytest.mark.parametrize(
    ("factors", "cores", "verdict", "judged"),
    [
        ({"transport": 17.0, "here": 17.0}, 64, "reproduced", "reproduced"),
        ({"transport": 17.0, "here": 3.0}, 2, "reproduced", "cannot be tested here"),
        ({"payload": 8.0, "transport": 2.0, "here": 3.0}, 64, "reproduced", "reproduced in part"),
        ({"transport": 3.0, "here": 3.0}, 64, "reproduced in part", "reproduced in part"),
        ({"payload": 1.2, "transport": 1.1}, 64, "not reproduced", "not reproduced"),
        ({"transport": 0.5}, 2, "not reproduced", "cannot be tested here"),
    ],
)
def test_shared_memory_over_pipes(chosen_lab, measure, quick, factors, cores, verdict, judged):
    finding = measure(chosen_lab(rate=rates(**factors), quick=quick, cores=cores))
    assert isinstance(finding, Finding)
    assert finding.verdict == verdict
    here, each = finding.under
    assert (here.name, each.name) == ("this machine", "a core per environment")
    assert (here.verdict, each.verdict) == (judged, verdict)
    assert finding.judged.startswith(f"{verdict} (")
    together = factors.get("payload", 1) * factors.get("transport", 1)
    assert finding.interval.value == pytest.approx(together)
    assert finding.values["core_each_documented_changes_factor"] == pytest.approx(together)
    assert here.interval.value == pytest.approx(min(together, factors.get("here", 1.0)))
    assert any("envs in place of" in line for line in finding.scaled) == (
        quick or measure is measure_episode
    )
    assert any("leaves out caches" in line for line in finding.scaled)


def test_the_headline_shows_every_factor_under_both_conditions(chosen_lab):
    finding = measure_headline(
        chosen_lab(rate=rates(payload=2.0, transport=3.0, here=2.0), cores=2)
    )
    drawn, factors, speeds = finding.tables
    assert drawn.factors
    assert [row[:2] for row in drawn.rows[:2]] == [
        ("payload", "this machine"),
        ("payload", "a core per environment"),
    ]
    assert [row[2] for row in drawn.rows[:4]] == pytest.approx([2.0, 2.0, 1.0, 3.0])
    assert factors.columns == (
        "change",
        "25 envs, this machine",
        "25 envs, a core per environment",
        "200 envs, this machine",
        "200 envs, a core per environment",
    )
    assert [row[2].split("x")[0] for row in factors.rows[:4]] == ["2.00", "3.00", "1.00", "1.00"]
    assert len(speeds.rows) == 6
    assert speeds.rows[0][1:] == ("100",) * 4
    assert finding.headline.startswith(
        "180 vs 3,052 transitions/s: 6.00x where every environment has a core, 2.00x on 2 cores; "
        "of that, 2.00x by payload, 3.00x by transport"
    )


def test_rate_and_latency_of_one_sample_agree(chosen_lab):
    lab = chosen_lab(rate=rates(payload=2.0, transport=1.5))
    rate = measure_headline(lab).values["here_before"]
    milliseconds = measure_vector_step(lab).values["here_before"]
    assert 200 / rate * 1e3 == pytest.approx(milliseconds, rel=1e-3)


@pytest.mark.parametrize(
    ("before", "after", "here", "verdict", "judged"),
    [
        (400.0, 10.0, 10.0, "reproduced", "reproduced"),
        (150.0, 10.0, 100.0, "reproduced", "cannot be tested here"),
        (30.0, 10.0, 10.0, "reproduced in part", "cannot be tested here"),
        (11.0, 10.0, 10.0, "not reproduced", "cannot be tested here"),
    ],
)
def test_a_whole_workflow(chosen_lab, make_training, before, after, here, verdict, judged):
    steps = set()

    def train(case, number):
        evaluates = case.settings["score"].startswith("evaluate")
        assert evaluates == case.collector.startswith("pipe")
        steps.add(case.settings["n_envs"] * case.settings["max_episodes"])
        taken = after if "busy=false" in case.env else here
        taken = before if case.collector == "pipe:payload=true-state" else taken
        return make_training(seconds=taken * (1 + 0.01 * number))

    finding = measure_workflow(chosen_lab(train=train, cores=2))
    assert finding.verdict == verdict
    assert finding.under[0].verdict == judged
    # 25 envs x 3 episodes x 100 steps of 3 ms on two cores
    assert finding.values["most_possible_factor"] == pytest.approx(before / 11.25, rel=0.02)
    assert len(steps) == 1, "equally many steps on all sides"


@pytest.mark.parametrize(
    ("factor", "here", "data", "cores", "verdicts"),
    [
        (10.0, 10.0, 2_500, 64, ("reproduced", "reproduced")),
        (10.0, 1.9, 2_500, 2, ("reproduced in part", "reproduced")),
        (1.2, 1.2, 2_500, 64, ("reproduced in part", "reproduced in part")),
        (10.0, 1.9, 2_000, 2, ("not reproduced", "reproduced in part")),
        (1.2, 1.2, 2_000, 64, ("not reproduced", "not reproduced")),
    ],
)
def test_25_envs_over_one(
    chosen_lab, make_training, make_workflow, make_rollouts, factor, here, data, cores, verdicts
):
    def train(case, number):
        single = case.trainer == "ppo-episode"
        size = make_rollouts(100 if single else data)
        gained = factor if "busy=false" in case.env else here
        seconds = (10.0 if single else 10.0 / gained) * (1 + 0.01 * number)
        return make_training(make_workflow(rollouts=size), seconds=seconds)

    finding = measure_single(chosen_lab(train=train, cores=cores))
    assert tuple(one.verdict for one in finding.under) == verdicts
    assert finding.verdict == verdicts[1]


@pytest.mark.parametrize(
    ("factor", "here", "cores", "verdicts"),
    [
        (80.0, 8.0, 64, ("reproduced", "reproduced")),
        (80.0, 1.9, 2, ("cannot be tested here", "reproduced")),
        (1.2, 1.1, 64, ("not reproduced", "not reproduced")),
    ],
)
@pytest.mark.parametrize("speed", [1.0, 100.0])
def test_parallel_against_sequential(chosen_lab, factor, here, cores, verdicts, speed):
    def rate(case):
        gained = factor if "busy=false" in case.env else here
        return 100 * speed * (1.0 if case.collector == "sequential" else gained)

    finding = measure_sequential(chosen_lab(rate=rate, cores=cores))
    assert tuple(one.verdict for one in finding.under) == verdicts, "whatever the absolute rates"


@pytest.mark.parametrize(
    ("one", "some", "many", "verdict"),
    [
        (500e6, 500e6, 6e9, "reproduced"),
        (50e6, 50e6, 6e8, "reproduced"),
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
        (600, 0, 6.0, "reproduced"),
        (600, 100, 25.0, "reproduced in part"),
        (200, 100, 6.0, "not reproduced"),
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
