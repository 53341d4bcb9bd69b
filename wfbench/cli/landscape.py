"""`wfbench landscape`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from wfbench.cli.arguments import JsonFlag, Runs
from wfbench.cli.invocation import answer
from wfbench.store.places import DEFAULT

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
def landscape(
    ctx: typer.Context,
    *,
    runs: Annotated[list[str], typer.Argument(metavar="RUN...", help="Runs that trained orders.")],
    to: Annotated[Path, typer.Option("--to", metavar="FILE", help="Landscape file to write.")],
    out: Runs = DEFAULT,
    inherited: Annotated[
        bool,
        typer.Option(
            "--inherited", help="Accept orders whose training started from another order's policy."
        ),
    ] = False,
    json: JsonFlag = False,
) -> None:
    """Collect how training every order turned out, from runs, for `bench-search`."""
    from wfbench.api import landscapes

    answer(ctx, landscapes.landscape(runs, to=to, out=out, inherited=inherited), json=json)
