"""Baselines: made of runs, and kept by name as `results/baselines/NAME.json`.

A baseline of speed keeps how each case compared with a reference in the same rounds. Ratios carry
over to another machine where rates do not, so only ratios are compared.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from statistics import fmean
from typing import Any

from wfbench import __version__
from wfbench.benchmarks.compare.learning_runs import load_learning_runs
from wfbench.benchmarks.compare.searches import Margins
from wfbench.benchmarks.gate.learning_baseline import LearningBaseline, make_learning_baseline
from wfbench.benchmarks.measure.model import Case, Session, Settings
from wfbench.benchmarks.measure.saved import load_bench_config, load_machine, load_session
from wfbench.benchmarks.measure.summary import BUSY, equal_work, max_foreign_cores
from wfbench.benchmarks.statistics.intervals import Estimate, exp_estimate, mean_estimate
from wfbench.contract import NotComparableError, UsageError, WfbenchError
from wfbench.store.event_log import plain
from wfbench.store.files import load_json, read_record, write_json, writing
from wfbench.store.places import DEFAULT as RUNS
from wfbench.store.places import checked_name, find_run, run_kind

DEFAULT = Path("results") / "baselines"
SPEED_SCHEMA = "baseline/1"
LEARNING_SCHEMA = "learning-baseline/1"
LEAST_ROUNDS = 4
"""Four rounds against four can just reach a p value of 0.03; fewer can never find anything."""


@dataclass(frozen=True)
class BaselineCell:
    """One case against the reference with as many environments."""

    case: Case
    rounds: tuple[int, ...]
    """The rounds in which both this case and its reference have a clean sample."""
    log_ratios: tuple[float, ...]
    """Log of the rate over the reference's, one per round."""
    rates: tuple[float, ...]
    """Transitions per second, one per round; never compared."""
    cpu_us: float
    """Mean CPU microseconds per transition; never compared."""

    @property
    def name(self) -> str:
        """The case as shown to people."""
        return f"{self.case.label}, {self.case.n_envs} envs"

    @property
    def ratio(self) -> Estimate:
        """How many times as fast as the reference."""
        return exp_estimate(mean_estimate(self.log_ratios))


@dataclass(frozen=True)
class Baseline:
    """A session that later ones are compared with."""

    name: str
    created: str
    reference: str
    """The label of the case that ratios are to; its own cells have ratio 1 throughout."""
    settings: Settings
    cells: tuple[BaselineCell, ...]
    machine: Mapping[str, Any]
    command: tuple[str, ...] = ()
    foreign_cores: float | None = None
    """Cores that other programs kept busy during the most disturbed case; None if unknown."""
    wfbench: str = __version__

    @property
    def disturbed(self) -> bool:
        """Whether other programs may have moved the ratios."""
        return self.foreign_cores is not None and self.foreign_cores > BUSY

    def is_reference(self, cell: BaselineCell) -> bool:
        """Return whether this is the cell that the ratios of others are to."""
        return cell.case.label == self.reference


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
    force: bool = False,
) -> tuple[Path, AnyBaseline]:
    """Save a bench run, or searches with different seeds, as a baseline; return file and baseline.

    `reference` and `force`, which accepts a busy machine, are for bench runs; `steps` and the
    margins are for searches.
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
        if made.disturbed and not force:
            raise NotComparableError(
                f"other programs took up to {made.foreign_cores:.1f} cores from {paths[0]}; "
                "measure again on a quiet machine, or keep it with --force: checks against it then "
                "never fail, they are inconclusive"
            )
    else:
        if reference is not None or force:
            raise UsageError("--reference and --force belong to bench runs, not to searches")
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


def make_baseline(
    session: Session,
    name: str,
    *,
    created: str,
    machine: Mapping[str, Any],
    command: Sequence[str] = (),
    reference: str | None = None,
) -> Baseline:
    """Return the baseline of a session; raise NotComparableError if the session is unfit."""
    for flaw in _flaws(session):
        raise NotComparableError(flaw)
    label = _reference_label(session, reference)
    return Baseline(
        name=name,
        created=created,
        reference=label,
        settings=session.settings,
        cells=cells_of(session, label),
        machine=dict(machine),
        command=tuple(command),
        foreign_cores=max_foreign_cores(session),
    )


def cells_of(session: Session, reference: str) -> tuple[BaselineCell, ...]:
    """Return every case of a session against the reference with as many environments."""
    return tuple(_cell(session, index, reference) for index in range(len(session.cases)))


def _cell(session: Session, index: int, reference: str) -> BaselineCell:
    case = session.cases[index]
    logs = session.log_ratios(index, session.index((reference, case.n_envs)))
    clean = {number: m for number, m in session.clean(index).items() if number in logs}
    return BaselineCell(
        case=case,
        rounds=tuple(clean),
        log_ratios=tuple(logs.values()),
        rates=tuple(m.rate for m in clean.values()),
        cpu_us=fmean(m.cpu_us for m in clean.values()) if clean else math.nan,
    )


def unusable_samples(session: Session) -> Iterator[str]:
    """Yield a line for each sample that failed or is marked."""
    for sample in session.samples:
        if not sample.clean:
            label = session.cases[sample.case].label
            yield f"round {sample.round + 1} of {label} cannot be used: {sample.problem}"


def _flaws(session: Session) -> Iterator[str]:
    """Yield whatever makes a session unfit as a baseline."""
    if session.settings.smoke:
        yield "this was a smoke run, too short to mean anything; measure without --smoke"
    missing = len(session.cases) * session.settings.rounds - len(session.samples)
    if missing:
        yield f"{missing} samples are missing: the run was interrupted"
    yield from unusable_samples(session)
    for work in equal_work(session):
        if not work.equal:
            yield f"{', '.join(work.odd)} collected other transitions than {work.labels[0]}"
    if session.settings.rounds < LEAST_ROUNDS:
        yield (
            f"{session.settings.rounds} rounds are too few to find anything later; "
            f"measure at least {LEAST_ROUNDS}, better 10"
        )


def _reference_label(session: Session, wanted: str | None) -> str:
    labels = list(dict.fromkeys(case.label for case in session.cases))
    label = labels[0] if wanted is None else wanted
    if label not in labels:
        raise UsageError(f"there is no case {label!r}; choose from {', '.join(labels)}")
    for n_envs in dict.fromkeys(case.n_envs for case in session.cases):
        here = [case.label for case in session.cases if case.n_envs == n_envs]
        if label not in here:
            raise UsageError(f"the reference {label!r} was not measured with {n_envs} envs")
        if len(here) < 2:
            raise NotComparableError(
                f"with {n_envs} envs only {label} was measured; a ratio needs a second case"
            )
    return label


def _read_speed(path: Path) -> Baseline:
    try:
        baseline = read_record(path, SPEED_SCHEMA, Baseline)
    except UsageError as error:
        raise NotComparableError(f"{error}; save the baseline again") from error
    cells = baseline.cells
    if not cells or any(len(cell.log_ratios) != len(cell.rates) for cell in cells):
        raise NotComparableError(f"{path} has cells without rounds; save the baseline again")
    logs = [value for cell in cells for value in cell.log_ratios]
    positive = [value for cell in cells for value in (*cell.rates, cell.cpu_us)]
    if not all(map(math.isfinite, (*logs, *positive))) or min(positive) <= 0:
        raise NotComparableError(
            f"{path} has figures that cannot be measured (NaN, or not above 0); save the baseline "
            "again"
        )
    return baseline
