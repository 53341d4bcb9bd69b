"""`wfbench config`."""

from __future__ import annotations

from typing import Annotated

import typer

from wfbench.api.searching import explain_config
from wfbench.cli.arguments import JsonFlag
from wfbench.cli.invocation import answer
from wfbench.cli.run_options import RunCommand, takes_run_config
from wfbench.settings.sources import ResolvedConfig

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(cls=RunCommand)
@takes_run_config
def config(
    ctx: typer.Context,
    *,
    resolved: ResolvedConfig,
    check: Annotated[
        bool, typer.Option("--check", help="Also select the plugins, as `wfbench run` would.")
    ] = False,
    json: JsonFlag = False,
) -> None:
    """Print the configuration of a run, and what differs from the defaults and why.

    Flags win over WFBENCH_RUN_* variables, those over the --config file, that over the preset.
    """
    answer(ctx, explain_config(resolved, check=check), json=json)
