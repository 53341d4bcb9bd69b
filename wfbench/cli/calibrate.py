"""`wfbench calibrate`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from wfbench.api import gating
from wfbench.benchmarks.gate.calibration import DEFAULT
from wfbench.cli.arguments import Collectors, Env, JsonFlag, Options, PolicyName, Seed
from wfbench.cli.invocation import answer
from wfbench.cli.progress import progress_lines
from wfbench.settings.selection import parse_options

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
def calibrate(
    ctx: typer.Context,
    *,
    collector: Collectors = None,
    env: Env = "cage2",
    n_envs: Annotated[int, typer.Option(min=1, help="Number of environments.")] = 50,
    policy: PolicyName = "random",
    rounds: Annotated[int, typer.Option(help="Rounds to measure.")] = 30,
    window: Annotated[int, typer.Option(help="Rounds of one check.")] = 10,
    seconds: Annotated[float, typer.Option(help="Minimum seconds per sample.")] = 0.5,
    steps: Annotated[int, typer.Option(help="Steps of every environment per collect.")] = 50,
    seed: Seed = 0,
    option: Options = None,
    out: Annotated[
        Path, typer.Option("--out", metavar="FILE", help="File for the result.")
    ] = DEFAULT,
    json: JsonFlag = False,
) -> None:
    """Measure how noisy this machine is: the same code against itself.

    Measures sequential and shm unless --collector is given. Says how often a check would raise a
    false alarm here and which slow-down it can detect. `wfbench check` then ignores changes that
    noise alone can cause.
    """
    with progress_lines() as progress:
        found = gating.calibrate(
            collector=collector or ("sequential", "shm"),
            env=env,
            n_envs=n_envs,
            policy=policy,
            rounds=rounds,
            window=window,
            seconds=seconds,
            steps=steps,
            seed=seed,
            options=parse_options(option or ()),
            out=out,
            progress=progress,
        )
    answer(ctx, found, json=json)
