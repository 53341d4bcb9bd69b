"""Baselines by name: `results/baselines/NAME.json`."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from pathlib import Path

from wfbench.contract import NotComparableError, UsageError
from wfbench.store.decoding import decode
from wfbench.store.event_log import plain
from wfbench.store.files import read_json, write_json, writing
from wfbench.store.places import checked_name

from . import learning_baseline
from .baseline import SCHEMA, Baseline, Cell
from .learning_baseline import LearningBaseline

DEFAULT = Path("results") / "baselines"


AnyBaseline = Baseline | LearningBaseline


def write_baseline(folder: Path, baseline: AnyBaseline, *, replace: bool) -> Path:
    """Keep a baseline; one of the same name only where it is to be replaced."""
    path = folder / f"{checked_name(baseline.name)}.json"
    if path.exists() and not replace:
        raise UsageError(f"{path} already exists; say --replace, or choose another name")
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    if isinstance(baseline, Baseline):
        write_json(path, SCHEMA, plain(asdict(baseline)))
    else:
        write_json(path, learning_baseline.SCHEMA, plain(learning_baseline.as_json(baseline)))
    return path


def read_any(path: Path) -> AnyBaseline:
    """The baseline in a file, of speed or of learning."""
    try:
        schema = json.loads(path.read_bytes()).get("schema")
    except (OSError, ValueError, AttributeError):
        schema = None  # what is wrong is said by the reader below
    if schema == f"wfbench/{learning_baseline.SCHEMA}":
        return _read_learning(path)
    return read_baseline(path)


def _read_learning(path: Path) -> LearningBaseline:
    values = read_json(path, learning_baseline.SCHEMA)
    del values["schema"]
    baseline = decode(LearningBaseline, learning_baseline.from_json(values), str(path))
    if not baseline.runs:
        raise NotComparableError(f"{path} holds no search; save the baseline again")
    return baseline


def read_baseline(path: Path) -> Baseline:
    """The baseline in a file; one of another schema cannot be compared with."""
    try:
        values = read_json(path, SCHEMA)
        del values["schema"]
        baseline = decode(Baseline, values, str(path))
    except UsageError as error:
        raise NotComparableError(f"{error}; save the baseline again") from error
    if not baseline.cells or any(len(c.log_ratios) != len(c.rates) for c in baseline.cells):
        raise NotComparableError(f"{path} has cells without rounds; save the baseline again")
    if not all(map(_sound, baseline.cells)):
        raise NotComparableError(
            f"{path} has figures that cannot be measured (NaN, or not above 0); save the baseline "
            "again"
        )
    return baseline


def _sound(cell: Cell) -> bool:
    return all(map(math.isfinite, cell.log_ratios)) and all(
        math.isfinite(value) and value > 0 for value in (*cell.rates, cell.cpu_us)
    )


def find_baseline(folder: Path, wanted: str | None) -> Path:
    """The file of a baseline given by name or path; the only one there is if none is named."""
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
    """Every baseline of a folder, by name."""
    return sorted(path.stem for path in folder.glob("*.json")) if folder.is_dir() else []
