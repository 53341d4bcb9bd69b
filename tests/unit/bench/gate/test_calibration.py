from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean

import numpy as np
import pytest

from wfbench.benchmarks.gate import calibration
from wfbench.benchmarks.gate.baseline_store import cells_of, make_baseline
from wfbench.benchmarks.gate.calibration import (
    Calibration,
    calibrate,
    calibration_of,
    read_calibration,
    write_calibration,
)
from wfbench.benchmarks.gate.speed_check import Threshold, choose_threshold
from wfbench.benchmarks.measure.model import Case, Measurement, Sample, Session, Settings
from wfbench.benchmarks.statistics.intervals import (
    unpaired_permutation_test,
    unpaired_ratio_estimate,
)
from wfbench.benchmarks.statistics.verdicts import Verdict
from wfbench.contract import EnvRef, NotComparableError, UsageError
from wfbench.store.machine import same_machine

CASES = tuple(
    Case(label, "made:A", {}, EnvRef("made", "made:Env"), 4, "random", deterministic=True)
    for label in ("reference", "a")
)
MACHINE = {"cpu": "one", "usable_cores": 2, "load": [0.1]}


def simulated(
    noise: float,
    *,
    drift: float = 0.0,
    rounds: int = 30,
    seed: int = 0,
    reference_noise: float | None = None,
) -> Session:
    """A case beside its reference; `drift` is how far the two move apart over the session."""
    noises = (noise if reference_noise is None else reference_noise, noise)
    rng = np.random.default_rng(seed)
    samples = []
    for number in range(rounds):
        common = rng.normal(0.0, 0.3)
        for index in (0, 1):
            moved = drift * number / rounds * (index == 0)
            rate = 1000.0 * math.exp(common + moved + rng.normal(0.0, noises[index]))
            measured = Measurement(
                *(0.1, 0.1, 1000.0 / rate, 1.0, 0.0, 1000, 10, 1, {"env": 1.0}, 0, 0, 0, 0, 0.0, 0),
                (),
                "h",
                batched=False,
            )
            samples.append(Sample(index, number, len(samples), 0, measurement=measured))
    return Session(CASES, Settings(rounds=rounds), tuple(samples))


def calibrated(session: Session) -> Calibration:
    return calibration_of(session, 5, created="now", machine=MACHINE)


def test_a_quiet_machine_sees_little_things_and_raises_few_alarms() -> None:
    found = calibrated(simulated(0.005))
    assert found.minimum_effect == 0.05
    assert found.false_alarms <= 0.05
    assert found.detectable is not None
    assert 0.05 <= found.detectable < 0.1
    assert [one.comparisons for one in found.cases] == [31]  # of 816 sets, every 27th


def test_without_noise_only_the_least_effect_and_the_steps_tried_count() -> None:
    found = calibrated(simulated(0.0, rounds=16))
    assert (found.window, found.minimum_effect, found.false_alarms) == (5, 0.05, 0.0)
    assert [(one.label, one.spread, one.comparisons) for one in found.cases] == [("a", 0.0, 4)]
    assert found.detectable == 15 / 256  # the first multiple of 3/256 above the least effect


def test_the_noisier_the_machine_the_larger_what_counts() -> None:
    quiet, loud = calibrated(simulated(0.02)), calibrated(simulated(0.2))
    assert loud.minimum_effect > quiet.minimum_effect
    assert loud.detectable is None or loud.detectable > (quiet.detectable or 0.0)


def test_where_four_times_as_long_drowns_nothing_is_called_detectable() -> None:
    assert calibrated(simulated(2.0)).detectable is None


def test_the_noise_of_the_reference_is_part_of_it() -> None:
    calm, shaky = (calibrated(simulated(0.01, reference_noise=n)) for n in (0.01, 0.2))
    assert shaky.minimum_effect > 2 * calm.minimum_effect


def test_what_is_called_detectable_fails_four_of_five_checks_of_two_looks() -> None:
    """By checks of fresh rounds on the same machine; one calibration alone knows it roughly."""
    made = [calibrated(simulated(0.1, rounds=60, seed=seed)) for seed in range(8)]
    effect = fmean(one.minimum_effect for one in made)
    slowdown = fmean(one.detectable or math.inf for one in made)
    failed = 0
    for seed in range(100, 200):
        logs = cells_of(simulated(0.1, rounds=15, seed=seed), "reference")[1].log_ratios
        looks = [[x - math.log1p(slowdown) for x in logs[i : i + 5]] for i in (5, 10)]
        failed += all(regressed(logs[:5], now, effect) for now in looks)
    assert 68 <= failed <= 92  # four of five, give or take three standard errors of 100 tries


def regressed(then: Sequence[float], now: Sequence[float], effect: float) -> bool:
    change, test = unpaired_ratio_estimate(now, then), unpaired_permutation_test(now, then)
    return Threshold(effect).verdict(change, test) is Verdict.REGRESSED


