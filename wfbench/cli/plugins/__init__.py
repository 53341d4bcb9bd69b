"""`wfbench plugins`: list, inspect, check and create plugins."""

from __future__ import annotations

from typing import ClassVar

import typer

from wfbench.cli.lazy import LazyGroup
from wfbench.cli.verbs import Verbs


class PluginVerbs(LazyGroup):
    """What can be done with plugins."""

    verbs: ClassVar[Verbs] = {
        "list": ("wfbench.cli.plugins.listing:list_plugins", "Show every plugin and its status."),
        "show": ("wfbench.cli.plugins.showing:show_plugin", "Show options and origin of one."),
        "check": ("wfbench.cli.plugins.checking:check_plugin", "Put one to its promises."),
        "new": ("wfbench.cli.plugins.creating:new_plugin", "Write a package to start from."),
        "freeze": ("wfbench.cli.plugins.freezing:freeze_plugins", "Print what to reinstall."),
    }


app = typer.Typer(cls=PluginVerbs, add_completion=False, rich_markup_mode=None)


@app.callback(invoke_without_command=True)
def plugins(ctx: typer.Context) -> None:
    """List, inspect, check and create plugins."""
    if ctx.invoked_subcommand is None:
        typer.echo(ctx.get_help())
