"""Regret of searchers: a live bar while they search, a table when they have."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from wfbench.landscape.benchmark import SearchBench
from wfbench.landscape.regret import Interval
from wfbench.landscape.signal import Signal
from wfbench.report.console import console, plain_table

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID


class SeedProgress:
    """A bar on standard error, if that is a terminal."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._bar: tuple[Progress, TaskID] | None = None

    def __enter__(self) -> Self:
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import Progress

            bar = Progress(console=Console(stderr=True, emoji=False), transient=True)
            self._bar = bar, bar.add_task("searching", total=self._total)
            bar.start()
        return self

    def step(self) -> None:
        """To be called after every search."""
        if self._bar is not None:
            bar, task = self._bar
            bar.advance(task)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar[0].stop()


def show_bench(bench: SearchBench, source: Mapping[str, Any], signal: Signal | None) -> None:
    """Signal, regret at a few budgets, and the first searcher against the others."""
    out = console()
    for line in _about(source, signal):
        out.print(line, soft_wrap=True)
    at = _budgets(bench.asks)
    table = plain_table(
        "searcher",
        *(f"regret after {budget}" for budget in at),
        "mean",
        "best asked",
        "repeats",
        "ms per ask",
    )
    for result in bench.searchers:
        table.add_row(
            result.searcher,
            *(_interval(result.recommended[budget - 1]) for budget in at),
            f"{result.mean_recommended[-1]:.2f}",
            _interval(result.best_asked[-1]),
            f"{result.repeats:.0%}",
            f"{result.ask_ms:.1f}",
        )
    out.print(table)
    out.print(
        f"medians over {bench.seeds} searches{_together(bench.batch)} with 95 % intervals, in "
        f"{source.get('unit', 'points of score')}; "
        f"mean and best asked after {bench.asks}"
    )
    for rival in bench.rivals:
        one = rival.comparison
        out.print(
            f"{rival.searcher} less {rival.against} after {bench.asks}: "
            f"{_interval(one.difference)}; better in {one.better:.0%}, worse in {one.worse:.0%}",
            soft_wrap=True,
        )


def _about(source: Mapping[str, Any], signal: Signal | None) -> Iterator[str]:
    if signal is None:
        yield (
            f"synthetic landscape {source['synthetic']}: order sd 5.0, "
            f"intra-class correlation {source['icc']:.2f}"
        )
        return
    meta = ", ".join(f"{key} {value}" for key, value in source["meta"].items())
    yield f"{source['landscape']}: {meta}"
    yield (
        f"{signal.runs} runs of {signal.orders} orders: order sd {signal.order_sd:.2f}, "
        f"seed sd {signal.seed_sd:.2f}, intra-class correlation {signal.icc:.2f} "
        f"[{signal.icc_low:.2f}, {signal.icc_high:.2f}]; "
        f"reliability of an order's mean {signal.reliability:.2f}"
    )


def _together(batch: int) -> str:
    return f" ({batch} orders at a time)" if batch > 1 else ""


def _budgets(asks: int) -> list[int]:
    return sorted({max(1, asks // 4), max(1, asks // 2), asks})


def _interval(interval: Interval) -> str:
    return f"{interval.median:.2f} [{interval.low:.2f}, {interval.high:.2f}]"
