"""`wfbench reproduce`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from wfbench.cli.arguments import JsonFlag, Seed
from wfbench.cli.invocation import answer
from wfbench.cli.progress import progress_lines

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
def reproduce(
    ctx: typer.Context,
    *,
    claim: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[CLAIM]...", help="Claims by name, see `wfbench plugins list`. Default: all."
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Measure less, in minutes. Each finding says how.")
    ] = False,
    to: Annotated[
        Path | None,
        typer.Option("--to", metavar="DIR", help="Directory for reproduction.json and .md."),
    ] = None,
    seed: Seed = 0,
    json: JsonFlag = False,
) -> None:
    """Test the documented claims by measuring them, like for like.

    A claim that is not reproduced is a finding and no error. The exit code is 3 if a claim could
    not be measured; the others are reported all the same.
    """
    from wfbench.api import claims

    with progress_lines() as progress:
        found = claims.reproduce(*(claim or ()), quick=quick, to=to, seed=seed, progress=progress)
    for path in found.written:
        typer.echo(f"wrote {path}", err=True)
    answer(ctx, found, json=json)