def test_drift_within_the_session_counts_as_noise() -> None:
    assert calibrated(simulated(0.01, drift=0.4)).minimum_effect > 0.2


def test_a_calibration_comes_back_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "quite" / "new" / "calibration.json"
    assert read_calibration(path) is None
    found = calibrated(simulated(0.05))
    for one in (replace(found, window=6), found):
        write_calibration(path, one)
    assert read_calibration(path) == found
    path.write_text(json.dumps({"schema": "wfbench/calibration/9"}))
    with pytest.raises(UsageError, match="schema 'wfbench/calibration/9'"):
        read_calibration(path)


def test_a_failed_sample_or_too_few_rounds_say_nothing() -> None:
    session = simulated(0.05)
    broken = replace(session.samples[7], measurement=None, failure="it hung")
    samples = (*session.samples[:7], broken, *session.samples[8:])
    with pytest.raises(
        NotComparableError, match=r"round 4 of (reference|a) cannot be used: it hung"
    ):
        calibrated(replace(session, samples=samples))
    with pytest.raises(UsageError, match=r"14 rounds, windows of 5: .* three of them must fit"):
        calibrated(simulated(0.05, rounds=14))
    with pytest.raises(UsageError, match="a window has at least 4 rounds"):
        calibration_of(session, 3, created="now", machine=MACHINE)
    least = simulated(0.05, rounds=12)
    assert calibration_of(least, 4, created="now", machine=MACHINE).window == 4


def test_two_cases_are_measured_and_one_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    session = simulated(0.05, rounds=12)
    monkeypatch.setattr(calibration, "run_session", lambda *_: session)
    found = calibrate(CASES, session.settings, 4)
    assert found == calibration_of(session, 4, created=found.created, machine=found.machine)
    with pytest.raises(UsageError, match="a ratio needs a second case to calibrate"):
        calibrate(CASES[:1], session.settings, 4)


@pytest.mark.parametrize(
    ("noise", "drift", "effect", "alarms", "detectable"),
    [
        (0.05, 0.0, 0.06735920538627208, 0.0, 19 * 3 / 256),
        (0.1, 0.0, 0.13925567332281405, 0.0, 40 * 3 / 256),
        (0.1, 0.5, 0.43019815793227945, 1 / 31, 70 * 3 / 256),
        (0.3, -1.0, 0.9353530446471373, 0.0, 247 * 3 / 256),
    ],
)
def test_figures_of_known_sessions(
    noise: float, drift: float, effect: float, alarms: float, detectable: float
) -> None:
    found = calibrated(simulated(noise, drift=drift, seed=3))
    [one] = found.cases
    assert found.minimum_effect == pytest.approx(effect, rel=1e-9)
    assert one.false_alarms == pytest.approx(alarms)
    assert found.detectable == pytest.approx(detectable, rel=1e-9)


def test_a_machine_is_known_by_its_processor_and_cores() -> None:
    assert same_machine(MACHINE, {**MACHINE, "load": [9.0]})
    assert not same_machine(MACHINE, {**MACHINE, "usable_cores": 4})


def test_a_check_takes_its_minimum_effect_from_the_calibration_of_its_machine() -> None:
    session = simulated(0.0, rounds=16)
    baseline = make_baseline(session, "made", created="then", machine=MACHINE)
    found = replace(calibrated(session), minimum_effect=0.07)
    found = replace(found, cases=(replace(found.cases[0], detectable=0.125),))
    threshold, [note] = choose_threshold(baseline, MACHINE, found, None)
    assert threshold == Threshold(0.07, same_machine=True)
    assert note == (
        "minimum effect 7% by calibration (now; slow-downs are found here: from 12% on)"
    )
    never = replace(found, cases=(replace(found.cases[0], detectable=None),))
    _, [note] = choose_threshold(baseline, MACHINE, never, None)
    assert note.endswith("slow-downs are found here: none below fourfold)")
    other = replace(found, machine={**MACHINE, "cpu": "two"})
    threshold, [note] = choose_threshold(baseline, MACHINE, other, None)
    assert threshold.minimum_effect == 0.1
    assert note.startswith("the calibration is of another machine (two, 2 cores): minimum effect")
    assert choose_threshold(baseline, MACHINE, None, 9.9)[0].minimum_effect == 9.9
    with pytest.raises(UsageError, match="--minimum-effect 10: it must be between 0 and 10"):
        choose_threshold(baseline, MACHINE, None, 10.0)


@pytest.mark.parametrize(("cores", "disturbed"), [(None, False), (0.1, False), (0.11, True)])
def test_a_baseline_is_disturbed_by_more_than_a_tenth_of_a_core(
    cores: float | None, *, disturbed: bool
) -> None:
    made = make_baseline(simulated(0.0, rounds=16), "made", created="then", machine=MACHINE)
    assert replace(made, foreign_cores=cores).disturbed == disturbed
