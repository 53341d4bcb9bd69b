"""`wfbench runs`: list, show, follow, remove and validate runs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from wfbench.cli.session import JsonFlag, wants_json
from wfbench.contract import UsageError
from wfbench.report.console import print_json
from wfbench.store.places import DEFAULT, find_run

app = typer.Typer(add_completion=False, rich_markup_mode=None)

UNSOUND = 3

Out = Annotated[Path, typer.Option("--out", metavar="DIR", help="Where runs are looked for.")]
Names = Annotated[list[str], typer.Argument(metavar="RUN...", help="Runs by name or path.")]


@app.callback(invoke_without_command=True)
def runs(ctx: typer.Context) -> None:
    """List, show, follow, remove and validate runs. Each of these takes --json."""
    if ctx.invoked_subcommand is None:
        typer.echo(ctx.get_help())


@app.command("list")
def list_(ctx: typer.Context, *, out: Out = DEFAULT, json: JsonFlag = False) -> None:
    """Every run, oldest first, with what it found."""
    from wfbench.report.catalogue import list_runs
    from wfbench.report.runs import record_json, show_runs
    from wfbench.store.event_log import plain

    records = list_runs(out)
    if wants_json(ctx, flag=json):
        print_json("runs-list/1", plain({"runs": [record_json(record) for record in records]}))
    else:
        show_runs(records, out)


@app.command()
def show(
    ctx: typer.Context,
    run: Annotated[str, typer.Argument(metavar="RUN", help="A run by name or path.")],
    *,
    out: Out = DEFAULT,
    json: JsonFlag = False,
) -> None:
    """One run: what it did, its figures and where they come from."""
    from wfbench.report.catalogue import describe_run
    from wfbench.report.runs import record_json, show_run
    from wfbench.store.event_log import plain
    from wfbench.store.removal import files_of

    path = find_run(out, run)
    record, files = describe_run(path), files_of(path)
    if wants_json(ctx, flag=json):
        print_json("runs-show/1", plain({"run": record_json(record), "files": files}))
    else:
        show_run(record, files)


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
            help="What to follow: return, compliance, compliant, env-steps, steps-per-second or "
            "seconds of a search; CASE@ENVS, such as vector@200, of a bench. Default: the first."
        ),
    ] = None,
    out: Out = DEFAULT,
    json: JsonFlag = False,
) -> None:
    """One figure over time, across the complete runs that did the same work as RUN."""
    from wfbench.report.catalogue import describe_run, list_runs
    from wfbench.report.run_history import history_of, latest
    from wfbench.report.runs import record_json, show_history
    from wfbench.store.event_log import plain

    records = list_runs(out)
    chosen = latest(records) if run is None else describe_run(find_run(out, run))
    found = history_of(records, chosen, figure)
    if wants_json(ctx, flag=json):
        entries = [
            {"value": one.value, "change": one.change, "run": record_json(one.record)}
            for one in found.entries
        ]
        values = {"mean": found.mean, "deviation": found.deviation, "machines": found.machines}
        print_json("runs-history/1", plain({"figure": found.figure, **values, "runs": entries}))
    else:
        show_history(found)


@app.command()
def rm(
    ctx: typer.Context,
    names: Names,
    *,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    out: Out = DEFAULT,
    json: JsonFlag = False,
) -> None:
    """Remove runs for good; refused while a process has one of them open."""
    from wfbench.store.removal import files_of, remove_run

    as_json = wants_json(ctx, flag=json)
    paths = list(dict.fromkeys(find_run(out, name) for name in names))
    if not yes:
        files = [size for path in paths for size in files_of(path).values()]
        told = f"{', '.join(map(str, paths))} with {len(files)} files, {sum(files):,} bytes"
        if as_json or not sys.stdin.isatty():
            raise UsageError(f"removing {told} needs --yes where nobody can be asked")
        typer.confirm(f"remove {told}?", abort=True, err=True)
    for path in paths:
        remove_run(path)
        if not as_json:
            typer.echo(f"removed {path}")
    if as_json:
        print_json("runs-removed/1", {"removed": [str(path) for path in paths]})


@app.command()
def validate(
    ctx: typer.Context, names: Names, *, out: Out = DEFAULT, json: JsonFlag = False
) -> None:
    """Check every file of runs strictly. Ends with 3 if one is not as it should be."""
    from dataclasses import asdict

    from wfbench.bench.saved import load_session
    from wfbench.report.runs import show_findings
    from wfbench.store.validation import problems, validate_run

    paths = [find_run(out, name) for name in names]
    findings = {str(path): validate_run(path, load_session) for path in paths}
    if wants_json(ctx, flag=json):
        listed = {run: [asdict(one) for one in found] for run, found in findings.items()}
        print_json("runs-validated/1", {"runs": listed})
    else:
        show_findings(findings)
    if any(problems(found) for found in findings.values()):
        raise typer.Exit(UNSOUND)
