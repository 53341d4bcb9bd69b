"""Does the gate work here at all? Measures too briefly to say anything about speed."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from wfbench.plugins import PluginHost

from .baseline import Baseline, cells_of
from .baseline_cases import cases_now
from .baseline_files import names, read_any, read_baseline, write_baseline
from .cases import select_cases
from .checking import Check, Measure, run_check
from .gate import Threshold
from .model import Measurement, Sample, Session, Settings
from .verdicts import Verdict

SETTINGS = Settings(rounds=4, seconds=0.05, steps=10, smoke=True)
COLLECTORS = ("sequential", "shm:workers=2")
PLANTED = 1000.0
"""How many times slower one case is made to look: far beyond what any noise can do."""


def smoke_check(
    host: PluginHost, measure: Measure, folder: Path, machine: Mapping[str, Any]
) -> Check:
    """Go through a whole check with figures of now, which become no baseline anywhere.

    Two collectors are measured, remembered in a temporary file and checked; the check must find
    a slow-down that is planted in what it is told was measured. Every baseline in `folder` must
    be one that this installation can measure.
    """
    for name in names(folder):
        kept = read_any(folder / f"{name}.json")
        if isinstance(kept, Baseline):
            cases_now(host, kept)
    cases = select_cases(
        host, collectors=COLLECTORS, env="synthetic-batch", n_envs=[8], policy="random", options={}
    )
    first = measure(cases, SETTINGS, "first")
    baseline = _remembered(first, machine)
    found = run_check(
        baseline,
        cases_now(host, baseline),
        SETTINGS,
        Threshold(),
        lambda chosen, settings, why: _slowed(measure(chosen, settings, why), cases[-1].label),
    )
    planted = found.cells[-1]
    if not found.failed and planted.verdict is not Verdict.REGRESSED:
        raise RuntimeError(
            f"{planted.label} was made to look {PLANTED:g} times slower, and the gate says "
            f"{planted.verdict}: {planted.why}"
        )
    return found


def _remembered(session: Session, machine: Mapping[str, Any]) -> Baseline:
    """What is measured, after a way through a file; `baseline save` would refuse it."""
    made = Baseline(
        name="smoke",
        created="now",
        reference=session.cases[0].label,
        settings=session.settings,
        cells=cells_of(session, session.cases[0].label),
        machine=dict(machine),
    )
    with tempfile.TemporaryDirectory(prefix="wfbench-") as folder:
        return read_baseline(write_baseline(Path(folder), made, replace=False))


def _slowed(session: Session, label: str) -> Session:
    return replace(
        session,
        samples=tuple(
            _slower(sample) if session.cases[sample.case].label == label else sample
            for sample in session.samples
        ),
    )


def _slower(sample: Sample) -> Sample:
    taken: Measurement | None = sample.measurement
    if taken is None:
        return sample
    return replace(sample, measurement=replace(taken, wall=taken.wall * PLANTED))
