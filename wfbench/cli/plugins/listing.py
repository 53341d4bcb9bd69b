"""`wfbench plugins list`."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from wfbench.cli.session import JsonFlag, session, wants_json
from wfbench.contract import UsageError
from wfbench.inventory import KINDS, inventory
from wfbench.report.console import print_json
from wfbench.report.plugins import show_inventory


def list_plugins(
    ctx: typer.Context,
    *,
    kind: Annotated[
        str | None, typer.Option(help=f"Only this kind: {', '.join(KINDS)}.", metavar="KIND")
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Show every plugin: what it offers, where it comes from, whether it works."""
    if kind is not None and kind not in KINDS:
        raise UsageError(f"--kind {kind}: choose from {', '.join(KINDS)}")
    rows = inventory(session(ctx).host(quiet=True))
    if kind is not None:
        rows = [row for row in rows if row.kind == kind]
    if wants_json(ctx, flag=json):
        print_json("plugins-list/1", {"plugins": [asdict(row) for row in rows]})
    else:
        show_inventory(rows)
