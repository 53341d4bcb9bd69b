"""`wfbench bench-search`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from wfbench.cli.session import JsonFlag, session, wants_json
from wfbench.contract import UsageError
from wfbench.landscape.benchmark import SearchBench, run_bench
from wfbench.landscape.records import read_landscape
from wfbench.landscape.signal import Signal
from wfbench.landscape.valuing import UNITS, Value, valued_by
from wfbench.landscape.world import World, recorded_world, synthetic_world
from wfbench.report.bench_search import SeedProgress, show_bench
from wfbench.report.console import print_json
from wfbench.selection import parse_options, select

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command("bench-search")
def bench_search(
    ctx: typer.Context,
    *,
    searcher: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME[:KEY=VALUE,...]",
            help="A searcher, or `all` [default: gp-ucb and random]. Repeatable.",
        ),
    ] = None,
    landscape: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A recorded landscape to search.")
    ] = None,
    value: Annotated[
        Value | None,
        typer.Option(
            help="With --landscape: what an order is worth; steps: how soon it complies "
            "[default: return]."
        ),
    ] = None,
    synthetic: Annotated[
        Literal["mallows", "pairs"] | None,
        typer.Option(help="A landscape of known optimum instead, another one for every seed."),
    ] = None,
    icc: Annotated[
        float | None,
        typer.Option(
            help="With --synthetic: the share of a score's variance that is due to the order "
            "[default: 0.3]."
        ),
    ] = None,
    seeds: Annotated[int, typer.Option(min=2, help="Searches of each searcher.")] = 200,
    asks: Annotated[int, typer.Option(min=1, help="Budget of a search, in training runs.")] = 20,
    seed: Annotated[int, typer.Option(min=0, help="Where every random number comes from.")] = 0,
    batch: Annotated[
        int, typer.Option(min=1, help="Orders asked at a time, where a searcher can.")
    ] = 1,
    option: Annotated[
        list[str] | None,
        typer.Option(
            "--option",
            "-o",
            metavar="NAME.KEY=VALUE",
            help="An option of a selected searcher, such as gp-ucb.beta=1. Repeatable.",
        ),
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Compare searchers without training: a landscape answers what training would have.

    Regret is the value of the best order less that of the order a searcher would recommend.
    """
    world, source, signal = _world(landscape, value, synthetic, icc)
    chosen = select(
        session(ctx).host(),
        {"searcher": searcher or ["gp-ucb", "random"]},
        parse_options(option or ()),
    )["searcher"]
    total = len(chosen) * seeds
    with SeedProgress(total) as progress:
        bench = run_bench(
            {choice.label: choice.build for choice in chosen},
            world,
            asks=asks,
            seeds=seeds,
            seed=seed,
            batch=batch,
            done=progress.step,
        )
    if wants_json(ctx, flag=json):
        print_json("bench-search/1", _as_data(bench, source, signal))
    else:
        show_bench(bench, source, signal)


def _world(
    landscape: Path | None,
    value: Value | None,
    synthetic: Literal["mallows", "pairs"] | None,
    icc: float | None,
) -> tuple[World, dict[str, Any], Signal | None]:
    if (landscape is None) == (synthetic is None):
        raise UsageError("give either --landscape FILE or --synthetic mallows|pairs")
    if landscape is not None:
        if icc is not None:
            raise UsageError("--icc belongs to --synthetic; a recorded landscape has its own")
        recorded = read_landscape(landscape)
        chosen_value: Value = value or "return"
        world, signal = recorded_world(valued_by(recorded, chosen_value))
        source = {
            "landscape": str(landscape),
            "meta": dict(recorded.meta),
            "value": chosen_value,
            "unit": UNITS[chosen_value],
        }
        return world, source, signal
    if value is not None:
        raise UsageError("--value belongs to --landscape; a synthetic landscape has one value")
    chosen = 0.3 if icc is None else icc
    shape: Literal["mallows", "pairs"] = synthetic or "mallows"
    return synthetic_world(shape, chosen), {"synthetic": shape, "icc": chosen}, None


def _as_data(bench: SearchBench, source: dict[str, Any], signal: Signal | None) -> dict[str, Any]:
    return {
        "source": source,
        "signal": None if signal is None else asdict(signal) | {"reliability": signal.reliability},
        **asdict(bench),
    }
