"""Check what is installed now against a stored baseline, of speed or of learning."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

from wfbench.benchmarks.compare.learning_runs import load_learning_runs
from wfbench.benchmarks.gate.baseline_store import (
    DEFAULT,
    Baseline,
    cells_of,
    find_baseline,
    names,
    read_baseline,
    write_baseline,
)
from wfbench.benchmarks.gate.calibration import DEFAULT as CALIBRATION
from wfbench.benchmarks.gate.calibration import read_calibration
from wfbench.benchmarks.gate.learning_baseline import (
    LearningBaseline,
    LearningCheck,
    check_learning,
)
from wfbench.benchmarks.gate.speed_check import (
    SpeedCheck,
    Threshold,
    busy_notes,
    choose_threshold,
    run_check,
)
from wfbench.benchmarks.measure.cases import rebuild_case, select_cases
from wfbench.benchmarks.measure.model import Case, Session, Settings
from wfbench.benchmarks.measure.runner import SessionProgress, measure_session, run_session
from wfbench.benchmarks.statistics.verdicts import Verdict
from wfbench.contract import NotComparableError, UsageError
from wfbench.host.manager import PluginHost
from wfbench.processes.limits import usable_cores
from wfbench.store.machine import fingerprint
from wfbench.store.places import DEFAULT as RUNS
from wfbench.store.places import find_run

Busy = Literal["inconclusive", "judge"]
_QUIET, _QUIET_SHARE = 0.5, 0.1
"""If others took more than half a core and a tenth of all, a slow-down may be their fault."""

_SMOKE_SETTINGS = Settings(rounds=4, seconds=0.05, steps=10, smoke=True)
_SMOKE_COLLECTORS = ("sequential", "shm:workers=2")
_PLANTED = 1e6
"""Factor by which one case is made to look slower: far more than any noise, even of 50 ms."""


def check(
    host: PluginHost,
    *,
    baseline: str | None = None,
    baselines: Path = DEFAULT,
    runs: Sequence[str | Path] = (),
    rounds: int | None = None,
    minimum_effect: float | None = None,
    busy: Busy = "inconclusive",
    samples: Path,
    command: Sequence[str] = (),
    progress: SessionProgress | None = None,
) -> SpeedCheck | LearningCheck:
    """Measure the cases of a baseline of speed again, or compare `runs` with one of learning.

    `busy` says what a slow-down is while other programs use half a core or more. `samples` is the
    directory for the run directories of what is measured.
    """
    path = find_baseline(baselines, baseline)
    found = read_baseline(path)
    if isinstance(found, LearningBaseline):
        if (rounds, minimum_effect, busy) != (None, None, "inconclusive"):
            raise UsageError("--rounds, --minimum-effect and --busy belong to baselines of speed")
        if not runs:
            seeds = ", ".join(str(run.seed) for run in found.runs)
            raise UsageError(
                f"{found.name} is a baseline of learning: search again with the same settings "
                f"(seeds {seeds}) and name the searches with --run"
            )
        paths = [find_run(RUNS, str(run)) for run in runs]
        return check_learning(found, load_learning_runs(paths), ", ".join(map(str, paths)))
    if runs:
        raise UsageError(
            f"{found.name} is a baseline of speed, which check measures itself; "
            "leave --run out, or use `wfbench compare`"
        )
    machine = fingerprint()
    cases = cases_now(host, found)
    settings = found.settings if rounds is None else replace(found.settings, rounds=rounds)
    calibration = read_calibration(CALIBRATION)
    threshold, notes = choose_threshold(found, machine, calibration, minimum_effect)
    quiet = max(_QUIET, _QUIET_SHARE * usable_cores()) if busy == "inconclusive" else None

    def measure(chosen: Sequence[Case], how: Settings) -> Session:
        return measure_session(chosen, how, out=samples, command=command, progress=progress)[0]

    result = run_check(found, cases, settings, replace(threshold, quiet=quiet), measure)
    notes += busy_notes(found, result.sessions)
    return replace(result, notes=notes, baseline_file=str(path), machine=machine)


def cases_now(host: PluginHost, baseline: Baseline) -> list[Case]:
    """Return the cases of a baseline, built by what is installed now.

    Raises NotComparableError that names what cannot be built as it was.
    """
    try:
        return [rebuild_case(host, cell.case) for cell in baseline.cells]
    except UsageError as error:
        raise NotComparableError(
            f"baseline {baseline.name!r} cannot be measured here: {error}"
        ) from error


def smoke_check(
    host: PluginHost, *, baselines: Path = DEFAULT, progress: SessionProgress | None = None
) -> SpeedCheck:
    """Run a whole check against a temporary baseline; raise RuntimeError if it does not work.

    Two collectors are measured, too briefly to say anything about speed, and saved; the check must
    find a slow-down that is planted in its measurements. This installation must be able to measure
    every baseline in `baselines`.
    """
    for name in names(baselines):
        kept = read_baseline(baselines / f"{name}.json")
        if isinstance(kept, Baseline):
            cases_now(host, kept)
    cases = select_cases(
        host, collectors=_SMOKE_COLLECTORS, env="synthetic-batch", n_envs=[8], policy="random"
    )
    baseline = _saved(run_session(cases, _SMOKE_SETTINGS, progress))

    def measure(chosen: Sequence[Case], settings: Settings) -> Session:
        return _slowed(run_session(chosen, settings, progress), cases[-1].label)

    found = run_check(baseline, cases_now(host, baseline), _SMOKE_SETTINGS, Threshold(), measure)
    planted = found.cells[-1]
    if not found.failed and planted.verdict is not Verdict.REGRESSED:
        raise RuntimeError(
            f"{planted.label} was made to look {_PLANTED:g} times slower, and the gate says "
            f"{planted.verdict}: {planted.why}"
        )
    return found


def _saved(session: Session) -> Baseline:
    """Make a baseline and read it back from a file; `baseline save` would refuse a smoke run."""
    made = Baseline(
        name="smoke",
        created="now",
        reference=session.cases[0].label,
        settings=session.settings,
        cells=cells_of(session, session.cases[0].label),
        machine=fingerprint(),
    )
    with tempfile.TemporaryDirectory(prefix="wfbench-") as folder:
        read = read_baseline(write_baseline(Path(folder), made, replace=False))
    assert isinstance(read, Baseline)  # noqa: S101 (what was just written)
    return read


def _slowed(session: Session, label: str) -> Session:
    samples = list(session.samples)
    for position, sample in enumerate(samples):
        taken = sample.measurement
        if taken is not None and session.cases[sample.case].label == label:
            turns = tuple((n, wall * _PLANTED, cpu) for n, wall, cpu in taken.turns)
            slower = replace(taken, wall=taken.wall * _PLANTED, turns=turns)
            samples[position] = replace(sample, measurement=slower)
    return replace(session, samples=tuple(samples))
