"""Verdicts on pairs whose figures are given."""

from __future__ import annotations

from dataclasses import replace
from math import exp, log
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wfbench.benchmarks.measure.turns import Turn
from wfbench.benchmarks.revisions.building import Build
from wfbench.benchmarks.revisions.judging import LEAST_ROUNDS, look, narrow_enough
from wfbench.benchmarks.revisions.model import METRICS, Pair, Request, SideSample
from wfbench.benchmarks.revisions.series import AGAIN, Effort, RevisionCheck, compare_revisions
from wfbench.benchmarks.statistics.verdicts import Verdict
from wfbench.collecting.seeding import Purpose, purpose_seed
from wfbench.contract import ExitCode, UsageError
from wfbench.report.sections.revisions import decode_revisions, outcome, revisions_data

BUILDS = tuple(Build(name, "0" * 40, Path(name), "wfbench-x") for name in ("old", "working tree"))
TWO = [Request("one"), Request("two")]


def pair(planned: Pair, ratio: float = 1.0, cpu: float = 1.0, disturbed: int = 0) -> Pair:
    """Return a pair whose new side has these ratios; some blocks of it are four times slower."""
    old = [Turn(1000, 0.02, 0.02)] * 24
    new = [Turn(1000, 0.02 / ratio, 0.02 * cpu) for _ in range(24)]
    for block in range(disturbed):
        new[2 * block] = Turn(1000, 0.08 / ratio, 0.02 * cpu)
    sides = (SideSample(0.5, 10**8, tuple(turns), "hash") for turns in (old, new))
    return Pair(planned.case, planned.round, planned.seed, 50, *sides)


def machine(sd: float, *, seed: int = 0, **ratios: float) -> Any:
    """Return a machine with this noise per pair; `ratios` are the rates of the new side."""
    rng = np.random.default_rng(seed)

    def measure(request: Request, planned: Pair) -> Pair:
        noise = exp(rng.normal(0.0, sd))
        ratio = ratios.get(request.collector, 1.0)
        return pair(planned, ratio * noise, 1.0 / (ratio * noise))

    return measure


def check(measure: Any, requests: list[Request] = TWO, **effort: float) -> RevisionCheck:
    return compare_revisions(requests, BUILDS, Effort(**effort), measure)


def test_a_pair_is_judged_by_its_blocks_without_the_disturbed_ones() -> None:
    planned = Pair(0, 0, 0)
    assert pair(planned, 0.9).log_ratio("rate") == pytest.approx(log(0.9))
    assert pair(planned, 0.9, disturbed=3).log_ratio("rate") == pytest.approx(log(0.9))
    assert pair(planned, 1.0, 1.2).log_ratio("cpu") == pytest.approx(log(1.2))
    assert pair(planned).log_ratio("memory") == 0.0
    old, new = pair(planned, 2.0).figures("rate")
    assert (old, new) == (pytest.approx(50_000), pytest.approx(100_000))


def test_a_slow_down_is_confirmed_by_a_second_series() -> None:
    found = check(machine(0.025, two=0.9))
    assert found.exit_code(inconclusive_fails=False) is ExitCode.REGRESSION
    slower = found.with_verdict(Verdict.REGRESSED)
    assert {(cell.request.collector, cell.metric) for cell in slower} == {
        ("two", "rate"),
        ("two", "cpu"),
    }
    assert all(cell.again is not None for cell in slower)
    assert "two, 200 envs got slower by 10%" in outcome(found)[1]


def test_the_second_series_is_only_as_long_as_what_looked_worse_needs() -> None:
    def measure(_: Request, planned: Pair) -> Pair:
        found = pair(planned, 0.8, 1.25)
        assert found.new is not None
        start_up = found.new.start_up * exp(0.2 if planned.round % 2 else -0.2)
        return replace(found, new=replace(found.new, start_up=start_up))

    cells = {cell.metric: cell for cell in check(measure, TWO[:1]).cells}
    rate, start_up = cells["rate"], cells["start-up"]
    assert rate.verdict is Verdict.REGRESSED
    assert rate.first.rounds > LEAST_ROUNDS  # start-up needs them
    assert rate.again is not None
    assert rate.again.rounds == LEAST_ROUNDS
    assert start_up.verdict is Verdict.NO_CHANGE
    assert start_up.latest is start_up.first


def test_what_only_the_first_series_shows_does_not_fail() -> None:
    def measure(_: Request, planned: Pair) -> Pair:
        return pair(planned, 0.8 if planned.round < AGAIN else 1.0)

    found = check(measure, TWO[:1])
    assert found.exit_code(inconclusive_fails=False) is ExitCode.OK
    assert found.exit_code(inconclusive_fails=True) is ExitCode.INCONCLUSIVE
    [cell] = found.with_verdict(Verdict.INCONCLUSIVE)
    assert "not confirmed" in cell.why


def test_an_improvement_of_all_fails_nothing() -> None:
    found = check(machine(0.02, one=1.4, two=2.0))
    assert found.exit_code(inconclusive_fails=True) is ExitCode.OK
    assert len(found.with_verdict(Verdict.IMPROVED)) == 4


