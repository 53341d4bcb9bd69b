"""`wfbench.make_report`: one report of runs and result files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from wfbench.api.hosting import plugin_host
from wfbench.api.results import Result, Rows, Values, as_paths
from wfbench.contract import UsageError
from wfbench.report import make_report as make
from wfbench.report.catalogue import histories, list_runs
from wfbench.report.document import Report
from wfbench.report.formats.choosing import SCHEMA, as_data
from wfbench.report.sections.runs import figures_section
from wfbench.report.sections.sources import Sources
from wfbench.store.places import DEFAULT, find_run

_SEARCHED = ("search", "matrix")


class ReportResult(Result, schema=SCHEMA):
    """A report of one or several results: show it, save it, or take it as text."""

    document: Report
    """Sections with their verdicts, tables and pictures."""
    directory: Path
    """Where the report belongs: the directory of the only run, else the current one."""

    def _values(self) -> Values:
        return {key: value for key, value in as_data(self.document).items() if key != "schema"}

    def _rows(self) -> Rows:
        return [
            {"section": one.title, "outcome": one.headline.outcome, "says": one.headline.says}
            for one in self.document.sections
        ]

    def _document(self) -> Report:
        return self.document


def make_report(
    results: str | Path | Sequence[str | Path],
    *,
    landscape: str | Path | None = None,
    out: str | Path = DEFAULT,
) -> ReportResult:
    """Make one report of runs and result files.

    results: runs by name in `out` or by path, or files: verdict.json, landscapes,
        reproduction.json, and what compare, bench-search and evaluate print with --json.
    landscape: judge searches by this one; default: one of results/landscapes that fits.

    Example: wfbench.make_report(["first", "second"]).save("both.html")
    """
    names, place = as_paths(results), Path(out)
    chosen = None if landscape is None else Path(landscape)
    found = Sources(place, plugin_host(), chosen).report(names)
    if chosen is not None and not any(one.kind in _SEARCHED for one in found.sections):
        raise UsageError("--landscape judges searches, and none is reported; leave it out")
    single = len(names) == 1 and not Path(names[0]).is_file()
    return ReportResult(found, find_run(place, names[0]) if single else Path())


def report_all(*, out: str | Path = DEFAULT, folder: str | Path | None = None) -> ReportResult:
    """Make one report of every figure over time, of all complete runs of a folder.

    folder: where the page will be, so that points can lead to runs; default: `out`.

    Example: wfbench.report_all().save("results/runs/history.html")
    """
    works = histories(list_runs(Path(out)))
    if not works:
        raise UsageError(f"there is no complete run in {out}; `wfbench run` or `bench` makes one")
    place = Path(out if folder is None else folder)
    sections = [figures_section(figures, place) for figures in works]
    return ReportResult(make(*sections, title="History"), place)
