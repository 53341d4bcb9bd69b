"""`wfbench bench`."""

from __future__ import annotations

from typing import Annotated

import typer

from wfbench.cli.arguments import (
    Collectors,
    Env,
    JsonFlag,
    NewRuns,
    Options,
    PolicyName,
    RunName,
    Seed,
)
from wfbench.cli.invocation import answer
from wfbench.cli.progress import progress_lines
from wfbench.contract import UsageError
from wfbench.settings.selection import ALL, parse_options
from wfbench.store.places import DEFAULT

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
def bench(
    ctx: typer.Context,
    *,
    collector: Collectors = None,
    env: Env = "cage2",
    n_envs: Annotated[
        str, typer.Option(metavar="N[,N...]", help="Number of environments.")
    ] = "200",
    policy: PolicyName = "random",
    rounds: Annotated[int | None, typer.Option(help="Samples of each case. [default: 5]")] = None,
    seconds: Annotated[
        float | None, typer.Option(help="Minimum seconds per sample. [default: 0.5]")
    ] = None,
    steps: Annotated[
        int | None, typer.Option(help="Steps of every environment per collect. [default: 50]")
    ] = None,
    workers: Annotated[
        int | None, typer.Option(help="Workers of every collector that has workers.")
    ] = None,
    seed: Seed = 0,
    option: Options = None,
    smoke: Annotated[
        bool, typer.Option("--smoke", help="Two very short rounds: does it work at all?")
    ] = False,
    out: NewRuns = DEFAULT,
    name: RunName = None,
    json: JsonFlag = False,
) -> None:
    """Measure how fast collectors are on an environment.

    Every sample comes from a fresh process. Every round measures each case once, in a shuffled
    sequence, and each sample is kept in the run directory at once. The exit code is 3 if a sample
    failed or synchronous collectors did not collect the same transitions.
    """
    from wfbench.api.measuring import bench as measure

    with progress_lines() as progress:
        found = measure(
            collector=collector or [ALL],
            env=env,
            n_envs=_counts(n_envs),
            policy=policy,
            rounds=rounds,
            seconds=seconds,
            steps=steps,
            workers=workers,
            seed=seed,
            options=parse_options(option or ()),
            smoke=smoke,
            out=out,
            name=name,
            progress=progress,
        )
    answer(ctx, found, json=json)


def _counts(text: str) -> list[int]:
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdigit() for part in parts):
        raise UsageError(f"--n-envs {text}: this is not a list of positive numbers such as 25,200")
    return [int(part) for part in parts]
