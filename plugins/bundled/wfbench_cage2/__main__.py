"""`python -m wfbench_cage2`: replay recorded episodes, or play blue in the terminal."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from wfbench.contract import UsageError

from .options import Cage2Options

app = typer.Typer(
    add_completion=False, no_args_is_help=True, help="CAGE Challenge 2: replay traces, play blue."
)


def _fail(message: str) -> typer.Exit:
    typer.echo(f"wfbench_cage2: {message}", err=True)
    return typer.Exit(2)


@app.command()
def replay(
    folder: Annotated[Path, typer.Argument(help="A folder of *.npz traces, or one trace.")],
) -> None:
    """Replay recorded episodes; exit 0 only if every field of every step agrees."""
    from .replay import TraceError, replay_file, trace_files

    try:
        results = [replay_file(path) for path in trace_files(folder)]
    except TraceError as error:
        raise _fail(str(error)) from None
    files, *counts, firsts = zip(*results, strict=True)
    episodes, steps, mismatches = (sum(column) for column in counts)
    table = Table(show_footer=True)
    table.add_column("trace", footer="total")
    table.add_column("episodes", footer=f"{episodes:,}", justify="right")
    table.add_column("steps", footer=f"{steps:,}", justify="right")
    table.add_column("mismatches", footer=f"{mismatches:,}", justify="right")
    for file, *numbers in zip(files, *counts, strict=True):
        table.add_row(file, *(f"{number:,}" for number in numbers))
    console = Console(soft_wrap=True, highlight=False)
    console.print(table)
    if mismatches:
        console.print(f"first mismatch: {next(filter(None, firsts))}", markup=False)
    console.print(
        f"{mismatches:,} mismatches in {steps:,} steps of {episodes:,} episodes "
        f"({len(results)} files)"
    )
    raise typer.Exit(1 if mismatches else 0)


@app.command()
def play(
    red: Annotated[str, typer.Option(help="Red agent: bline, meander, sleep or mixed.")] = "bline",
    steps: Annotated[int, typer.Option(help="Steps of the episode.")] = 30,
    seed: Annotated[int | None, typer.Option(help="Env seed; random if not given.")] = None,
    advice: Annotated[
        Path | None, typer.Option(help="Show what this policy would do: a policy.npz, or a run.")
    ] = None,
    order: Annotated[
        str | None, typer.Option(help="The order that a joint policy is to follow, such as USEHD.")
    ] = None,
) -> None:
    """Play blue: choose actions and see the hosts as a table."""
    try:
        Cage2Options(red=red, episode_steps=steps)
    except ValueError as error:
        raise _fail(str(error)) from None
    if order is not None and advice is None:
        raise _fail("--order is the order that --advice is to follow; name a policy with --advice")
    from .advice import load_advisor
    from .play import play_episode

    try:
        advisor = None if advice is None else load_advisor(advice, order)
    except UsageError as error:
        raise _fail(str(error)) from None
    play_episode(red, steps, seed, advisor)


if __name__ == "__main__":
    app(prog_name="python -m wfbench_cage2")
