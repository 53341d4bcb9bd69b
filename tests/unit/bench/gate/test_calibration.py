from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from wfbench.benchmarks.gate.calibration import (
    Calibration,
    calibration_of,
    read_calibration,
    write_calibration,
)
from wfbench.benchmarks.measure.model import Case, Measurement, Sample, Session, Settings
from wfbench.contract import EnvRef, NotComparableError, UsageError
from wfbench.store.machine import same_machine

CASE = Case("a", "made:A", {}, EnvRef("made", "made:Env"), 4, "random", deterministic=True)
MACHINE = {"cpu": "one", "usable_cores": 2, "load": [0.1]}


def simulated(noise: float, *, drift: float = 0.0, rounds: int = 20, seed: int = 0) -> Session:
    """A case beside itself; `drift` is how far the two copies move apart over the session."""
    rng = np.random.default_rng(seed)
    samples = []
    for number in range(rounds):
        common = rng.normal(0.0, 0.3)
        for index in (0, 1):
            moved = drift * number / rounds * (index == 0)
            rate = 1000.0 * math.exp(common + moved + rng.normal(0.0, noise))
            measured = Measurement(
                *(0.1, 0.1, 1000.0 / rate, 1.0, 0.0, 1000, 10, 1, {"env": 1.0}, 0, 0, 0, 0, 0.0, 0),
                (),
                "h",
                batched=False,
            )
            samples.append(Sample(index, number, len(samples), 0, measurement=measured))
    return Session((CASE, CASE), Settings(rounds=rounds), tuple(samples))


def calibrated(session: Session) -> Calibration:
    return calibration_of(session, 5, created="now", machine=MACHINE)


def test_a_quiet_machine_sees_little_things_and_raises_few_alarms() -> None:
    found = calibrated(simulated(0.005))
    assert found.minimum_effect == 0.05
    assert found.false_alarms <= 0.05
    assert found.detectable is not None
    assert 0.05 <= found.detectable < 0.1


def test_the_noisier_the_machine_the_larger_what_counts() -> None:
    quiet, loud = calibrated(simulated(0.02)), calibrated(simulated(0.2))
    assert loud.minimum_effect > quiet.minimum_effect
    assert loud.detectable is None or loud.detectable > (quiet.detectable or 0.0)


def test_drift_within_the_session_counts_as_noise() -> None:
    assert calibrated(simulated(0.01, drift=0.4)).minimum_effect > 0.2


def test_a_calibration_comes_back_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "new" / "calibration.json"
    assert read_calibration(path) is None
    found = calibrated(simulated(0.05))
    write_calibration(path, found)
    assert read_calibration(path) == found
    path.write_text(json.dumps({"schema": "wfbench/calibration/9"}))
    with pytest.raises(UsageError, match="schema 'wfbench/calibration/9'"):
        read_calibration(path)


def test_a_failed_sample_or_too_few_rounds_say_nothing() -> None:
    session = simulated(0.05)
    broken = replace(session.samples[7], measurement=None, failure="it hung")
    samples = (*session.samples[:7], broken, *session.samples[8:])
    with pytest.raises(NotComparableError, match="round 4 of a cannot be used: it hung"):
        calibrated(replace(session, samples=samples))
    with pytest.raises(UsageError, match=r"9 rounds, windows of 5: .* two of them must fit"):
        calibrated(simulated(0.05, rounds=9))


def test_a_machine_is_known_by_its_processor_and_cores() -> None:
    assert same_machine(MACHINE, {**MACHINE, "load": [9.0]})
    assert not same_machine(MACHINE, {**MACHINE, "usable_cores": 4})
