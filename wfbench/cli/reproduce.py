"""`wfbench reproduce`."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from wfbench.cli.session import JsonFlag, session, wants_json
from wfbench.contract import UsageError

TRIAL_FAILED = 3

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
def reproduce(
    ctx: typer.Context,
    *,
    claim: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[CLAIM]...", help="Claims by name, see `wfbench plugins list`; default: all."
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Measure less, in minutes; each finding says how.")
    ] = False,
    to: Annotated[
        Path | None,
        typer.Option("--to", metavar="DIR", help="Write reproduction.json and .md here."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Where every random number comes from.")] = 0,
    json: JsonFlag = False,
) -> None:
    """Test the documented claims by measuring them, like for like.

    A claim that is not reproduced is a finding and no error. Ends with 3 if a claim could not be
    measured; the others are reported all the same.
    """
    from wfbench.report.console import print_json
    from wfbench.report.reproduction import ClaimProgress, show_reproduction
    from wfbench.report.reproduction_files import write_report
    from wfbench.reproduce.laboratory import Laboratory
    from wfbench.reproduce.model import SCHEMA
    from wfbench.reproduce.running import reproduce as run
    from wfbench.reproduce.running import select_claims

    if to is not None and not to.is_dir():
        raise UsageError(f"--to {to}: there is no such directory; make it first")
    host = session(ctx).host()
    claims = select_claims(host, claim or ())
    progress = ClaimProgress()
    lab = Laboratory(host, seed=seed, quick=quick, say=progress.sample)
    found = run(lab, claims, command=_command(claim or (), seed, quick=quick), done=progress.claim)
    if to is not None:
        for path in write_report(to, found):
            progress.wrote(path)
    if wants_json(ctx, flag=json):
        print_json(SCHEMA, found.as_data())
    else:
        show_reproduction(found)
    if found.failed:
        raise typer.Exit(TRIAL_FAILED)


def _command(claims: list[str] | tuple[str, ...], seed: int, *, quick: bool) -> str:
    """The command that does the same again."""
    parts = ["wfbench", "reproduce", *claims]
    parts += ["--quick"] if quick else []
    parts += ["--seed", str(seed)] if seed else []
    return shlex.join(parts)
