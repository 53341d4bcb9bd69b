"""Verdicts about learning on chosen measurements, on both sides of each."""

from __future__ import annotations

import pytest

from wfbench.contract import Rollouts
from wfbench_claims.convergence import NEIGHBOURS, measure_convergence, measure_early_stop
from wfbench_claims.plugin import wfbench_claims
from wfbench_claims.updates import (
    measure_batch_sizes,
    measure_data,
    measure_equivalence,
    measure_stability,
)


@pytest.mark.parametrize(
    ("many", "score", "verdict"),
    [
        (20_000, -90.0, "reproduced"),
        (20_000, -100.0, "reproduced"),
        (20_000, -150.0, "reproduced in part"),
        (10_000, -90.0, "not reproduced"),
    ],
)
def test_data_per_update(
    chosen_lab, make_training, make_workflow, make_rollouts, many, score, verdict
):
    steps = set()

    def train(case, number):
        few = case.settings["n_envs"] == 25
        steps.add(case.settings["n_envs"] * case.settings["max_episodes"])
        wobble = 0.1 * number * (1 if few else -1)
        return make_training(
            make_workflow(
                score=(-100.0 if few else score) + wobble,
                rollouts=make_rollouts(2_500 if few else many),
            )
        )

    lab = chosen_lab(train=train, variance=lambda n, k: 1.0 / (n * k))
    finding = measure_data(lab)
    assert finding.verdict == verdict
    assert len(steps) == 1, "learning is compared at equal steps"
    assert finding.values["variance_factor"] == pytest.approx(8.0)
    assert [row[0] for row in finding.tables[1].rows] == ["1", "25", "200"]


def test_learning_at_equal_time(chosen_lab, make_training, make_workflow):
    def train(case, _):
        few = case.settings["n_envs"] == 25
        size, count = (2_500, 400) if few else (20_000, 50)
        returns = tuple(-200.0 + (0.25 if few else 2.0) * i for i in range(count))
        made = Rollouts((size,) * count, (size,) * count, (0.5,) * count, returns)
        # The few take twice as long, so at equal time they have made half of their updates.
        return make_training(make_workflow(rollouts=made), seconds=20.0 if few else 10.0)

    finding = measure_data(chosen_lab(train=train, variance=lambda n, k: 1.0 / (n * k)))
    gained = finding.values["return_difference_equal_time"]
    assert gained == pytest.approx((-200 + 2.0 * 47) - (-200 + 0.25 * 189.5))
    assert finding.headline.startswith("2,500 vs 20,000 transitions per update: 8.00x the data")


@pytest.mark.parametrize(
    ("exponent", "verdict"),
    [(1.0, "reproduced"), (0.5, "reproduced in part"), (0.1, "not reproduced")],
)
def test_stability_of_the_gradient(chosen_lab, exponent, verdict):
    lab = chosen_lab(variance=lambda n, k: (n * k) ** -exponent)
    finding = measure_stability(lab)
    assert finding.verdict == verdict
    assert finding.interval.value == pytest.approx(25.0**exponent)


@pytest.mark.parametrize(
    ("size", "noise", "score", "verdict"),
    [
        (10_000, 1.0, -100.0, "reproduced"),
        (10_000, 3.0, -100.0, "reproduced in part"),
        (10_000, 1.0, -50.0, "reproduced in part"),
        (10_000, 1.0, -108.0, "reproduced"),
        (9_000, 1.0, -100.0, "not reproduced"),
    ],
)
def test_equivalence(
    chosen_lab, make_training, make_workflow, make_rollouts, size, noise, score, verdict
):
    def train(case, number):
        parallel = case.trainer == "ppo-parallel"
        wobble = (-1) ** number * (1 if parallel else -1)
        done = make_workflow(
            score=(-100.0 if parallel else score) + wobble,
            rollouts=make_rollouts(10_000 if parallel else size),
        )
        return make_training(done)

    lab = chosen_lab(train=train, variance=lambda n, _: 1.0 if n == 100 else noise)
    assert measure_equivalence(lab).verdict == verdict


