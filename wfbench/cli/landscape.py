"""`wfbench landscape`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from wfbench.cli.session import JsonFlag, wants_json
from wfbench.store.places import DEFAULT, find_run

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
def landscape(
    ctx: typer.Context,
    *,
    runs: Annotated[list[str], typer.Argument(metavar="RUN...", help="Runs that trained orders.")],
    to: Annotated[Path, typer.Option("--to", metavar="FILE", help="The landscape to write.")],
    out: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="Where runs are looked for.")
    ] = DEFAULT,
    inherited: Annotated[
        bool,
        typer.Option("--inherited", help="Accept orders that began with another one's policy."),
    ] = False,
    json: JsonFlag = False,
) -> None:
    """Make a landscape of runs: how training every order turned out, for `bench-search`."""
    from wfbench.landscape.from_runs import landscape_of
    from wfbench.landscape.records import write_landscape
    from wfbench.report.console import print_json

    found = landscape_of([find_run(out, run) for run in runs], inherited=inherited)
    write_landscape(to, found)
    trained = [len(one) for one in found.replicates]
    orders = sum(count > 0 for count in trained)
    if wants_json(ctx, flag=json):
        print_json(
            "landscape-made/1", {"file": str(to), "orders": orders, "trainings": sum(trained)}
        )
    else:
        typer.echo(f"{to}: {orders} of {len(trained)} orders, {sum(trained)} trainings")
