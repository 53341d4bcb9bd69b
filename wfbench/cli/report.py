"""`wfbench report`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from wfbench.api.results import Result
from wfbench.cli.arguments import SELECTOR, Runs
from wfbench.cli.calling import Said, verb
from wfbench.cli.invocation import invocation
from wfbench.contract import UsageError
from wfbench.store.places import DEFAULT

if TYPE_CHECKING:
    from wfbench.api.reporting import ReportResult
    from wfbench.report.formats.choosing import Format

STANDARD_OUTPUT = "-"


@verb()
def report(
    ctx: typer.Context,
    results: Annotated[
        list[str] | None,
        "[ID]...",
        "Runs by name or path, or files: verdict.json, landscapes, reproduction.json, and "
        "what compare, bench-search and evaluate print with --json.",
    ] = None,
    *,
    all_: Annotated[
        bool, typer.Option("--all", help="Every figure of all complete runs over time.")
    ] = False,
    html: Annotated[bool, "Write one page with charts that opens offline."] = False,
    md: Annotated[bool, "Write Markdown, for a pull request."] = False,
    csv: Annotated[bool, "Write CSV: one line per value."] = False,
    junit: Annotated[bool, "Write JUnit XML: one case per check."] = False,
    as_: Annotated[
        str | None,
        typer.Option("--as", metavar=SELECTOR, help="Format of a reporter plugin."),
    ] = None,
    to: Annotated[
        str | None,
        "FILE",
        "File to write; - is standard output. Default: standard output, and for --html "
        "report.html in the run's directory, history.html beside all runs.",
    ] = None,
    landscape: Annotated[
        Path | None,
        "FILE",
        "Judge searches by this landscape. Default: one of results/landscapes that fits.",
    ] = None,
    out: Runs = DEFAULT,
) -> Result | Said:
    """Show what runs found: in the terminal, or as a page, a comment, a table or test results.

    Searches, matrices and bench runs can be shown together. Evaluations that were kept with
    `evaluate --save` come with their run.
    """
    from wfbench.api import reporting
    from wfbench.report.formats.choosing import find_format

    flags = {"html": html, "md": md, "csv": csv, "junit": junit}
    chosen = [name for name, given in flags.items() if given] + ([as_] if as_ else [])
    if len(chosen) > 1:
        raise UsageError("choose one format; call `wfbench report` again for another")
    if to is not None and not chosen:
        raise UsageError("--to needs a format: --html, --md, --csv, --junit or --as NAME")
    if bool(results) is all_:
        raise UsageError("name results, or say --all")
    form = find_format(invocation(ctx).host(), chosen[0]) if chosen else None
    if not all_:
        found = reporting.make_report(results or [], landscape=landscape, out=out)
        return found if form is None else _written(found, form, to)
    if landscape is not None:
        raise UsageError("--landscape judges searches that are named; leave it out with --all")
    return history_report(out, form, to)


def history_report(out: Path, form: Format | None, to: str | None) -> Result | Said:
    """Return every figure over time, or what was written about it."""
    from wfbench.api import reporting

    if to is None and form is not None and form.name == "html":
        to = str(out / "history.html")
    folder = out if to in {None, STANDARD_OUTPUT} else Path(str(to)).parent
    found = reporting.report_all(out=out, folder=folder)
    return found if form is None else _written(found, form, to)


def _written(found: ReportResult, form: Format, to: str | None) -> Said:
    from wfbench.store.files import write_whole

    text = form.render(found.document)
    if to == STANDARD_OUTPUT or (to is None and form.name != "html"):
        return Said("report-text/1", {"format": form.name, "text": text}, text)
    target = found.directory if to is None else Path(to)
    if target.is_dir():
        target /= f"report{form.suffix}"
    write_whole(target, text.encode())
    values = {"format": form.name, "file": str(target)}
    return Said("report-written/1", values, f"wrote {target}\n")
