"""`wfbench config`."""

from __future__ import annotations

from typing import Annotated

import typer

from wfbench.cli.run_options import RunCommand, takes_run_config
from wfbench.cli.session import JsonFlag, session, wants_json
from wfbench.layers import Effective
from wfbench.report.config import config_json, show_config
from wfbench.report.console import print_json
from wfbench.run_selection import select_run

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(cls=RunCommand)
@takes_run_config
def config(
    ctx: typer.Context,
    *,
    effective: Effective,
    check: Annotated[
        bool, typer.Option("--check", help="Also select the plugins, as `wfbench run` would.")
    ] = False,
    json: JsonFlag = False,
) -> None:
    """Print the configuration of a run, and what differs from the defaults and why.

    Flags win over WFBENCH_RUN_* variables, those over the --config file, that over the preset.
    """
    chosen = select_run(session(ctx).host(), effective) if check else {}
    if wants_json(ctx, flag=json):
        print_json("config/1", config_json(effective, chosen))
    else:
        show_config(effective, chosen)
