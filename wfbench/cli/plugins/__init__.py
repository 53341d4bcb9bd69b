"""`wfbench plugins`: list, inspect, check and create plugins."""

from __future__ import annotations

from typing import ClassVar

import typer

from wfbench.cli.lazy import LazyGroup
from wfbench.cli.verbs import Verbs

_HERE = "wfbench.cli.plugins"


class PluginVerbs(LazyGroup):
    """What can be done with plugins."""

    verbs: ClassVar[Verbs] = {
        "list": (f"{_HERE}.listing:list_plugins", "List every plugin and its status."),
        "show": (f"{_HERE}.listing:show_plugin", "Show the options and origin of one."),
        "check": (f"{_HERE}.checking:check_plugin", "Test whether one keeps its promises."),
        "new": (f"{_HERE}.creating:new_plugin", "Create a package to start from."),
        "freeze": (f"{_HERE}.listing:freeze_plugins", "Print the packages to reinstall."),
    }


app = typer.Typer(cls=PluginVerbs, add_completion=False, rich_markup_mode=None)


@app.callback(invoke_without_command=True)
def plugins(ctx: typer.Context) -> None:
    """List, inspect, check and create plugins."""
    if ctx.invoked_subcommand is None:
        typer.echo(ctx.get_help())
