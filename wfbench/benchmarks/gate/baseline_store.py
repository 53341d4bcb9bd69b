"""Baselines by name: saved, listed, read and removed as `results/baselines/NAME.json`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from pathlib import Path

from wfbench.benchmarks.compare.learning_runs import load_learning_runs
from wfbench.benchmarks.compare.searches import Margins
from wfbench.benchmarks.gate.baseline import Baseline, BaselineCell, make_baseline
from wfbench.benchmarks.gate.learning_baseline import LearningBaseline, make_learning_baseline
from wfbench.benchmarks.measure.saved import load_bench_config, load_machine, load_session
from wfbench.contract import NotComparableError, UsageError, WfbenchError
from wfbench.store.event_log import plain
from wfbench.store.files import load_json, read_record, write_json, writing
from wfbench.store.places import DEFAULT as RUNS
from wfbench.store.places import checked_name, find_run, run_kind

DEFAULT = Path("results") / "baselines"
SPEED_SCHEMA = "baseline/1"
LEARNING_SCHEMA = "learning-baseline/1"

AnyBaseline = Baseline | LearningBaseline


def save_baseline(
    name: str,
    runs: Sequence[str | Path],
    *,
    out: Path = RUNS,
    reference: str | None = None,
    steps: int | None = None,
    return_margin: float | None = None,
    compliance_margin: float | None = None,
    baselines: Path = DEFAULT,
    replace: bool = False,
) -> tuple[Path, AnyBaseline]:
    """Save a bench run, or searches with different seeds, as a baseline; return file and baseline.

    `reference` is for bench runs; `steps` and the margins are for searches.
    """
    paths = [find_run(out, str(run)) for run in runs]
    made: AnyBaseline
    if any(run_kind(path) == "bench" for path in paths):
        if (steps, return_margin, compliance_margin) != (None, None, None):
            raise UsageError("--steps and margins belong to searches, not to bench runs")
        if len(paths) > 1:
            raise UsageError("a baseline of speed is made of one bench run; name only one")
        config = load_bench_config(paths[0])
        made = make_baseline(
            load_session(paths[0]),
            name,
            created=config.created,
            machine=load_machine(paths[0]),
            command=config.command,
            reference=reference,
        )
    else:
        if reference is not None:
            raise UsageError("--reference belongs to bench runs, not to searches")
        for value in (return_margin, compliance_margin):
            if value is not None and not value > 0:
                raise UsageError(f"a margin is {value:g}; it must be above 0")
        made = make_learning_baseline(
            load_learning_runs(paths),
            name,
            created=datetime.now().astimezone().isoformat(timespec="seconds"),
            margins=Margins(return_margin, compliance_margin or Margins().compliance),
            steps=steps,
        )
    return write_baseline(baselines, made, replace=replace), made


def write_baseline(folder: Path, baseline: AnyBaseline, *, replace: bool) -> Path:
    """Write a baseline; overwrite one of the same name only with `replace`."""
    path = folder / f"{checked_name(baseline.name)}.json"
    if path.exists() and not replace:
        raise UsageError(f"{path} already exists; say --replace, or choose another name")
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    schema = SPEED_SCHEMA if isinstance(baseline, Baseline) else LEARNING_SCHEMA
    write_json(path, schema, plain(asdict(baseline)))
    return path


def read_baseline(path: Path) -> AnyBaseline:
    """Read a baseline of speed or of learning; raise NotComparableError if it is unusable."""
    try:
        schema = load_json(path).get("schema")
    except (UsageError, AttributeError):
        schema = None  # the reader below says what is wrong
    if schema != f"wfbench/{LEARNING_SCHEMA}":
        return _read_speed(path)
    baseline = read_record(path, LEARNING_SCHEMA, LearningBaseline)
    if not baseline.runs:
        raise NotComparableError(f"{path} holds no search; save the baseline again")
    return baseline


def list_baselines(folder: Path) -> tuple[list[AnyBaseline], list[str]]:
    """Return every baseline of a folder, and one line for each that cannot be read."""
    found, unreadable = [], []
    for name in names(folder):
        try:
            found.append(read_baseline(folder / f"{name}.json"))
        except WfbenchError as error:
            unreadable.append(str(error))
    return found, unreadable


def remove_baseline(folder: Path, name: str) -> Path:
    """Remove a baseline and return the file it was in."""
    path = find_baseline(folder, name)
    with writing(path):
        path.unlink()
    return path


def find_baseline(folder: Path, wanted: str | None) -> Path:
    """Return the file of a baseline, given by name or path; None means the only one there is."""
    there = names(folder)
    if wanted is None:
        if len(there) > 1:
            raise UsageError(f"there are several baselines; say --baseline {'|'.join(there)}")
        if not there:
            raise NotComparableError(
                f"there is no baseline in {folder}; measure with `wfbench bench` and keep it with "
                "`wfbench baseline save NAME RUN`"
            )
        wanted = there[0]
    for path in (folder / f"{wanted}.json", Path(wanted)):
        if path.is_file():
            return path
    known = f"there are {', '.join(there)}" if there else "there is none"
    raise NotComparableError(f"there is no baseline {wanted!r} in {folder}; {known}")


def names(folder: Path) -> list[str]:
    """Return the names of all baselines of a folder."""
    return sorted(path.stem for path in folder.glob("*.json")) if folder.is_dir() else []


def _read_speed(path: Path) -> Baseline:
    try:
        baseline = read_record(path, SPEED_SCHEMA, Baseline)
    except UsageError as error:
        raise NotComparableError(f"{error}; save the baseline again") from error
    if not baseline.cells or any(len(c.log_ratios) != len(c.rates) for c in baseline.cells):
        raise NotComparableError(f"{path} has cells without rounds; save the baseline again")
    if not all(map(_is_sound, baseline.cells)):
        raise NotComparableError(
            f"{path} has figures that cannot be measured (NaN, or not above 0); save the baseline "
            "again"
        )
    return baseline


def _is_sound(cell: BaselineCell) -> bool:
    return all(map(math.isfinite, cell.log_ratios)) and all(
        math.isfinite(value) and value > 0 for value in (*cell.rates, cell.cpu_us)
    )
