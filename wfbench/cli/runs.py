"""`wfbench runs`: list, show, follow, remove and validate runs."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from wfbench.cli.arguments import JsonFlag, Runs
from wfbench.cli.invocation import answer, wants_json
from wfbench.contract import UsageError
from wfbench.store.places import DEFAULT

app = typer.Typer(add_completion=False, rich_markup_mode=None)

Names = Annotated[list[str], typer.Argument(metavar="RUN...", help="Runs by name or path.")]


@app.callback(invoke_without_command=True)
def runs(ctx: typer.Context) -> None:
    """List, show, follow, remove and validate runs. Each of these takes --json."""
    if ctx.invoked_subcommand is None:
        typer.echo(ctx.get_help())


@app.command("list")
def list_(ctx: typer.Context, *, out: Runs = DEFAULT, json: JsonFlag = False) -> None:
    """List every run, oldest first, with what it found."""
    from wfbench.api.catalogue import list_runs

    answer(ctx, list_runs(out), json=json)


@app.command()
def show(
    ctx: typer.Context,
    run: Annotated[str, typer.Argument(metavar="RUN", help="A run by name or path.")],
    *,
    out: Runs = DEFAULT,
    json: JsonFlag = False,
) -> None:
    """Show one run: what it did, its figures and where they come from."""
    from wfbench.api.catalogue import show_details

    answer(ctx, show_details(run, out=out), json=json)


@app.command()
def history(
    ctx: typer.Context,
    run: Annotated[
        str | None,
        typer.Argument(metavar="RUN", help="One of the runs to follow. Default: the latest."),
    ] = None,
    *,
    figure: Annotated[
        str | None,
        typer.Option(
            help="Figure to follow: return, compliance, compliant, env-steps, steps-per-second or "
            "seconds of a search; CASE@ENVS, such as vector@200, of a bench. Default: the first."
        ),
    ] = None,
    out: Runs = DEFAULT,
    json: JsonFlag = False,
) -> None:
    """Show one figure over time, across the complete runs that did the same work as RUN."""
    from wfbench.api.catalogue import run_history

    answer(ctx, run_history(run, figure=figure, out=out), json=json)


@app.command()
def rm(
    ctx: typer.Context,
    names: Names,
    *,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    out: Runs = DEFAULT,
    json: JsonFlag = False,
) -> None:
    """Remove runs for good. Refused while a process has one of them open."""
    from wfbench.api.catalogue import find_runs, remove_runs
    from wfbench.report.console import print_json
    from wfbench.store.run import files_of

    as_json = wants_json(ctx, flag=json)
    if not yes:
        paths = find_runs(names, out)
        files = [size for path in paths for size in files_of(path).values()]
        what = f"{', '.join(map(str, paths))} with {len(files)} files, {sum(files):,} bytes"
        if as_json or not sys.stdin.isatty():
            raise UsageError(f"removing {what} needs --yes where nobody can be asked")
        typer.confirm(f"remove {what}?", abort=True, err=True)
    removed = remove_runs(names, out=out)
    if as_json:
        print_json("runs-removed/1", {"removed": [str(path) for path in removed]})
    else:
        for path in removed:
            typer.echo(f"removed {path}")


@app.command()
def validate(
    ctx: typer.Context, names: Names, *, out: Runs = DEFAULT, json: JsonFlag = False
) -> None:
    """Check every file of runs strictly. The exit code is 3 if one is not as it should be."""
    from wfbench.api.catalogue import validate_runs

    answer(ctx, validate_runs(names, out=out), json=json)
