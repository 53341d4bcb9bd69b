"""`wfbench run`."""

from __future__ import annotations

import typer

from wfbench.cli.run_options import RunCommand, takes_run_config
from wfbench.cli.session import JsonFlag, session
from wfbench.contract import WfbenchError
from wfbench.layers import Effective
from wfbench.run_selection import select_run

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(cls=RunCommand)
@takes_run_config
def run(ctx: typer.Context, *, effective: Effective, json: JsonFlag = False) -> None:
    """Search for the best order and the policy that follows it.

    This version checks the configuration and the plugins, and stops there: it has no search yet.
    """
    del json  # an error is answered in JSON by the shell
    select_run(session(ctx).host(), effective)
    raise WfbenchError(
        "the configuration is valid, but the workflow search is not part of this version yet"
    )
