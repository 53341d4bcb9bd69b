"""`wfbench baseline`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from wfbench.bench.baseline import make_baseline
from wfbench.bench.baseline_files import (
    DEFAULT,
    find_baseline,
    names,
    read_baseline,
    write_baseline,
)
from wfbench.bench.saved import load_machine, load_plan, load_session
from wfbench.cli.session import JsonFlag, wants_json
from wfbench.report.baseline import baseline_summary, show_baseline, show_baselines
from wfbench.report.console import console, print_json
from wfbench.store.event_log import plain
from wfbench.store.files import writing
from wfbench.store.places import DEFAULT as RUNS
from wfbench.store.places import find_run

app = typer.Typer(add_completion=False, rich_markup_mode=None, no_args_is_help=True)

Folder = Annotated[
    Path, typer.Option("--baselines", metavar="DIR", help="Where baselines are kept.")
]


@app.callback()
def baseline() -> None:
    """Keep measured runs for `wfbench check` to compare with."""


@app.command()
def save(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(help="What the baseline is called.")],
    run: Annotated[str, typer.Argument(metavar="RUN", help="A run of `wfbench bench`.")],
    *,
    reference: Annotated[
        str | None,
        typer.Option(metavar="CASE", help="What ratios are to [default: the first case]."),
    ] = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Put it in place of one of the same name.")
    ] = False,
    out: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="Where run directories are.")
    ] = RUNS,
    baselines: Folder = DEFAULT,
    json: JsonFlag = False,
) -> None:
    """Keep a run as the baseline NAME.

    Smoke runs, interrupted runs, and runs with a failed or marked sample are refused.
    """
    path = find_run(out, run)
    plan = load_plan(path)
    made = make_baseline(
        load_session(path),
        name,
        created=plan.created,
        machine=load_machine(path),
        command=plan.command,
        reference=reference,
    )
    file = write_baseline(baselines, made, replace=replace)
    if wants_json(ctx, flag=json):
        print_json("baseline/1", {"file": str(file), **plain(asdict(made))})
    else:
        show_baseline(made)
        console().print(f"kept as {file}", soft_wrap=True)


@app.command("list")
def list_(
    ctx: typer.Context,
    *,
    baselines: Folder = DEFAULT,
    json: JsonFlag = False,
) -> None:
    """Every baseline, and what it covers."""
    found = [read_baseline(baselines / f"{name}.json") for name in names(baselines)]
    if wants_json(ctx, flag=json):
        print_json("baseline-list/1", {"baselines": [baseline_summary(one) for one in found]})
    else:
        show_baselines(found, baselines)


@app.command()
def show(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME|FILE", help="A baseline.")],
    *,
    baselines: Folder = DEFAULT,
    json: JsonFlag = False,
) -> None:
    """The figures of a baseline, how it was made and on which machine."""
    found = read_baseline(find_baseline(baselines, name))
    if wants_json(ctx, flag=json):
        print_json("baseline/1", plain(asdict(found)))
    else:
        show_baseline(found)


@app.command()
def rm(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(help="A baseline.")],
    *,
    baselines: Folder = DEFAULT,
    json: JsonFlag = False,
) -> None:
    """Remove a baseline."""
    file = find_baseline(baselines, name)
    with writing(file):
        file.unlink()
    if wants_json(ctx, flag=json):
        print_json("baseline-rm/1", {"removed": str(file)})
    else:
        console().print(f"removed {file}", soft_wrap=True)
