"""`wfbench plugins new KIND NAME`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from wfbench.cli.arguments import JsonFlag
from wfbench.cli.calling import verb
from wfbench.cli.invocation import invocation, wants_json
from wfbench.contract import UsageError
from wfbench.host.scaffold import KINDS, create_plugin
from wfbench.report.console import print_json


@verb()
def new_plugin(
    ctx: typer.Context,
    kind: Annotated[str, f"One of {', '.join(KINDS)}."],
    name: Annotated[str, "Lower-case letters, digits and hyphens."],
    *,
    into: Annotated[Path | None, "DIR", "Where to write it. Default: here."] = None,
    json: JsonFlag = False,
) -> None:
    """Write a working, tested, installable plugin package to start from."""
    for offer in invocation(ctx).host().offers(kind):
        if offer.spec.name == name:
            raise UsageError(f"there is a {kind} {name!r} already, from {offer.source}")
    created = create_plugin(kind, name, into or Path())
    if wants_json(ctx, flag=json):
        print_json("plugins-new/1", {"kind": kind, "name": name, "path": str(created)})
        return
    typer.echo(f"created {created}; next:")
    typer.echo(f"  pip install -e {created if created.is_absolute() else f'./{created}'}")
    typer.echo(f"  wfbench plugins check {name}")
