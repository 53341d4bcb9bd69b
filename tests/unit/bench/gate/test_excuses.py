"""Who is to blame for a ratio that fell, in sessions without noise."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from wfbench.benchmarks.gate.baseline_store import Baseline, cells_of, make_baseline
from wfbench.benchmarks.gate.speed_check import (
    Judgement,
    SpeedCheck,
    Threshold,
    busy_notes,
    run_check,
)
from wfbench.benchmarks.measure.model import Case, Measurement, Sample, Session, Settings
from wfbench.benchmarks.measure.summary import max_foreign_cores
from wfbench.benchmarks.statistics.intervals import Estimate
from wfbench.benchmarks.statistics.verdicts import Verdict
from wfbench.contract import EnvRef

ENV = EnvRef("made", "made:Env")
SETTINGS = Settings(rounds=6)
HERE = Threshold(same_machine=True)


def cases(*named: tuple[str, int]) -> list[Case]:
    return [Case(name, "made:C", {}, ENV, n, "random", deterministic=True) for name, n in named]


def steady(
    chosen: Sequence[Case], rates: Sequence[float], foreign: float = 0.0, rounds: int = 6
) -> Session:
    """A session whose cases have these rates in every round; 0 is a sample that is marked."""
    samples = []
    for number in range(rounds):
        for index, rate in enumerate(rates):
            taken = Measurement(
                *(0.1, 0.1, 2.0, 1.0, 0.0, round(2000 * (rate or 1)), 10, 1, {"env": 2.0}),
                *(0, 0, 0, 0, 0.0, 0, () if rate else ("late",), "h"),
                batched=False,
                foreign_cpu=foreign,
            )
            samples.append(Sample(index, number, len(samples), 0, measurement=taken))
    return Session(tuple(chosen), SETTINGS, tuple(samples))


def remembered(chosen: Sequence[Case], rates: Sequence[float]) -> Baseline:
    made = make_baseline(steady(chosen, [1.0] * len(rates)), "m", created="then", machine={})
    assert made.cells == cells_of(steady(chosen, [1.0] * len(rates)), chosen[0].label)
    return made


def checked(
    chosen: Sequence[Case], now: Sequence[float], threshold: Threshold = HERE, foreign: float = 0.0
) -> SpeedCheck:
    baseline = remembered(chosen, now)
    return run_check(*(baseline, chosen, SETTINGS, threshold), lambda c, _: steady(c, now, foreign))


@pytest.mark.parametrize(
    ("reference", "own", "verdict", "said"),
    [
        (1.0, 0.8, Verdict.REGRESSED, ""),
        (1.06, 0.94, Verdict.REGRESSED, ""),  # neither moved by a tenth, both together did
        (1.3, 1.0, Verdict.INCONCLUSIVE, "its own rate did not fall: a got faster"),
        (1.3, 0.8, Verdict.REGRESSED, ""),
        (1.0, 1.3, Verdict.IMPROVED, ""),
        (1.0, 1.0, Verdict.NO_CHANGE, ""),
    ],
)
def test_a_ratio_falls_by_the_fault_of_who_got_slower(
    reference: float, own: float, verdict: Verdict, said: str
) -> None:
    found = checked(cases(("a", 4), ("b", 4)), [reference, own]).cells[1]
    assert found.verdict is verdict
    assert found.why.endswith(said)
    assert ("its own rate" in found.why) == bool(said)


def test_only_a_reference_of_the_same_size_excuses() -> None:
    chosen = cases(("a", 4), ("b", 4), ("a", 9), ("b", 9))
    for faster, (four, nine) in ((2, (1.0, 1.3)), (0, (1.3, 1.0))):
        found = checked(chosen, [four, 1.0, nine, 1.0]).cells
        excused = found[faster + 1]
        assert excused.verdict is Verdict.INCONCLUSIVE
        assert excused.why.endswith("its own rate did not fall: a got faster")
        assert found[3 - faster].verdict is Verdict.NO_CHANGE


def test_a_case_without_a_clean_round_is_not_judged() -> None:
    found = checked(cases(("a", 4), ("b", 4), ("c", 4)), [1.0, 0.0, 0.8]).cells
    assert (found[1].first, found[1].now, found[1].rate_now) == (None, None, None)
    assert found[1].why == "no round has a clean sample of both it and its reference"
    assert found[2].verdict is Verdict.REGRESSED
    assert found[2].first is not None
    assert found[2].first.p == found[2].first.smallest  # of one cell, so not adjusted


def test_a_slow_down_counts_while_others_use_no_more_than_is_quiet() -> None:
    chosen, slower = cases(("a", 4), ("b", 4)), [1.0, 0.5]
    quiet = max_foreign_cores(steady(chosen, slower, 0.72))
    assert quiet is not None
    for limit, verdict in ((quiet, Verdict.REGRESSED), (0.9 * quiet, Verdict.INCONCLUSIVE)):
        found = checked(chosen, slower, Threshold(quiet=limit, same_machine=True), 0.72)
        assert found.cells[1].verdict is verdict


@pytest.mark.parametrize(("seconds", "notes"), [(0.22, 0), (0.24, 1)])
def test_a_tenth_of_a_core_is_not_busy(seconds: float, notes: int) -> None:
    chosen = cases(("a", 4), ("b", 4))
    session = steady(chosen, [1.0, 1.0], seconds, rounds=1)
    assert len(busy_notes(remembered(chosen, [1.0, 1.0]), [session])) == notes


def test_a_judgement_is_no_suspicion_unless_it_says_so() -> None:
    assert not Judgement(Verdict.NO_CHANGE, Estimate(1.0), 1.0, 0.1, 6).suspicious
