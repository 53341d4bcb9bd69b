"""What there is to see of measured throughput: rates, phases, scaling, memory."""

from __future__ import annotations

from collections.abc import Sequence

from wfbench.bench.model import PHASES, Session
from wfbench.bench.summary import CaseSummary
from wfbench.report.document import Bars, Column, Curves, Exhibit, Shares

from .common import table

_MB = 2**20
_DECADES = 30.0
"""Where rates differ by more than this, equal distances show equal ratios."""


def bench_exhibits(
    session: Session, summaries: Sequence[CaseSummary], command: str
) -> list[Exhibit]:
    """Everything that the cases of a session can show."""
    exhibits = [_throughput(summaries, command), _phases(summaries, command)]
    envs = {case.n_envs for case in session.cases}
    if len(envs) > 1:
        exhibits.append(_scaling_envs(summaries, command))
    if _several_workers(session):
        exhibits.append(_scaling_workers(session, summaries, command))
    return [*exhibits, _memory(summaries, command)]


def _group(summary: CaseSummary) -> str:
    return f"{summary.n_envs:,} environments"


def _throughput(summaries: Sequence[CaseSummary], command: str) -> Exhibit:
    rows = []
    for summary in summaries:
        figures, ratio = summary.figures, summary.ratio
        rows.append(
            (
                summary.label,
                _group(summary),
                *((None,) * 3 if figures is None else _estimate(figures.rate)),
                None if figures is None else figures.step_ms,
                None if figures is None else figures.cpu_us,
                None if figures is None else figures.start_up,
                *((None,) * 3 if ratio is None else _estimate(ratio)),
                summary.samples,
            )
        )
    columns = [
        Column("collector"),
        Column("group"),
        Column("rate", "transitions/s", 0),
        Column("low", "transitions/s", 0),
        Column("high", "transitions/s", 0),
        Column("step", "ms"),
        Column("CPU", "µs/transition"),
        Column("start-up", "s", 2),
        Column("times first"),
        Column("times first, low"),
        Column("times first, high"),
        Column("samples"),
    ]
    return Exhibit(
        title="How fast is each collector?",
        reading=(
            "Transitions per second, geometric mean of the samples; whiskers are 95 % intervals. "
            "Start-up and warm-up are not part of it. “Times first” in the table is paired round "
            "by round with the first collector on as many environments."
        ),
        table=table(columns, rows),
        command=command,
        picture=Bars("collector", "rate", "low", "high", group="group"),
    )


def _estimate(estimate: object) -> tuple[float | None, ...]:
    return tuple(getattr(estimate, name) for name in ("value", "low", "high"))


def _phases(summaries: Sequence[CaseSummary], command: str) -> Exhibit:
    rows = [
        (s.label, _group(s), *(100 * s.figures.phases[name] for name in PHASES))
        for s in summaries
        if s.figures is not None
    ]
    columns = [Column("collector"), Column("group"), *(Column(name, "%", 1) for name in PHASES)]
    return Exhibit(
        title="What is the time spent on?",
        reading=(
            "Share of the wall time by phase; the phases are all of it. Transport is moving data "
            "between processes, idle is waiting."
        ),
        table=table(columns, rows),
        command=command,
        picture=Shares("collector", tuple(PHASES), group="group"),
    )


def _scaling_envs(summaries: Sequence[CaseSummary], command: str) -> Exhibit:
    rows = [
        (s.label, s.n_envs, *_estimate(s.figures.rate)) for s in summaries if s.figures is not None
    ]
    return _scaling("How does it scale with environments?", "environments", rows, command)


def _several_workers(session: Session) -> bool:
    found: dict[tuple[str, int], set[object]] = {}
    for case in session.cases:
        if isinstance(case.options.get("workers"), int):
            key = case.label.partition(":")[0], case.n_envs
            found.setdefault(key, set()).add(case.options["workers"])
    return any(len(workers) > 1 for workers in found.values())


def _scaling_workers(session: Session, summaries: Sequence[CaseSummary], command: str) -> Exhibit:
    rows = []
    for summary in summaries:
        workers = session.cases[summary.case].options.get("workers")
        if isinstance(workers, int) and workers > 0 and summary.figures is not None:
            name = f"{summary.label.partition(':')[0]}, {summary.n_envs} envs"
            rows.append((name, workers, *_estimate(summary.figures.rate)))
    return _scaling("How does it scale with workers?", "workers", rows, command)


def _scaling(
    title: str, x: str, rows: Sequence[Sequence[float | str | None]], command: str
) -> Exhibit:
    columns = [
        Column("collector"),
        Column(x),
        Column("rate", "transitions/s", 0),
        Column("low", "transitions/s", 0),
        Column("high", "transitions/s", 0),
    ]
    rates = [row[2] for row in rows if isinstance(row[2], float)]
    log = bool(rates) and max(rates) > _DECADES * min(rates)
    scale = "; both axes are logarithmic" if log else ""
    return Exhibit(
        title=title,
        reading=(
            f"Transitions per second by the number of {x}, with 95 % intervals{scale}. A "
            "flat line means that more of them buy nothing."
        ),
        table=table(columns, rows),
        command=command,
        picture=Curves(x, "rate", "collector", "low", "high", from_zero=not log, log=log),
    )


def _memory(summaries: Sequence[CaseSummary], command: str) -> Exhibit:
    rows = [
        (s.label, _group(s), s.figures.memory / _MB) for s in summaries if s.figures is not None
    ]
    return Exhibit(
        title="How much memory does it need?",
        reading=(
            "Memory of the whole process tree while it collects, shared pages counted once (PSS)."
        ),
        table=table([Column("collector"), Column("group"), Column("memory", "MB", 0)], rows),
        command=command,
        picture=Bars("collector", "memory", group="group"),
    )
