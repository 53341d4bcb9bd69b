"""`wfbench.landscape` and `wfbench.bench_search`: compare searchers without training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import count
from pathlib import Path
from typing import Any, Literal

from wfbench.api.hosting import plugin_host
from wfbench.api.results import Options, Progress, Result, Rows, Values, Watcher, as_list, as_paths
from wfbench.contract import UsageError
from wfbench.orders import all_orders, format_order
from wfbench.report.console import console
from wfbench.report.document import Section
from wfbench.report.sections.landscape import landscape_section, searchers_data, searchers_section
from wfbench.search.landscape import records
from wfbench.search.landscape.from_runs import landscape_of
from wfbench.search.landscape.records import Value
from wfbench.search.landscape.regret import SearchBench, run_bench
from wfbench.search.landscape.signal import Signal
from wfbench.search.landscape.world import SyntheticWorld, World, recorded_world
from wfbench.settings.selection import Selector, select
from wfbench.store.places import DEFAULT, find_run

Shape = Literal["mallows", "pairs"]


class LandscapeResult(Result, schema="landscape-made/1"):
    """A landscape: the recorded results of training every order, and its file."""

    path: Path
    landscape: records.Landscape

    @property
    def trainings(self) -> int:
        """How many trainings it holds."""
        return sum(map(len, self.landscape.replicates))

    @property
    def orders(self) -> int:
        """How many orders were trained."""
        return sum(bool(one) for one in self.landscape.replicates)

    def _values(self) -> Values:
        return {"file": str(self.path), "orders": self.orders, "trainings": self.trainings}

    def _rows(self) -> Rows:
        units, found = self.landscape.units, self.landscape.replicates
        return [
            {"order": format_order(order, units), **asdict(one)}
            for order, trained in zip(all_orders(len(units)), found, strict=True)
            for one in trained
        ]

    def show(self) -> None:
        """Print the file and how much it holds."""
        of = f"{self.orders} of {len(self.landscape.replicates)} orders"
        console().print(f"{self.path}: {of}, {self.trainings} trainings", soft_wrap=True)

    def _sections(self) -> Sequence[Section]:
        return [landscape_section(self.landscape, self.path.stem)]


class SearchBenchResult(Result, schema="bench-search/1"):
    """Regret of searchers on a landscape."""

    bench: SearchBench
    """Regret by budget of every searcher, and the first against each other one."""
    source: Mapping[str, Any]
    """What was searched."""
    signal: Signal | None = None
    """How much of a recorded landscape is signal."""

    def _values(self) -> Values:
        return searchers_data(self.bench, self.source, self.signal)

    def _rows(self) -> Rows:
        return [
            {"searcher": one.searcher, "trainings": index, **asdict(regret)}
            for one in self.bench.searchers
            for index, regret in enumerate(one.recommended, start=1)
        ]

    def _sections(self) -> Sequence[Section]:
        return [searchers_section(self.bench, self.source, self.signal)]


def landscape(
    runs: str | Path | Sequence[str | Path],
    *,
    to: str | Path,
    out: str | Path = DEFAULT,
    inherited: bool = False,
) -> LandscapeResult:
    """Collect how training every order turned out, from runs, into a landscape file.

    runs: runs that trained orders, by name in `out` or by path.
    to: the file to write.
    inherited: accept orders whose training started from another order's policy.

    Example: wfbench.landscape("mine", to="mine.json").save("mine.html")
    """
    found = landscape_of([find_run(Path(out), run) for run in as_paths(runs)], inherited=inherited)
    records.write_landscape(Path(to), found)
    return LandscapeResult(Path(to), found)


def load_landscape(path: str | Path) -> LandscapeResult:
    """Read a landscape file.

    Example: wfbench.load_landscape("results/landscapes/cage2.json").rows()
    """
    return LandscapeResult(Path(path), records.read_landscape(Path(path)))


def bench_search(
    *,
    searcher: Selector | Sequence[Selector] = ("gp-ucb", "random"),
    landscape: str | Path | None = None,
    value: Value | None = None,
    synthetic: Shape | None = None,
    icc: float | None = None,
    seeds: int = 200,
    asks: int = 20,
    seed: int = 0,
    batch: int = 1,
    options: Options | None = None,
    progress: Watcher | None = None,
) -> SearchBenchResult:
    """Compare searchers without training: a landscape answers what training would have.

    landscape: a recorded landscape to search; value: what an order is worth in it.
    synthetic: a landscape of known optimum instead, another one for every seed; icc: the share of
        a score's variance that is due to the order (default 0.3).
    seeds, asks: searches of each searcher, and trainings each may ask for.

    Example: wfbench.bench_search(synthetic="mallows", seeds=20).rows()
    """
    world, source, signal = _world(landscape, value, synthetic, icc)
    for flag, given, least in (("seeds", seeds, 2), ("asks", asks, 1), ("batch", batch, 1)):
        if given < least:
            raise UsageError(f"--{flag} is {given}; it must be at least {least}")
    chosen = select(plugin_host(), {"searcher": as_list(searcher)}, options)["searcher"]
    builds = {choice.label: choice.build for choice in chosen}
    done = count(1)

    def step() -> None:
        if progress is not None:
            progress(Progress(next(done), len(chosen) * seeds, "searching"))

    found = run_bench(builds, world, asks=asks, seeds=seeds, seed=seed, batch=batch, done=step)
    return SearchBenchResult(found, source, signal)


def _world(
    landscape: str | Path | None, value: Value | None, synthetic: Shape | None, icc: float | None
) -> tuple[World, dict[str, Any], Signal | None]:
    if (landscape is None) == (synthetic is None):
        raise UsageError("give either --landscape FILE or --synthetic mallows|pairs")
    if landscape is not None:
        if icc is not None:
            raise UsageError("--icc belongs to --synthetic; a recorded landscape has its own")
        recorded = records.read_landscape(Path(landscape))
        chosen: Value = value or "return"
        world, signal = recorded_world(records.valued_by(recorded, chosen))
        meta = {"landscape": str(landscape), "meta": dict(recorded.meta)}
        return world, {**meta, "value": chosen, "unit": records.UNITS[chosen]}, signal
    if value is not None:
        raise UsageError("--value belongs to --landscape; a synthetic landscape has one value")
    shape, share = synthetic or "mallows", 0.3 if icc is None else icc
    return SyntheticWorld(shape, share), {"synthetic": shape, "icc": share}, None
