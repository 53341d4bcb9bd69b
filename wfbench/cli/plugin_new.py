"""`wfbench plugins new KIND NAME`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from wfbench.cli.calling import Said, verb
from wfbench.cli.invocation import invocation
from wfbench.contract import UsageError
from wfbench.host.scaffold import KINDS, create_plugin


@verb()
def new_plugin(
    ctx: typer.Context,
    kind: Annotated[str, f"One of {', '.join(KINDS)}."],
    name: Annotated[str, "Lower-case letters, digits and hyphens."],
    *,
    into: Annotated[Path | None, "DIR", "Where to write it. Default: here."] = None,
    ci: Annotated[
        bool, "Also write workflows that fail a change which makes the collector slower."
    ] = False,
) -> Said:
    """Write a working, tested, installable plugin package to start from."""
    for offer in invocation(ctx).host().offers(kind):
        if offer.spec.name == name:
            raise UsageError(f"there is a {kind} {name!r} already, from {offer.source}")
    created = create_plugin(kind, name, into or Path(), ci=ci)
    values = {"kind": kind, "name": name, "path": str(created)}
    install = f"pip install -e {created if created.is_absolute() else f'./{created}'}"
    text = f"created {created}; next:\n  {install}\n  wfbench plugins check {name}\n"
    return Said("plugins-new/1", values, text)
