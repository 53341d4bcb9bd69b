"""The verbs that look at kept results: report and runs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from wfbench.api.results import Result
from wfbench.cli.arguments import SELECTOR, JsonFlag, Runs
from wfbench.cli.calling import Said, verb
from wfbench.cli.invocation import invocation, wants_json
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


app = typer.Typer(add_completion=False, rich_markup_mode=None)

Names = Annotated[list[str], "RUN...", "Runs by name or path."]


@app.callback(invoke_without_command=True)
def runs(ctx: typer.Context) -> None:
    """List, show, follow, remove and validate runs. Each of these takes --json."""
    if ctx.invoked_subcommand is None:
        typer.echo(ctx.get_help())


@app.command("list")
@verb("wfbench.api.catalogue:list_runs")
def list_(*, out: Runs = DEFAULT) -> None:
    """List every run, oldest first, with what it found."""


@app.command()
@verb("wfbench.api.catalogue:show_details")
def show(run: Annotated[str, "RUN", "A run by name or path."], *, out: Runs = DEFAULT) -> None:
    """Show one run: what it did, its figures and where they come from."""


@app.command()
@verb()
def history(
    run: Annotated[str | None, "RUN", "One of the runs to follow. Default: the latest."] = None,
    *,
    figure: Annotated[
        str | None,
        "Figure to follow: return, compliance, compliant, choices, env-steps, steps-per-second or "
        "seconds of a search; CASE@ENVS, such as vector@200, of a bench. Default: the first.",
    ] = None,
    html: Annotated[
        bool, "Write a page with every figure of all runs, and where each changed."
    ] = False,
    to: Annotated[
        str | None, "FILE", "With --html: file to write. [default: history.html beside the runs]"
    ] = None,
    out: Runs = DEFAULT,
) -> Result | Said:
    """Show one figure over time, across the complete runs that did the same work as RUN."""
    if not html:
        if to is not None:
            raise UsageError("--to belongs to --html")
        from wfbench.api.catalogue import run_history

        return run_history(run, figure=figure, out=out)
    if run is not None or figure is not None:
        raise UsageError("--html draws every figure of all runs; leave RUN and --figure out")
    from wfbench.report.formats.choosing import our_formats

    return history_report(out, our_formats()["html"], to)


@app.command()
@verb()
def rm(
    ctx: typer.Context,
    names: Names,
    *,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    out: Runs = DEFAULT,
    json: JsonFlag = False,
) -> Said:
    """Remove runs for good. Refused while a process has one of them open."""
    from wfbench.api.catalogue import find_runs, remove_runs
    from wfbench.store.run import files_of

    if not yes:
        paths = find_runs(names, out)
        files = [size for path in paths for size in files_of(path).values()]
        what = f"{', '.join(map(str, paths))} with {len(files)} files, {sum(files):,} bytes"
        if wants_json(ctx, flag=json) or not sys.stdin.isatty():
            raise UsageError(f"removing {what} needs --yes where nobody can be asked")
        typer.confirm(f"remove {what}?", abort=True, err=True)
    removed = [str(path) for path in remove_runs(names, out=out)]
    text = "".join(f"removed {path}\n" for path in removed)
    return Said("runs-removed/1", {"removed": removed}, text)


@app.command()
@verb("wfbench.api.catalogue:validate_runs")
def validate(runs: Names, *, out: Runs = DEFAULT) -> None:
    """Check every file of runs strictly. The exit code is 3 if one is not as it should be."""
