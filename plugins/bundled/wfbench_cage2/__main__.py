"""`python -m wfbench_cage2`: replay recorded episodes, or play blue in the terminal."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

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

    console = Console(soft_wrap=True, highlight=False)
    table = Table("trace", "episodes", "steps", "mismatches", show_footer=True)
    try:
        results = [replay_file(path) for path in trace_files(folder)]
    except TraceError as error:
        raise _fail(str(error)) from None
    counts = [(result.episodes, result.steps, result.mismatches) for result in results]
    for result, numbers in zip(results, counts, strict=True):
        table.add_row(result.file, *(f"{number:,}" for number in numbers))
    episodes, steps, mismatches = (sum(column) for column in zip(*counts, strict=True))
    table.columns[0].footer = "total"
    for column, total in zip(table.columns[1:], (episodes, steps, mismatches), strict=True):
        column.footer, column.justify = f"{total:,}", "right"
    console.print(table)
    first = next((result.first for result in results if result.first is not None), None)
    if first is not None:
        console.print(f"first mismatch: {first}", markup=False)
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
) -> None:
    """Play blue: choose actions and see the hosts as a table."""
    try:
        Cage2Options(red=red, episode_steps=steps)
    except ValueError as error:
        raise _fail(str(error)) from None
    from .play import play_episode

    play_episode(red, steps, seed)


if __name__ == "__main__":
    app(prog_name="python -m wfbench_cage2")
