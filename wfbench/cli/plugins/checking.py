"""`wfbench plugins check NAME...`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from wfbench.api.plugin_tools import check_faults
from wfbench.api.plugin_tools import check_plugin as check
from wfbench.cli.arguments import JsonFlag, Options
from wfbench.cli.invocation import answer, invocation
from wfbench.cli.progress import progress_lines
from wfbench.contract import UsageError
from wfbench.report.console import fail
from wfbench.settings.selection import ALL, parse_options


def check_plugin(
    ctx: typer.Context,
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME[:KEY=VALUE,...]...", help="Plugins to check, with options."),
    ] = None,
    *,
    option: Options = None,
    report: Annotated[
        bool,
        typer.Option(
            "--report",
            help="Inject the same faults into collectors (default: all) and print a Markdown table "
            "of which report the fault, lose the cause, hang or recover.",
        ),
    ] = False,
    fault: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Only this fault, such as kill@3. Repeatable."),
    ] = None,
    to: Annotated[
        Path | None,
        typer.Option("--to", metavar="DIR", help="Also write faults.md and faults.json here."),
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Test whether a plugin keeps every promise of the contract.

    The exit code is 6 if a promise is broken that the plugin does not declare as one it cannot
    keep.
    """
    invocation(ctx).quiet = True
    options = parse_options(option or ())
    if report:
        with progress_lines() as progress:
            found = check_faults(
                names or [ALL], fault=fault or (), options=options, to=to, progress=progress
            )
        answer(ctx, found, json=json)
        return
    if to is not None or fault:
        raise UsageError("--to and --fault are about the report; give --report too")
    with progress_lines(bar_only=True) as progress:
        checked = check(*(names or ()), options=options, progress=progress)
    if checked.broken:
        fail(f"{', '.join(names or ())} breaks {checked.broken} of {len(checked.rows())} promises")
    answer(ctx, checked, json=json)