def test_rounds_go_on_until_the_interval_is_narrow_enough() -> None:
    quiet = check(machine(0.02), TWO[:1]).cells[0].first
    noisy = check(machine(0.10), TWO[:1]).cells[0].first
    assert quiet.rounds == LEAST_ROUNDS
    assert noisy.rounds > LEAST_ROUNDS
    assert noisy.detectable <= 0.1
    assert {quiet.verdict, noisy.verdict} == {Verdict.NO_CHANGE}
    coarse = check(machine(0.10), TWO[:1], detect=0.3).cells[0].first
    assert coarse.rounds < noisy.rounds


def test_a_budget_that_is_too_small_is_said_with_what_it_was_enough_for() -> None:
    found = check(machine(0.25), TWO[:1], budget=1.0, detect=0.02)
    verdict, says = outcome(found)
    assert verdict == "inconclusive"
    first = found.cells[0].first
    assert f"cannot detect less than {first.detectable:.0%}" in says
    assert f"needs about {first.needed} rounds in rate of one, 200 envs" in says
    assert first.needed > first.rounds


def test_the_stopping_rule_looks_at_the_width_only() -> None:
    planned = [Pair(0, number, 0) for number in range(12)]
    noise = np.exp(np.random.default_rng(1).normal(0.0, 0.05, 12))
    ends = []
    for scale in (0.5, 1.0, 2.0):
        pairs = [pair(p, scale * n) for p, n in zip(planned, noise, strict=True)]
        ends.append([narrow_enough(pairs[:count], METRICS, 0.15) for count in range(1, 13)])
    assert ends[0] == ends[1] == ends[2]
    assert any(ends[0])


@pytest.mark.parametrize(("sd", "least"), [(0.025, 20), (0.10, 18)])
def test_power_on_simulated_machines(sd: float, least: int) -> None:
    """The figures of the docs, for noise per pair as measured on a quiet and on a busy machine."""
    found = [check(machine(sd, seed=seed, two=0.9)) for seed in range(20)]
    assert sum(one.exit_code(inconclusive_fails=False) == 1 for one in found) >= least
    same = [check(machine(sd, seed=100 + seed)) for seed in range(20)]
    assert sum(one.exit_code(inconclusive_fails=False) == 1 for one in same) <= 1


def test_a_pair_that_fails_is_no_verdict_on_speed() -> None:
    def measure(request: Request, planned: Pair) -> Pair:
        if request.collector == "two":
            return Pair(planned.case, planned.round, 0, failure="WorkerError: env 3 died")
        return pair(planned)

    found = check(measure)
    assert found.exit_code(inconclusive_fails=False) is ExitCode.TRIAL_FAILED
    assert found.failures == {"two, 200 envs": "WorkerError: env 3 died"}
    assert {cell.request.collector for cell in found.cells} == {"one"}


def test_the_rounds_of_both_series_have_seeds_of_their_own() -> None:
    planned: list[Pair] = []

    def measure(_: Request, asked: Pair) -> Pair:
        planned.append(asked)
        return pair(asked, 0.8)

    check(measure, TWO[:1])
    numbers = [*range(8), *range(500_000, 500_008)]
    assert [one.round for one in planned] == numbers
    seeds = [purpose_seed(0, Purpose.BENCH, number) for number in numbers]
    assert [one.seed for one in planned] == seeds


def test_many_cells_need_a_smaller_p() -> None:
    pairs = [pair(Pair(0, number, 0), 0.9) for number in range(8)]
    assert look(pairs, "rate", 0.1, 4).verdict is Verdict.REGRESSED
    assert look(pairs, "rate", 0.1, 10_000).verdict is not Verdict.REGRESSED


def test_a_verdict_survives_being_written_and_read() -> None:
    found = check(machine(0.02, two=0.8))
    assert decode_revisions(revisions_data(found, exit_code=1)) == found
    assert {cell.metric for cell in found.cells} == set(METRICS)


@pytest.mark.parametrize("wrong", [{"detect": 0.0}, {"detect": float("nan")}, {"budget": 0.0}])
def test_an_effort_that_makes_no_sense_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(UsageError, match="it must be between"):
        Effort(**wrong)


@pytest.mark.parametrize(
    "given",
    [
        *({"detect": 0.009}, {"detect": 10.1}, {"budget": 0.9}, {"budget": 86_401.0}),
        *({"seconds": 0.0}, {"seconds": 60.1}),
    ],
)
def test_an_effort_without_sense_is_refused(given: dict[str, float]) -> None:
    [name] = given
    with pytest.raises(UsageError, match=f"--{name} "):
        Effort(**given)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "given",
    [{"detect": 0.01, "budget": 1.0, "seconds": 60.0}, {"detect": 10.0, "budget": 86_400.0}],
)
def test_an_effort_at_the_limit_is_not(given: dict[str, float]) -> None:
    effort = Effort(**given)  # type: ignore[arg-type]
    assert {name: getattr(effort, name) for name in given} == given
