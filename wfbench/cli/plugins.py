"""`wfbench plugins` and `wfbench doctor`: list, inspect, check and create plugins."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, ClassVar

import typer

from wfbench.api import plugin_tools
from wfbench.api.results import Result
from wfbench.cli.arguments import Options
from wfbench.cli.calling import Said, progress_lines, verb
from wfbench.cli.invocation import invocation
from wfbench.cli.lazy import LazyGroup
from wfbench.cli.verbs import Verbs
from wfbench.contract import UsageError
from wfbench.host.hookspecs import KINDS
from wfbench.report.console import fail
from wfbench.settings.selection import ALL, parse_options


class PluginVerbs(LazyGroup):
    """What can be done with plugins."""

    verbs: ClassVar[Verbs] = {
        "list": ("plugins:list_plugins", "List every plugin and its status."),
        "show": ("plugins:show_plugin", "Show the options and origin of one."),
        "check": ("plugins:check_plugin", "Test whether one keeps its promises."),
        "new": ("plugin_new:new_plugin", "Create a package to start from."),
        "freeze": ("plugins:freeze_plugins", "Print the packages to reinstall."),
    }


app = typer.Typer(cls=PluginVerbs, add_completion=False, rich_markup_mode=None)


@app.callback(invoke_without_command=True)
def plugins(ctx: typer.Context) -> None:
    """List, inspect, check and create plugins."""
    if ctx.invoked_subcommand is None:
        typer.echo(ctx.get_help())


@verb(plugin_tools.plugins, quiet=True)
def list_plugins(
    *, kind: Annotated[str | None, "KIND", f"Only this kind: {', '.join(KINDS)}."] = None
) -> None:
    """List every plugin: what it offers, where it comes from, whether it works."""


@verb(plugin_tools.plugin_details, quiet=True)
def show_plugin(name: Annotated[str, "A name from `wfbench plugins list`."]) -> None:
    """Show the options, the capabilities and the origin of a plugin."""


@verb()
def freeze_plugins(ctx: typer.Context) -> Said:
    """Print the installed plugin packages as requirements, to install them again elsewhere.

    Broken ones are included; plugins of --plugins-dir are not, since pip cannot install them.
    """
    host = invocation(ctx).host(quiet=True)
    sources = [*host.loaded, *(broken.source for broken in host.broken), *host.blocked]
    pins = sorted(
        {f"{s.distribution}=={s.version}" for s in sources if s.distribution and not s.bundled}
    )
    text = "".join(f"{pin}\n" for pin in pins)
    return Said("plugins-freeze/1", {"requirements": pins}, text)


@verb(quiet=True)
def check_plugin(
    names: Annotated[
        list[str] | None, "NAME[:KEY=VALUE,...]...", "Plugins to check, with options."
    ] = None,
    *,
    option: Options = None,
    report: Annotated[
        bool,
        "Inject the same faults into collectors (default: all) and print a Markdown table "
        "of which report the fault, lose the cause, hang or recover.",
    ] = False,
    fault: Annotated[
        list[str] | None, "NAME", "Only this fault, such as kill@3. Repeatable."
    ] = None,
    to: Annotated[Path | None, "DIR", "Also write faults.md and faults.json here."] = None,
) -> Result:
    """Test whether a plugin keeps every promise of the contract.

    The exit code is 6 if a promise is broken that the plugin does not declare as one it cannot
    keep.
    """
    options = parse_options(option or ())
    if report:
        with progress_lines() as progress:
            return plugin_tools.check_faults(
                names or [ALL], fault=fault or (), options=options, to=to, progress=progress
            )
    if to is not None or fault:
        raise UsageError("--to and --fault are about the report; give --report too")
    with progress_lines(bar_only=True) as progress:
        checked = plugin_tools.check_plugin(*(names or ()), options=options, progress=progress)
    if checked.broken:
        fail(f"{', '.join(names or ())} breaks {checked.broken} of {len(checked.rows())} promises")
    return checked


@verb(plugin_tools.doctor, quiet=True)
def doctor(*, fix: Annotated[bool, "Apply the remedies that are safe."] = False) -> None:
    """Check this machine and the plugins, and say how to fix what is wrong.

    The exit code is 3 if something is wrong.
    """
