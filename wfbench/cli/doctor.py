"""`wfbench doctor`."""

from __future__ import annotations

from typing import Annotated

import typer

from wfbench.api import plugin_tools
from wfbench.cli.arguments import JsonFlag
from wfbench.cli.invocation import answer, invocation

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
def doctor(
    ctx: typer.Context,
    *,
    fix: Annotated[bool, typer.Option("--fix", help="Apply the remedies that are safe.")] = False,
    json: JsonFlag = False,
) -> None:
    """Check this machine and the plugins, and say how to fix what is wrong.

    The exit code is 3 if something is wrong.
    """
    invocation(ctx).quiet = True
    answer(ctx, plugin_tools.doctor(fix=fix), json=json)
