"""`wfbench calibrate`."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from wfbench.bench.calibration import DEFAULT, calibrate, doubled, write_calibration
from wfbench.bench.cases import select_cases
from wfbench.bench.model import POLICIES, Settings
from wfbench.cli.measuring import measured
from wfbench.cli.session import JsonFlag, session, wants_json
from wfbench.contract import UsageError
from wfbench.report.calibrate import show_calibration
from wfbench.report.console import print_json
from wfbench.selection import parse_options
from wfbench.store.event_log import plain
from wfbench.store.machine import fingerprint

app = typer.Typer(add_completion=False, rich_markup_mode=None)

_LEAST = 4


@app.command("calibrate")
def calibrate_(
    ctx: typer.Context,
    *,
    collector: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME[:KEY=VALUE,...]",
            help="What to measure against itself [default: sequential and shm]. Repeatable.",
        ),
    ] = None,
    env: Annotated[
        str, typer.Option(metavar="NAME[:KEY=VALUE,...]", help="The environment.")
    ] = "cage2",
    n_envs: Annotated[int, typer.Option(min=1, help="How many environments.")] = 50,
    policy: Annotated[
        str, typer.Option(metavar="|".join(POLICIES), help="Who chooses the actions.")
    ] = "random",
    rounds: Annotated[int, typer.Option(help="Rounds to measure.")] = 30,
    window: Annotated[int, typer.Option(help="Rounds of one check.")] = 10,
    seconds: Annotated[float, typer.Option(help="The least time of a sample.")] = 0.5,
    steps: Annotated[int, typer.Option(help="Steps of every env per collect.")] = 50,
    seed: Annotated[int, typer.Option(help="Where every random number comes from.")] = 0,
    option: Annotated[
        list[str] | None,
        typer.Option("--option", "-o", metavar="NAME.KEY=VALUE", help="An option of a plugin."),
    ] = None,
    out: Annotated[
        Path, typer.Option("--out", metavar="FILE", help="Where the result is kept.")
    ] = DEFAULT,
    json: JsonFlag = False,
) -> None:
    """Measure how noisy this machine is: the same code against itself.

    Says how often a check would raise a false alarm here and which slow-down it can find.
    `wfbench check` then counts no change below what noise alone can make.
    """
    if window < _LEAST or rounds < 2 * window:
        raise UsageError(
            f"{rounds} rounds, windows of {window}: a window has at least {_LEAST} rounds, and "
            "two of them must fit"
        )
    cases = select_cases(
        session(ctx).host(),
        collectors=collector or ["sequential", "shm"],
        env=env,
        n_envs=[n_envs],
        policy=policy,
        options=parse_options(option or ()),
    )
    settings = Settings(rounds=rounds, seconds=seconds, steps=steps, seed=seed)
    taken = measured(doubled(cases), settings, None).session
    created = datetime.now().astimezone().isoformat(timespec="seconds")
    found = calibrate(taken, window, created=created, machine=fingerprint())
    write_calibration(out, found)
    if wants_json(ctx, flag=json):
        print_json(
            "calibration/1",
            {
                "file": str(out),
                "false_alarms": found.false_alarms,
                "detectable": found.detectable,
                **plain(asdict(found)),
            },
        )
    else:
        show_calibration(found, out)
