"""`wfbench bench-search`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from wfbench.api import landscapes
from wfbench.cli.arguments import JsonFlag, Options, Searchers, Seed
from wfbench.cli.invocation import answer
from wfbench.cli.progress import progress_lines
from wfbench.search.landscape.records import Value
from wfbench.settings.selection import parse_options

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command("bench-search")
def bench_search(
    ctx: typer.Context,
    *,
    searcher: Searchers = None,
    landscape: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Recorded landscape to search.")
    ] = None,
    value: Annotated[
        Value | None,
        typer.Option(
            help="With --landscape: what an order is worth. `steps` is how soon it complies. "
            "[default: return]"
        ),
    ] = None,
    synthetic: Annotated[
        landscapes.Shape | None,
        typer.Option(help="Synthetic landscape of known optimum, another one for every seed."),
    ] = None,
    icc: Annotated[
        float | None,
        typer.Option(
            help="With --synthetic: share of a score's variance that is due to the order. "
            "[default: 0.3]"
        ),
    ] = None,
    seeds: Annotated[int, typer.Option(min=2, help="Searches per searcher.")] = 200,
    asks: Annotated[int, typer.Option(min=1, help="Trainings per search.")] = 20,
    seed: Seed = 0,
    batch: Annotated[
        int, typer.Option(min=1, help="Orders asked at a time, if the searcher supports it.")
    ] = 1,
    option: Options = None,
    json: JsonFlag = False,
) -> None:
    """Compare searchers without training: a landscape answers what training would have.

    Regret is the value of the best order less that of the order a searcher would recommend.
    """
    with progress_lines(bar_only=True) as progress:
        found = landscapes.bench_search(
            searcher=searcher or ("gp-ucb", "random"),
            landscape=landscape,
            value=value,
            synthetic=synthetic,
            icc=icc,
            seeds=seeds,
            asks=asks,
            seed=seed,
            batch=batch,
            options=parse_options(option or ()),
            progress=progress,
        )
    answer(ctx, found, json=json)
