"""`wfbench runs`: list, show, follow, remove and validate runs."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from wfbench.api.results import Result
from wfbench.cli.arguments import JsonFlag, Runs
from wfbench.cli.calling import Said, verb
from wfbench.cli.invocation import wants_json
from wfbench.contract import UsageError
from wfbench.store.places import DEFAULT

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
    from wfbench.cli.report import history_report
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
