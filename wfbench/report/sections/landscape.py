"""Recorded landscapes, searchers compared on one, and how far a search was from the best order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import numpy as np

from wfbench.contract import UsageError
from wfbench.orders import all_orders, format_order, order_index
from wfbench.report.document import Check, Curves, Exhibit, Fact, Section, Spread
from wfbench.report.written import short
from wfbench.search.history import RecordedSearch
from wfbench.search.landscape.records import Landscape, read_landscape
from wfbench.search.landscape.regret import SearchBench
from wfbench.search.landscape.signal import Signal, measure_signal
from wfbench.search.landscape.world import SPREAD
from wfbench.store.decoding import decode
from wfbench.store.events import WorkflowFinished

from .common import around, how_to_read, made_by, position_heat, table

LANDSCAPES = Path("results") / "landscapes"


def landscape_section(found: Landscape, name: str) -> Section:
    """Return how training every order turned out."""
    command = str(found.meta["command"])
    orders = all_orders(len(found.units))
    scored = [(order, score) for index, order in enumerate(orders) for score in found.scores(index)]
    rows = []
    for index, order in enumerate(orders):
        scores = found.scores(index)
        if scores:
            half = 2 * stdev(scores) / len(scores) ** 0.5 if len(scores) > 1 else 0.0
            text = format_order(order, found.units)
            rows.append((text, around(fmean(scores), half), len(scores)))
    rows.sort(key=lambda row: row[1][0], reverse=True)
    spread = Exhibit(
        title="What is every order worth?",
        reading="Mean return of every order over trainings with different seeds, the best on the "
        "left; bars are two standard errors.",
        table=table("order | mean return (points) .1 ± | trainings", rows),
        picture=Spread("order", "mean return", "low", "high"),
    )
    exhibits = (spread, position_heat(scored, found.units))
    return Section(
        title=f"Landscape {name}",
        kind="landscape",
        headline=_signal(found),
        figures=(
            Fact("orders trained", f"{len(rows)} of {len(orders)}"),
            Fact("trainings", f"{len(scored)}"),
        ),
        facts=tuple(Fact(key, str(value)) for key, value in found.meta.items() if key != "command"),
        exhibits=made_by(command, exhibits) if scored else (),
        notes=(how_to_read(found.units),),
    )


def _signal(found: Landscape) -> Check:
    try:
        signal = measure_signal(found)
    except UsageError as error:
        return Check("signal", "open", str(error))
    says = (
        f"{signal.icc:.0%} of what single trainings differ by is due to the order "
        f"(95 % interval {signal.icc_low:.0%} to {signal.icc_high:.0%}); the rest is the seed"
    )
    return Check("signal", "good" if signal.icc_low > 0 else "open", says)


def searchers_section(
    bench: SearchBench, source: Mapping[str, Any], signal: Signal | None, name: str = ""
) -> Section:
    """Return the regret of searchers by budget."""
    ends = {one.searcher: one.recommended[-1].median for one in bench.searchers}
    best = min(ends, key=lambda one: ends[one])
    unit = source.get("unit", "points")
    where = source.get("landscape") or f"synthetic {source.get('synthetic')}"
    return Section(
        title=f"Searchers {name}".strip(),
        kind="searchers",
        headline=Check(
            "regret",
            "good",
            f"after {bench.asks} trainings {best} has the least median regret, "
            f"{short(ends[best])} {unit}",
        ),
        figures=(
            Fact("searches each", f"{bench.seeds:,}"),
            Fact("budget", f"{bench.asks} trainings"),
        ),
        facts=(Fact("landscape", str(where)), Fact("seed", str(bench.seed))),
        exhibits=made_by(_command(bench, source), (_ends(bench), _curves(bench, unit))),
        notes=tuple(_notes(bench, source, signal)),
    )


def searchers_data(
    bench: SearchBench, source: Mapping[str, Any], signal: Signal | None
) -> dict[str, Any]:
    """Return the regret curves as JSON values."""
    return {
        "source": dict(source),
        "signal": None if signal is None else asdict(signal) | {"reliability": signal.reliability},
        **asdict(bench),
    }


def stored_searchers_section(values: Mapping[str, Any], name: str) -> Section:
    """Return the section of what `wfbench bench-search --json` printed."""
    kept = {k: v for k, v in values.items() if k not in {"schema", "source", "signal"}}
    signal = values["signal"]
    if signal is not None:
        signal = {k: v for k, v in signal.items() if k != "reliability"}
        signal = decode(Signal, signal, "signal")
    bench = decode(SearchBench, {"batch": 1, **kept}, "bench-search")
    return searchers_section(bench, values["source"], signal, name)


def _ends(bench: SearchBench) -> Exhibit:
    rows = []
    for one in bench.searchers:
        left = (one.recommended[-1], one.mean_recommended[-1], one.best_asked[-1])
        rows.append((one.searcher, *left, 100 * one.repeats, one.ask_ms))
    heads = (
        "searcher | regret .2 ± | mean regret .2 | regret of the best asked .2 ± | "
        "repeated orders (%) .0 | time per ask (ms) .1"
    )
    return Exhibit(
        title=f"What is left after {bench.asks} trainings?",
        reading="Medians over searches with 95 % intervals, of the order that is recommended and "
        "of the best order that was asked for.",
        table=table(heads, rows),
    )


def _curves(bench: SearchBench, unit: str) -> Exhibit:
    rows = [
        (one.searcher, asks, interval, mean)
        for one in bench.searchers
        for asks, (interval, mean) in enumerate(
            zip(one.recommended, one.mean_recommended, strict=True), start=1
        )
    ]
    heads = f"searcher | trainings | regret ({unit}) .2 ± | mean regret ({unit}) .2"
    return Exhibit(
        title="How much regret is left after so many trainings?",
        reading="The value of the best order minus that of the order a searcher would recommend: "
        "median over many searches in the same worlds, with a 95 % interval as band. Lower is "
        "better, 0 is perfect.",
        table=table(heads, rows),
        picture=Curves("trainings", "regret", "searcher", "low", "high", from_zero=True),
    )


def _notes(bench: SearchBench, source: Mapping[str, Any], signal: Signal | None) -> Iterator[str]:
    if signal is None:
        yield (
            f"synthetic landscape {source.get('synthetic')}: order sd {SPREAD:.1f}, "
            f"intra-class correlation {source.get('icc', 0.0):.2f}"
        )
    else:
        yield ", ".join(f"{key} {value}" for key, value in source.get("meta", {}).items())
        yield (
            f"{signal.runs} runs of {signal.orders} orders: order sd {signal.order_sd:.2f}, "
            f"seed sd {signal.seed_sd:.2f}, intra-class correlation {signal.icc:.2f} "
            f"({signal.icc_low:.2f} to {signal.icc_high:.2f}); "
            f"reliability of an order's mean {signal.reliability:.2f}"
        )
    if bench.batch > 1:
        yield f"{bench.batch} orders were asked for at a time"
    for rival in bench.rivals:
        one, gap = rival.comparison, rival.comparison.difference
        yield (
            f"{rival.searcher} minus {rival.against} after {bench.asks}: {gap.median:.2f} "
            f"({gap.low:.2f} to {gap.high:.2f}); better in {one.better:.0%}, worse in "
            f"{one.worse:.0%}"
        )


def _command(bench: SearchBench, source: Mapping[str, Any]) -> str:
    words = ["wfbench bench-search"]
    words += [f"--searcher {one.searcher}" for one in bench.searchers]
    if source.get("landscape"):
        words.append(f"--landscape {source['landscape']}")
        words += [f"--value {source['value']}"] if source.get("value", "return") != "return" else []
    else:
        words.append(f"--synthetic {source['synthetic']} --icc {source['icc']}")
    words.append(f"--asks {bench.asks} --seeds {bench.seeds} --seed {bench.seed}")
    words += [f"--batch {bench.batch}"] if bench.batch > 1 else []
    return " ".join(words)


def landscape_for(search: RecordedSearch, files: Iterable[Path]) -> Landscape | None:
    """Return the first of these landscapes that was recorded on what the search searched."""
    wanted = {
        "env": search.config.label("env"),
        "trainer": search.config.label("trainer"),
        "definition": search.config.definition,
    }
    for file in files:
        found = read_landscape(file)
        if found.units == search.units and wanted.items() <= dict(found.meta).items():
            return found
    return None


def fitting_landscape(search: RecordedSearch, file: Path) -> Landscape:
    """Return the landscape in a file, which must be of what the search searched."""
    found = landscape_for(search, [file])
    if found is None:
        meta = read_landscape(file).meta
        raise UsageError(
            f"landscape {file} is of {meta['env']}, {meta['trainer']} and {meta['definition']}, "
            f"which run {search.id} did not search"
        )
    return found


def regret_exhibit(search: RecordedSearch, landscape: Landscape, command: str) -> Exhibit:
    """Return the regret after every workflow: of the recommended order and of the best tried."""
    scores = [landscape.scores(index) for index in range(len(landscape.replicates))]
    means = np.array([np.mean(one) if one else np.nan for one in scores])
    top = float(np.nanmax(means))
    rows: list[tuple[object, ...]] = []
    tried = float("nan")
    for entry, best in search.best_so_far():
        result = entry.event
        if not isinstance(result, WorkflowFinished):
            continue
        tried = float(np.fmax(tried, means[order_index(result.order)]))
        trained = result.workflow + 1
        if best is not None:
            chosen = float(top - means[order_index(best.order)])
            rows.append(("recommended", trained, chosen, search.written(best.order)))
        rows.append(("best tried", trained, top - tried, search.written(result.order)))
    return Exhibit(
        title="How far from the best order was the search?",
        reading="By a recorded landscape, which says how training every order turned out on "
        "average: the best mean minus the mean of the order the run would recommend, and of the "
        "best order it had tried. 0 is perfect. The best of many noisy means is too high, so some "
        "regret remains even for a perfect search.",
        table=table("curve | workflows trained | regret (points) .1 | order", rows),
        command=f"{command}; {landscape.meta['command']}",
        picture=Curves("workflows trained", "regret", "curve", from_zero=True, steps=True),
    )
