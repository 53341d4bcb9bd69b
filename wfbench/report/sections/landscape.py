"""Recorded landscapes, and searchers that were compared on one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from wfbench.contract import UsageError
from wfbench.landscape.records import read_landscape
from wfbench.landscape.signal import measure_signal
from wfbench.orders import all_orders, format_order
from wfbench.report.document import Check, Column, Curves, Exhibit, Fact, Section, Spread
from wfbench.report.written import short

from .common import how_to_read, position_heat, table

LANDSCAPE, SEARCHERS = "wfbench/landscape/1", "wfbench/bench-search/1"


def landscape_section(path: Path) -> Section:
    """How training every order turned out."""
    found = read_landscape(path)
    command = str(found.meta["command"])
    orders = all_orders(len(found.units))
    scored = [(order, score) for index, order in enumerate(orders) for score in found.scores(index)]
    rows = []
    for index, order in enumerate(orders):
        scores = found.scores(index)
        if scores:
            mean = fmean(scores)
            half = 2 * stdev(scores) / len(scores) ** 0.5 if len(scores) > 1 else 0.0
            written = format_order(order, found.units)
            rows.append((written, mean, mean - half, mean + half, len(scores)))
    rows.sort(key=lambda row: -row[1])
    columns = [
        Column("order"),
        Column("mean return", "points", 1),
        Column("low", "points", 1),
        Column("high", "points", 1),
        Column("trainings"),
    ]
    spread = Exhibit(
        title="What is every order worth?",
        reading=(
            "Mean return of every order over trainings with different seeds, the best on the left; "
            "bars are two standard errors."
        ),
        table=table(columns, rows),
        command=command,
        picture=Spread("order", "mean return", "low", "high"),
    )
    trained = len(rows)
    return Section(
        title=f"Landscape {path.stem}",
        kind="landscape",
        headline=_signal(path),
        figures=(
            Fact("orders trained", f"{trained} of {len(orders)}"),
            Fact("trainings", f"{len(scored)}"),
        ),
        facts=tuple(Fact(key, str(value)) for key, value in found.meta.items() if key != "command"),
        exhibits=(spread, position_heat(scored, found.units, command)) if scored else (),
        notes=(how_to_read(found.units),),
    )


def _signal(path: Path) -> Check:
    try:
        signal = measure_signal(read_landscape(path))
    except UsageError as error:
        return Check("signal", "open", str(error))
    said = (
        f"{signal.icc:.0%} of what single trainings differ by is due to the order "
        f"(95 % interval {signal.icc_low:.0%} to {signal.icc_high:.0%}); the rest is the seed"
    )
    return Check("signal", "good" if signal.icc_low > 0 else "open", said)


def searchers_section(values: Mapping[str, Any], name: str) -> Section:
    """Regret of searchers by budget."""
    source = values["source"]
    where = (
        source.get("landscape") or f"synthetic {source.get('synthetic')}, icc {source.get('icc')}"
    )
    rows = [
        (one["searcher"], asks, interval["median"], interval["low"], interval["high"], mean)
        for one in values["searchers"]
        for asks, (interval, mean) in enumerate(
            zip(one["recommended"], one["mean_recommended"], strict=True), start=1
        )
    ]
    columns = [
        Column("searcher"),
        Column("trainings"),
        Column("regret", "points", 2),
        Column("low", "points", 2),
        Column("high", "points", 2),
        Column("mean regret", "points", 2),
    ]
    ends = {one["searcher"]: one["recommended"][-1]["median"] for one in values["searchers"]}
    best = min(ends, key=lambda one: ends[one])
    return Section(
        title=f"Searchers {name}",
        kind="searchers",
        headline=Check(
            "regret",
            "good",
            f"after {values['asks']} trainings {best} has the least median regret, "
            f"{short(ends[best])} points",
        ),
        figures=(
            Fact("searches each", f"{values['seeds']:,}"),
            Fact("budget", f"{values['asks']} trainings"),
        ),
        facts=(Fact("landscape", str(where)), Fact("seed", str(values["seed"]))),
        exhibits=(
            Exhibit(
                title="How much regret is left after so many trainings?",
                reading=(
                    "The value of the best order less that of the order a searcher would "
                    "recommend: median over many searches in the same worlds, with a 95 % "
                    "interval as band. Lower is better, 0 is perfect."
                ),
                table=table(columns, rows),
                command=_command(values),
                picture=Curves("trainings", "regret", "searcher", "low", "high", from_zero=True),
            ),
        ),
    )


def _command(values: Mapping[str, Any]) -> str:
    source = values["source"]
    words = ["wfbench bench-search"]
    words += [f"--searcher {one['searcher']}" for one in values["searchers"]]
    if source.get("landscape"):
        words.append(f"--landscape {source['landscape']}")
    else:
        words.append(f"--synthetic {source['synthetic']} --icc {source['icc']}")
    words.append(f"--asks {values['asks']} --seeds {values['seeds']} --seed {values['seed']}")
    return " ".join(words)
