"""A bench that ends when its time is spent or its figures are precise."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest

from wfbench.benchmarks.measure.model import Case, Measurement, Sample, Session, Settings
from wfbench.benchmarks.measure.runner import measure_session
from wfbench.benchmarks.measure.saved import load_session
from wfbench.benchmarks.measure.stopping import MOST_ROUNDS, Limits
from wfbench.benchmarks.statistics.intervals import rate_estimate
from wfbench.contract import EnvRef, UsageError

CASE = Case("a", "made:A", {}, EnvRef("made", "made:Env"), 4, "random", deterministic=True)


def session(*rates: float) -> Session:
    """One case, a round for each rate."""
    samples = []
    for number, rate in enumerate(rates):
        taken = Measurement(
            *(0.1, 0.1, 1000 / rate, 1.0, 0.0, 1000, 10, 1, {"env": 1.0}, 0, 0, 0, 0, 0.0, 0),
            (),
            "h",
            batched=False,
        )
        samples.append(Sample(0, number, number, 0, measurement=taken))
    return Session((CASE,), Settings(rounds=100), tuple(samples))


def test_it_ends_when_every_rate_is_known_well_enough() -> None:
    limits = Limits(precision=0.05)
    assert limits.enough(session(1000, 1001, 999, 1000))
    assert not limits.enough(session(1000, 1001, 999))
    assert not limits.enough(session(1000, 2000, 500, 1000))


def test_it_ends_before_the_round_that_would_break_the_budget(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    limits = Limits(budget=10.0)
    now = 104.0  # two rounds of two seconds each
    assert not limits.enough(session(1000, 1000))
    assert limits.seconds_left(session(1000, 1000)) == pytest.approx(6.0)
    now = 108.0
    assert not limits.enough(session(1000, 1000, 1000, 1000))
    now = 108.5
    assert limits.enough(session(1000, 1000, 1000, 1000))


def test_the_time_that_is_left_is_that_of_the_rounds_or_of_the_budget(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    endless, limited = Limits(), Limits(budget=10.0)
    now = 104.0
    assert endless.seconds_left(session(1000, 1000)) == pytest.approx(2.0 * 98)
    some = session(1000, 1000)
    few = replace(some, settings=replace(some.settings, rounds=3))
    assert limited.seconds_left(few) == pytest.approx(2.0)
    now = 111.0
    assert limited.seconds_left(some) == 0.0
    assert not endless.enough(some)


@pytest.mark.parametrize(("share", "enough"), [(0.7, False), (0.99, False), (1.01, True)])
def test_half_of_the_interval_must_be_narrow_enough(share: float, *, enough: bool) -> None:
    rates = (1000, 1100, 950, 1020, 980)
    found = rate_estimate(rates)
    assert found.low is not None
    assert found.high is not None
    half = (found.high - found.low) / 2 / found.value
    assert Limits(precision=share * half).enough(session(*rates)) == enough


@pytest.mark.parametrize("budget", [0.001, 0.5, 1.0, 999_999.0])
def test_a_budget_is_any_time_up_to_days(budget: float) -> None:
    assert Limits(budget=budget).budget == budget
    assert MOST_ROUNDS == 1000


@pytest.mark.parametrize(
    "wrong",
    [
        *({"budget": 0.0}, {"budget": float("nan")}, {"budget": 1e6}),
        *({"precision": 1.5}, {"precision": 1.0}, {"precision": 0.0}),
    ],
)
def test_limits_that_make_no_sense_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(UsageError, match=r"--(budget|until-precision)"):
        Limits(**wrong)


def test_a_session_that_ended_early_is_complete_with_the_rounds_it_has(tmp_path: Path) -> None:
    found, path = measure_session(
        [CASE], Settings(rounds=50), out=tmp_path, enough=lambda so_far: len(so_far.samples) == 2
    )
    assert found.settings.rounds == 2
    assert len(found.samples) == 2  # which failed: there is no such collector
    assert load_session(path).settings == found.settings
    assert load_session(path).finished
