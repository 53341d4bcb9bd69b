"""`wfbench doctor`."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from wfbench.cli.session import JsonFlag, session, wants_json
from wfbench.doctor import examine
from wfbench.report.console import print_json
from wfbench.report.doctor import show_findings

UNHEALTHY = 3

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
def doctor(
    ctx: typer.Context,
    *,
    fix: Annotated[bool, typer.Option("--fix", help="Apply the remedies that are safe.")] = False,
    json: JsonFlag = False,
) -> None:
    """Check this machine and the plugins, and say how to mend what is wrong.

    Ends with 0 if all is well and with 3 if something is not.
    """
    findings = examine(session(ctx).host(quiet=True), fix=fix)
    if wants_json(ctx, flag=json):
        print_json("doctor/1", {"findings": [asdict(finding) for finding in findings]})
    else:
        show_findings(findings)
    if not all(finding.ok for finding in findings):
        raise typer.Exit(UNHEALTHY)
