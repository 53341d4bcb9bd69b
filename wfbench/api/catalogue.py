"""`wfbench.list_runs` and what else can be done with kept runs: show, follow, remove, validate."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from wfbench.api.results import Result, Rows, Values, as_paths
from wfbench.contract import ExitCode
from wfbench.report import catalogue
from wfbench.report.document import Section
from wfbench.report.sections import runs as sections
from wfbench.store.places import DEFAULT, find_run
from wfbench.store.run import files_of, remove_run
from wfbench.store.validation import FileCheck, problems, validate_run


class RunList(Result, schema="runs-list/1", listed="runs"):
    """The runs of a folder, oldest first."""

    out: Path
    records: tuple[catalogue.RunRecord, ...]

    def __iter__(self) -> Iterator[catalogue.RunRecord]:
        return iter(self.records)

    def __len__(self) -> int:
        return len(self.records)

    def _rows(self) -> Rows:
        return [sections.record_data(record) for record in self.records]

    def _sections(self) -> Sequence[Section]:
        return [sections.runs_section(self.records, self.out)]


class RunDetails(Result, schema="runs-show/1"):
    """One run at a glance."""

    record: catalogue.RunRecord
    files: Mapping[str, int]
    """Size of every file in bytes."""

    def _values(self) -> Values:
        return {"run": sections.record_data(self.record), "files": self.files}

    def _sections(self) -> Sequence[Section]:
        return [sections.record_section(self.record, self.files)]


class HistoryResult(Result, schema="runs-history/1"):
    """One figure over time, across runs that did the same work."""

    history: catalogue.FigureHistory

    def _values(self) -> Values:
        found = self.history
        values = {"mean": found.mean, "deviation": found.deviation, "machines": found.machines}
        return {"figure": found.figure, **values, "runs": self.rows()}

    def _rows(self) -> Rows:
        return [
            {"value": one.value, "change": one.change, "run": sections.record_data(one.record)}
            for one in self.history.entries
        ]

    def _sections(self) -> Sequence[Section]:
        return [sections.history_section(self.history)]


class ValidationResult(Result, schema="runs-validated/1"):
    """Which files of runs are as they should be."""

    findings: Mapping[str, Sequence[FileCheck]]
    """By run: one finding per file and problem."""

    @property
    def exit_code(self) -> ExitCode:
        """TRIAL_FAILED if a file is not as it should be."""
        broken = any(problems(found) for found in self.findings.values())
        return ExitCode.TRIAL_FAILED if broken else ExitCode.OK

    def _values(self) -> Values:
        return {"runs": {run: [asdict(one) for one in all_] for run, all_ in self.findings.items()}}

    def _rows(self) -> Rows:
        return [{"run": run, **asdict(one)} for run, all_ in self.findings.items() for one in all_]

    def _sections(self) -> Sequence[Section]:
        return [sections.validation_section(self.findings)]


def list_runs(out: str | Path = DEFAULT) -> RunList:
    """List the runs of a folder, oldest first, with what each found.

    Example: pandas.DataFrame(wfbench.list_runs().rows())
    """
    return RunList(Path(out), tuple(catalogue.list_runs(Path(out))))


def show_details(run: str | Path, *, out: str | Path = DEFAULT) -> RunDetails:
    """Return what a run did, its figures and its files."""
    path = find_run(Path(out), str(run))
    return RunDetails(catalogue.describe_run(path), files_of(path))


def run_history(
    run: str | Path | None = None, *, figure: str | None = None, out: str | Path = DEFAULT
) -> HistoryResult:
    """Follow one figure across the complete runs that did the same work as `run`.

    run: one of them; default: the latest. figure: such as "return"; default: the first it has.

    Example: wfbench.run_history(figure="return").rows()
    """
    records = catalogue.list_runs(Path(out))
    if run is None:
        chosen = catalogue.latest(records)
    else:
        chosen = catalogue.describe_run(find_run(Path(out), str(run)))
    return HistoryResult(catalogue.history_of(records, chosen, figure))


def find_runs(runs: str | Path | Sequence[str | Path], out: str | Path = DEFAULT) -> list[Path]:
    """Return the directories of runs, each once."""
    return list(dict.fromkeys(find_run(Path(out), run) for run in as_paths(runs)))


def remove_runs(
    runs: str | Path | Sequence[str | Path], *, out: str | Path = DEFAULT
) -> list[Path]:
    """Remove runs for good, without asking; return their directories.

    A run that a process has open is refused.

    Example: wfbench.remove_runs(["first", "second"])
    """
    found = find_runs(runs, out)
    for path in found:
        remove_run(path)
    return found


def validate_runs(
    runs: str | Path | Sequence[str | Path], *, out: str | Path = DEFAULT
) -> ValidationResult:
    """Check every file of runs strictly.

    Example: wfbench.validate_runs("mine").rows()
    """
    from wfbench.benchmarks.measure.saved import load_session

    paths = find_runs(runs, out)
    return ValidationResult({str(path): validate_run(path, load_session) for path in paths})
