"""What the options before the verb decide, and how a verb answers."""

from __future__ import annotations

import logging
import os
import sys
from typing import TYPE_CHECKING

import typer

from wfbench.api import hosting
from wfbench.cli.verbs import VERBS
from wfbench.host.manager import PluginHost

if TYPE_CHECKING:
    from wfbench.api.results import Result


class Invocation:
    """One invocation of the command line."""

    def __init__(self, args: list[str] | None = None) -> None:
        self.args = args or []
        self.json: bool | None = None
        """Whether `--json` was given before the verb; None until those options are read."""
        self.quiet = False
        """Do not warn about broken plugins: the verb shows them itself."""
        self.terminated = False
        """Whether SIGTERM ended it."""
        self._warnings: list[str] = []

    def configure(self, ctx: typer.Context) -> None:
        """Read the options before the verb; nothing is loaded yet."""
        if os.environ.get("WFBENCH_TRACE_PLUGINS", "") not in {"", "0"}:
            _trace()
        given = ctx.find_root().params
        self.json = bool(given.get("json"))
        hosting.configure(
            given.get("plugins_dir") or (),
            external=not given.get("no_plugins"),
            strict=bool(given.get("strict_plugins")),
            command=self.args,
            reserved=VERBS,
        )

    def host(self, *, quiet: bool = False) -> PluginHost:
        """Return the plugins, loaded once; `quiet`: the caller shows broken ones itself."""
        self.quiet = self.quiet or quiet
        return hosting.plugin_host()

    def warn(self, line: str) -> None:
        """Print a warning when the command has ended."""
        self._warnings.append(line)

    def warnings(self) -> list[str]:
        """Return what to print at the end: about broken plugins, and what verbs added."""
        broken = [] if self.quiet or self.json is None else hosting.broken_plugins()
        hint = "see `wfbench plugins list`"
        return [f"{hosting.broken_line(one)}; {hint}" for one in broken] + self._warnings


def invocation(ctx: typer.Context) -> Invocation:
    """Return this invocation, configured by the options before the verb."""
    root = ctx.find_root()
    if not isinstance(root.obj, Invocation):
        root.obj = Invocation()
    found: Invocation = root.obj
    if found.json is None:
        found.configure(ctx)
    return found


def wants_json(ctx: typer.Context, *, flag: bool) -> bool:
    """Return whether `--json` was given, before the verb or after it."""
    return flag or bool(invocation(ctx).json)


def answer(ctx: typer.Context, result: Result, *, json: bool) -> None:
    """Show a result, or print it as JSON; end with its exit code."""
    from wfbench.report.console import print_json

    for line in getattr(result, "kept", ()):  # what an evaluation wrote
        typer.echo(line, err=True)
    if wants_json(ctx, flag=json):
        print_json(result.schema, result.to_dict())
    else:
        result.show()
    sys.stdout.flush()
    if result.exit_code:
        raise typer.Exit(result.exit_code)


def _trace() -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("wfbench: trace: %(message)s"))
    logger = logging.getLogger("wfbench.host.manager")
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
