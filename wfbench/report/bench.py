"""Throughput: a live line while it is measured, a table when it is."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from wfbench.bench.model import PHASES, Case, Sample, Session, Settings
from wfbench.bench.statistics import Estimate
from wfbench.bench.summary import CaseSummary, EqualWork, equal_work, summarise
from wfbench.report.console import console, plain_table

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

_SHORT_HASH = 8


class BenchProgress:
    """Says on standard error what was measured last: live on a terminal, else line by line."""

    def __init__(self, cases: Sequence[Case], settings: Settings) -> None:
        self._cases = cases
        self._rounds = settings.rounds
        self._live: tuple[Progress, TaskID] | None = None

    def __enter__(self) -> Self:
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import Progress

            bar = Progress(console=Console(stderr=True, emoji=False), transient=True)
            self._live = bar, bar.add_task("starting", total=len(self._cases) * self._rounds)
            bar.start()
        return self

    def took(self, sample: Sample) -> None:
        """To be called with every sample."""
        case = self._cases[sample.case]
        if sample.failure is None:
            result = f"{sample.rate:,.0f} transitions/s"
        else:
            result = f"failed: {sample.failure}"
        line = (
            f"round {sample.round + 1}/{self._rounds}  {case.label}  {case.n_envs} envs  {result}"
        )
        if self._live is None:
            sys.stderr.write(line + "\n")
            sys.stderr.flush()
        else:
            bar, task = self._live
            bar.update(task, advance=1, description=_escaped(line))

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._live is not None:
            self._live[0].stop()


def show_session(session: Session) -> None:
    """The table of a session and what a reader must know to believe it."""
    out = console()
    first = session.cases[0]
    policy = f"{first.policy} policy"
    out.print(f"{_env(first)}, {policy}, {_conditions(session.settings)}", style="bold")
    summaries = summarise(session)
    table = plain_table("collector")
    for name in (
        "envs",
        "transitions/s",
        "95 % interval",
        "ms/step",
        "CPU µs/transition",
        "/".join(PHASES) + " %",
        "memory MB",
        "start-up s",
        "x first",
    ):
        table.add_column(name, justify="right", no_wrap=name != "CPU µs/transition")
    for summary in summaries:
        table.add_row(*_row(summary), style=None if not summary.failures else "red")
    out.print(table)
    for line in (*_remarks(summaries), *map(_work_line, equal_work(session))):
        out.print(line, soft_wrap=True)


def show_saved(path: Path) -> None:
    """Where the samples are kept."""
    console().print(f"samples are in {path}", soft_wrap=True)


def _row(summary: CaseSummary) -> tuple[str, ...]:
    figures = summary.figures
    if figures is None:
        return (summary.label, str(summary.n_envs), "failed" if summary.failures else "marked")
    partly = "*" if summary.failures or summary.excluded else ""
    return (
        summary.label,
        f"{summary.n_envs:,}",
        f"{figures.rate.value:,.0f}{partly}",
        _interval(figures.rate, "{:,.0f}"),
        f"{figures.step_ms:.3g}",
        f"{figures.cpu_us:.3g}",
        "/".join(f"{100 * figures.phases[name]:.0f}" for name in PHASES),
        f"{figures.memory / 2**20:,.0f}",
        f"{figures.start_up:.2f}",
        _ratio(summary.ratio),
    )


def _interval(estimate: Estimate, form: str) -> str:
    if estimate.low is None or estimate.high is None:
        return "one sample"
    return f"{form.format(estimate.low)} - {form.format(estimate.high)}"


def _ratio(ratio: Estimate | None) -> str:
    if ratio is None:
        return "1"
    if ratio.low is None:
        return f"{ratio.value:.3g}"
    return f"{ratio.value:.3g} ({_interval(ratio, '{:.3g}')})"


def _remarks(summaries: Sequence[CaseSummary]) -> list[str]:
    lines = []
    for summary in summaries:
        name = f"{summary.label}, {summary.n_envs} envs"
        lines += [f"failed: {name}: {failure}" for failure in summary.failures]
        lines += [f"left out of the means: {name}: {mark}" for mark in summary.excluded]
        if summary.figures is not None and summary.figures.lag_max:
            figures = summary.figures
            lines.append(
                f"policy lag: {name}: {figures.lag_mean:.2f} updates on average, "
                f"{figures.lag_max} at most"
            )
        lines += [_far_line(name, summary)] if summary.outliers else []
    notes = dict.fromkeys(note for summary in summaries for note in summary.notes)
    lines += _disturbed_lines(summaries)
    return lines + [f"note: {note}" for note in notes]


def _far_line(name: str, summary: CaseSummary) -> str:
    rounds = ", ".join(str(number + 1) for number in summary.outliers)
    return f"far from the other samples: {name}: round {rounds}; it is part of the means"


def _disturbed_lines(summaries: Sequence[CaseSummary]) -> list[str]:
    cores = {
        f"{s.label}, {s.n_envs} envs": s.figures.foreign_cores or 0.0
        for s in summaries
        if s.figures is not None and s.figures.disturbed
    }
    if not cores:
        return []
    worst = max(cores, key=lambda name: cores[name])
    line = (
        f"busy machine: while {len(cores)} of {len(summaries)} cases were measured, other programs "
        f"used up to {cores[worst]:.1f} cores ({worst}); stop them, or measure more rounds"
    )
    return [line]


def _work_line(work: EqualWork) -> str:
    names = ", ".join(work.labels)
    if work.equal:
        proof = work.transition_hash[:_SHORT_HASH]
        return f"equal work at {work.n_envs} envs: {names} collected the same ({proof})"
    return (
        f"UNEQUAL WORK at {work.n_envs} envs: {', '.join(work.odd)} collected other transitions "
        f"than {work.labels[0]}"
    )


def _env(case: Case) -> str:
    return f"environment {case.env.name}"


def _conditions(settings: Settings) -> str:
    smoke = "; smoke: too short to mean anything" if settings.smoke else ""
    return (
        f"{settings.rounds} rounds of {settings.seconds:g} s, {settings.steps} steps per collect, "
        f"seed {settings.seed}{smoke}"
    )


def _escaped(line: str) -> str:
    from rich.markup import escape

    return escape(line)
