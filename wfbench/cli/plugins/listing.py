"""`wfbench plugins list`, `show NAME` and `freeze`."""

from __future__ import annotations

from typing import Annotated

import typer

from wfbench.api.plugin_tools import plugin_details, plugins
from wfbench.cli.arguments import JsonFlag
from wfbench.cli.invocation import answer, invocation, wants_json
from wfbench.host.hookspecs import KINDS
from wfbench.report.console import print_json


def list_plugins(
    ctx: typer.Context,
    *,
    kind: Annotated[
        str | None, typer.Option(help=f"Only this kind: {', '.join(KINDS)}.", metavar="KIND")
    ] = None,
    json: JsonFlag = False,
) -> None:
    """List every plugin: what it offers, where it comes from, whether it works."""
    invocation(ctx).quiet = True
    answer(ctx, plugins(kind), json=json)


def show_plugin(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(help="A name from `wfbench plugins list`.")],
    *,
    json: JsonFlag = False,
) -> None:
    """Show the options, the capabilities and the origin of a plugin."""
    invocation(ctx).quiet = True
    answer(ctx, plugin_details(name), json=json)


def freeze_plugins(ctx: typer.Context, *, json: JsonFlag = False) -> None:
    """Print the installed plugin packages as requirements, to install them again elsewhere.

    Broken ones are included; plugins of --plugins-dir are not, since pip cannot install them.
    """
    host = invocation(ctx).host(quiet=True)
    sources = [*host.loaded, *(broken.source for broken in host.broken), *host.blocked]
    pins = sorted(
        {f"{s.distribution}=={s.version}" for s in sources if s.distribution and not s.bundled}
    )
    if wants_json(ctx, flag=json):
        print_json("plugins-freeze/1", {"requirements": pins})
        return
    for pin in pins:
        typer.echo(pin)
