"""`wfbench plugins`: list, inspect, check and create plugins."""

from __future__ import annotations

import typer

from wfbench.cli.plugins.checking import check_plugin
from wfbench.cli.plugins.creating import new_plugin
from wfbench.cli.plugins.freezing import freeze_plugins
from wfbench.cli.plugins.listing import list_plugins
from wfbench.cli.plugins.showing import show_plugin

app = typer.Typer(
    help="List, inspect, check and create plugins.",
    add_completion=False,
    rich_markup_mode=None,
)


@app.callback(invoke_without_command=True)
def plugins(ctx: typer.Context) -> None:
    """List, inspect, check and create plugins."""
    if ctx.invoked_subcommand is None:
        typer.echo(ctx.get_help())


app.command("list")(list_plugins)
app.command("show")(show_plugin)
app.command("check")(check_plugin)
app.command("new")(new_plugin)
app.command("freeze")(freeze_plugins)
