"""Verdicts and figures at the limits themselves."""

from __future__ import annotations

from dataclasses import replace

import pytest

from wfbench.contract import Interval, Rollouts
from wfbench_claims.convergence import (
    _convergence_verdict,
    _early_stop_verdict,
    measure_convergence,
    measure_early_stop,
)
from wfbench_claims.judging import IN_PART, NOT, REPRODUCED, UNTESTABLE, times
from wfbench_claims.updates import _equivalence_verdict, _return_at, measure_data, measure_stability


@pytest.mark.parametrize(
    ("level", "gained", "verdict"),
    [
        (0.90, Interval(0.0, -1.0, 1.0), REPRODUCED),
        (0.89, Interval(0.05, 0.01, 0.1), IN_PART),
        (0.89, Interval(0.05, 0.0, 0.1), NOT),
        (0.89, Interval(0.049, 0.01, 0.1), NOT),
        (0.89, Interval(0.5), NOT),
    ],
)
def test_compliance_near_95_percent(level, gained, verdict):
    assert _convergence_verdict(Interval(level), gained) == verdict


@pytest.mark.parametrize(
    ("factor", "lost", "verdict"),
    [
        (Interval(1.5, 1.1, 2.0), Interval(-1.0, -2.0, 0.0), REPRODUCED),
        (Interval(1.5, 1.1, 2.0), Interval(-1.0, -2.0, -0.1), IN_PART),
        (Interval(1.5, 1.1, 2.0), Interval(-1.0), REPRODUCED),
        (Interval(1.5, 1.0, 2.0), Interval(0.0), UNTESTABLE),
        (Interval(1.0, 1.0, 1.0), Interval(0.0), NOT),
        (Interval(0.9, 0.5, 1.5), Interval(0.0), NOT),
    ],
)
def test_workflows_that_end_sooner(factor, lost, verdict):
    assert _early_stop_verdict(factor, lost) == verdict


@pytest.mark.parametrize(
    ("sizes", "noise", "gained", "verdict"),
    [
        ([100.0, 100.0], (0.67, 1.5), (-10.0, 10.0), REPRODUCED),
        ([100.0, 100.0], (0.66, 1.5), (-10.0, 10.0), IN_PART),
        ([100.0, 100.0], (0.67, 1.51), (-10.0, 10.0), IN_PART),
        ([100.0, 100.0], (0.67, 1.5), (-10.1, 10.0), IN_PART),
        ([100.0, 101.0], (0.67, 1.5), (-10.0, 10.0), NOT),
    ],
)
def test_envs_and_episodes_are_equivalent(sizes, noise, gained, verdict):
    assert _equivalence_verdict(sizes, Interval(1.0, *noise), Interval(0.0, *gained)) == verdict


@pytest.mark.parametrize(("reached", "easy"), [(200_000, 25), (200_001, 0)])
def test_an_easy_workflow_complies_within_ten_episodes(
    chosen_lab, make_training, make_workflow, reached, easy
):
    done = make_workflow(steps_to_compliance=reached)
    lab = chosen_lab(train=lambda *_: make_training(*[done] * 5))
    finding = measure_early_stop(lab)
    assert finding.values["easy"] == easy
    assert finding.values.get("easy_and_inherited", 0) == easy * 4 / 5
    assert finding.verdict == NOT, "none of them ended sooner"


def test_equal_returns_are_no_worse_and_one_update_is_not_shared_out(
    chosen_lab, make_training, make_workflow, make_rollouts
):
    def train(case, _):
        size = 2_500 if case.settings["n_envs"] == 25 else 20_000
        done = make_workflow(rollouts=make_rollouts(size), updates=int(size == 2_500))
        return make_training(done, seconds=3.0)

    finding = measure_data(chosen_lab(train=train, variance=lambda n, k: 1.0 / (n * k)))
    assert finding.verdict == REPRODUCED
    assert finding.values["return_difference_high"] == 0
    assert finding.values["few_ms_per_update"] == finding.values["many_ms_per_update"] == 3_000


@pytest.mark.parametrize(
    ("share", "mean"), [(1.0, 94.5), (0.5, 47.0), (0.1, 9.0), (0.02, 1.0), (0.01, 0.0), (1e-9, 0.0)]
)
def test_the_return_at_a_share_of_a_training_is_that_of_the_tenth_before(
    make_training, make_workflow, share, mean
):
    returns = tuple(map(float, range(100)))
    made = Rollouts((100,) * 100, (100,) * 100, (0.5,) * 100, returns)
    assert _return_at(make_training(make_workflow(rollouts=made)), share) == mean


@pytest.mark.parametrize(("signal", "shown"), [(0.5, "0.08"), (0.0, "signal lost in noise")])
def test_a_gradient_without_a_signal_has_no_share_of_noise(chosen_lab, signal, shown):
    class Lab(chosen_lab):
        def gradients(self, *cases, **how):
            found = super().gradients(*cases, **how)
            return [[replace(one, signal=signal) for one in samples] for samples in found]

    finding = measure_stability(Lab(variance=lambda n, k: 1.0 / (n * k)))
    assert finding.tables[0].rows[1][-1] == shown


def test_the_agreement_of_one_episode_is_told_before_that_of_25(chosen_lab):
    class Lab(chosen_lab):
        def gradients(self, *cases, **how):
            found = super().gradients(*cases, **how)
            return [
                [replace(one, cosine=0.1 * (1 + place)) for one in samples]
                for place, samples in enumerate(found)
            ]

    finding = measure_stability(Lab(variance=lambda n, k: 1.0 / (n * k)))
    assert finding.measured.endswith("; cosine 0.10 to 0.20")
    assert finding.why.endswith("agree with a cosine of 0.20 in place of 0.10.")
    assert finding.values["cosine_1"] == pytest.approx(0.1)
    assert finding.values["cosine_25"] == pytest.approx(0.2)
    assert [row[2].split()[0] for row in finding.tables[0].rows] == ["0.10", "0.20", "0.30"]


@pytest.mark.parametrize("ends", [(None, 2.0), (1.0, None)])
def test_an_interval_with_one_end_is_none(ends):
    assert times(Interval(1.5, *ends)) == "1.50x, one sample"


def test_the_strict_definition_of_compliance_is_judged(
    chosen_lab, make_training, make_workflow, make_rollouts
):
    def train(case, _):
        level = 0.95 if case.settings["definition"] == "strict" else 0.1
        return make_training(make_workflow(rollouts=make_rollouts(2_500, [level] * 10)))

    finding = measure_convergence(chosen_lab(train=train))
    assert finding.verdict == REPRODUCED
    assert finding.values["compliance_125_250"] == pytest.approx(0.95)
