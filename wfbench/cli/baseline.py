"""`wfbench baseline`."""

from __future__ import annotations

from typing import Annotated

import typer

from wfbench.api import gating
from wfbench.benchmarks.gate.baseline_store import DEFAULT
from wfbench.cli.arguments import Baselines, ComplianceMargin, JsonFlag, ReturnMargin, Runs
from wfbench.cli.invocation import answer, invocation, wants_json
from wfbench.report.console import print_json
from wfbench.store.places import DEFAULT as RUNS

app = typer.Typer(add_completion=False, rich_markup_mode=None, no_args_is_help=True)


@app.callback()
def baseline() -> None:
    """Keep measured runs for `wfbench check` to compare with."""


@app.command()
def save(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(help="Name of the baseline.")],
    runs: Annotated[
        list[str],
        typer.Argument(
            metavar="RUN...", help="One run of `wfbench bench`, or searches with different seeds."
        ),
    ],
    *,
    reference: Annotated[
        str | None,
        typer.Option(
            metavar="CASE", help="Bench runs only: case that ratios are to. [default: the first]"
        ),
    ] = None,
    steps: Annotated[
        int | None,
        typer.Option(
            min=1, help="Searches only: compare after so many steps. [default: as many as all have]"
        ),
    ] = None,
    return_margin: ReturnMargin = None,
    compliance_margin: ComplianceMargin = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Overwrite a baseline of the same name.")
    ] = False,
    out: Runs = RUNS,
    baselines: Baselines = DEFAULT,
    json: JsonFlag = False,
) -> None:
    """Keep a run as the baseline NAME.

    Smoke runs, interrupted runs, and runs with a failed or marked sample are refused.
    """
    found = gating.save_baseline(
        name,
        runs,
        reference=reference,
        steps=steps,
        return_margin=return_margin,
        compliance_margin=compliance_margin,
        replace=replace,
        out=out,
        baselines=baselines,
    )
    answer(ctx, found, json=json)
    if not wants_json(ctx, flag=json):
        typer.echo(f"kept as {found.path}")


@app.command("list")
def list_(ctx: typer.Context, *, baselines: Baselines = DEFAULT, json: JsonFlag = False) -> None:
    """List every baseline and what it covers."""
    found = gating.baselines(baselines)
    for line in found.unreadable:
        invocation(ctx).warn(line)
    answer(ctx, found, json=json)


@app.command()
def show(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME|FILE", help="Baseline to show.")],
    *,
    baselines: Baselines = DEFAULT,
    json: JsonFlag = False,
) -> None:
    """Show the figures of a baseline, how it was made and on which machine."""
    found = gating.load_baseline(name, folder=baselines)
    if wants_json(ctx, flag=json):
        typer.echo(found.path.read_text(encoding="utf-8"), nl=False)
    else:
        found.show()


@app.command()
def rm(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(help="Baseline to remove.")],
    *,
    baselines: Baselines = DEFAULT,
    json: JsonFlag = False,
) -> None:
    """Remove a baseline."""
    removed = gating.remove_baseline(name, folder=baselines)
    if wants_json(ctx, flag=json):
        print_json("baseline-rm/1", {"removed": str(removed)})
    else:
        typer.echo(f"removed {removed}")