@pytest.mark.parametrize(
    ("sizes", "verdict"),
    [
        ((20_000, 100, 2_500), "reproduced"),
        ((20_000, 100, 2_400), "reproduced in part"),
        ((19_000, 99, 2_400), "not reproduced"),
    ],
)
def test_batch_sizes(chosen_lab, make_training, make_workflow, make_rollouts, sizes, verdict):
    known = dict(zip(("ppo-original", "ppo-episode", "ppo-parallel"), sizes, strict=True))

    def train(case, _):
        return make_training(make_workflow(rollouts=make_rollouts(known[case.trainer])))

    assert measure_batch_sizes(chosen_lab(train=train)).verdict == verdict


@pytest.mark.parametrize(
    ("first", "last", "verdict"),
    [
        (0.3, 0.96, "reproduced"),
        (0.3, 0.6, "reproduced in part"),
        (0.3, 0.31, "not reproduced"),
        (0.3, 0.2, "not reproduced"),
    ],
)
def test_convergence(chosen_lab, make_training, make_workflow, make_rollouts, first, last, verdict):
    def train(case, number):
        assert case.settings["n_envs"] == 25
        curve = [first, first, *[(first + last) / 2] * 3, *[last + 0.001 * number] * 5]
        curve += [0.97] if number % 2 == 0 else []
        reached = 2_500 * len(curve) if number % 2 == 0 else None
        done = make_workflow(rollouts=make_rollouts(2_500, curve), steps_to_compliance=reached)
        return make_training(done)

    finding = measure_convergence(chosen_lab(train=train))
    assert finding.verdict == verdict
    assert finding.values["compliance_0_25"] == pytest.approx(first)
    assert finding.values["compliance_125_250"] == pytest.approx(last, abs=0.01)
    assert (finding.values["reached"], finding.values["trainings"]) == (4, 8)
    assert finding.values["median_episodes_to_95"] == 275


def test_what_stays_as_it_is_has_not_fallen(chosen_lab, make_training, make_workflow):
    lab = chosen_lab(train=lambda *_: make_training(make_workflow()))
    assert "0.50, 0.00 above the first 25" in measure_convergence(lab).why


def test_a_median_that_was_never_reached_is_not_a_number(chosen_lab, make_training, make_workflow):
    lab = chosen_lab(train=lambda *_: make_training(make_workflow()))
    finding = measure_convergence(lab)
    assert finding.values["median_episodes_to_95"] is None
    assert "more than 5,000 episodes" in finding.measured


@pytest.mark.parametrize(
    ("reached", "steps", "scores", "verdict"),
    [
        (20_000, (100_000, 200_000), (-50.0, -50.0), "reproduced"),
        (20_000, (100_000, 200_000), (-90.0, -50.0), "reproduced in part"),
        (20_000, (200_000, 200_000), (-50.0, -50.0), "not reproduced"),
        (900_000, (900_000, 900_000), (-50.0, -50.0), "not reproduced"),
        (None, (900_000, 900_000), (-50.0, -50.0), "not reproduced"),
    ],
)
def test_early_stop(chosen_lab, make_training, make_workflow, reached, steps, scores, verdict):
    def train(case, number):
        late = case.settings["min_episodes"] == 10
        wobble = 0.01 * number * (1 if late else -1)
        hard = make_workflow(env_steps=900_000, steps_to_compliance=900_000)
        easy = make_workflow(
            env_steps=steps[late], steps_to_compliance=reached, score=scores[late] + wobble
        )
        return make_training(hard, *[easy] * (len(NEIGHBOURS) - 1))

    finding = measure_early_stop(chosen_lab(train=train))
    assert finding.verdict == verdict
    easy = 4 * 5 if reached == 20_000 else 0
    assert (finding.values["easy"], finding.values["workflows"]) == (easy, 25)


def test_there_are_fourteen_claims_in_the_documented_sequence():
    claims = wfbench_claims()
    assert [claim.number for claim in claims] == list(range(1, 15))
    assert len({claim.name for claim in claims}) == 14
    assert all(claim.documented and claim.conditions and claim.source for claim in claims)
