"""Measured throughput: rates, phases, scaling, memory."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path

from wfbench.bench.model import Session
from wfbench.bench.saved import Plan, is_finished, load_machine, load_plan, load_session
from wfbench.bench.summary import CaseSummary, equal_work, summarise
from wfbench.report.document import (
    Check,
    Fact,
    Outcome,
    Section,
)
from wfbench.report.written import short

from .bench_exhibits import bench_exhibits
from .common import machine_facts


def bench_section(path: Path) -> Section:
    """The section of one bench run."""
    plan, session = load_plan(path), load_session(path)
    summaries = summarise(session)
    command = shlex.join(["wfbench", *plan.command]) if plan.command else "wfbench bench"
    checks = (*map(_case_check, summaries), *_work_checks(session))
    exhibits = bench_exhibits(session, summaries, command) if _measured(summaries) else ()
    return Section(
        title=f"Throughput {plan.run}",
        kind="bench",
        headline=_headline(session, summaries, checks),
        checks=checks,
        figures=tuple(_figures(session, summaries)),
        facts=(*_facts(plan), *machine_facts(load_machine(path))),
        exhibits=tuple(exhibits),
        notes=tuple(_notes(summaries)),
    )


def _measured(summaries: Sequence[CaseSummary]) -> list[CaseSummary]:
    return [summary for summary in summaries if summary.figures is not None]


def case_name(summary: CaseSummary) -> str:
    """A case as people say it."""
    return f"{summary.label}, {summary.n_envs} envs"


def _headline(session: Session, summaries: Sequence[CaseSummary], checks: Sequence[Check]) -> Check:
    fastest = max(_measured(summaries), key=_rate, default=None)
    said = "nothing could be measured"
    if fastest is not None:
        said = f"fastest: {case_name(fastest)}, {_rate(fastest):,.0f} transitions/s"
        if fastest.ratio is not None:
            same = [s.label for s in summaries if s.n_envs == fastest.n_envs]
            said += f", {fastest.ratio.value:.3g} times {same[0]}"
    bad = sum(check.outcome == "bad" for check in checks)
    outcome: Outcome = "good"
    if not is_finished(session):
        planned = len(session.cases) * session.settings.rounds
        outcome, said = "open", f"{len(session.samples)} of {planned} samples were taken: {said}"
    if session.settings.smoke:
        outcome, said = "open", f"smoke, too short to mean anything: {said}"
    if bad:
        outcome, said = "bad", f"{bad} of {len(checks)} checks failed; {said}"
    return Check("result", outcome, said)


def _rate(summary: CaseSummary) -> float:
    return summary.figures.rate.value if summary.figures is not None else float("nan")


def _case_check(summary: CaseSummary) -> Check:
    name = case_name(summary)
    if summary.failures:
        return Check(name, "bad", "; ".join(summary.failures))
    if summary.figures is None:
        return Check(name, "open", "; ".join(summary.excluded) or "there is no sample")
    said = f"{_rate(summary):,.0f} transitions/s from {summary.samples} samples"
    if summary.excluded:
        return Check(name, "open", f"{said}; left out of the mean: {'; '.join(summary.excluded)}")
    return Check(name, "good", said)


def _work_checks(session: Session) -> Iterable[Check]:
    for work in equal_work(session):
        name = f"equal work, {work.n_envs} envs"
        if work.equal:
            names = ", ".join(work.labels)
            yield Check(name, "good", f"{names} collected the same ({work.transition_hash[:8]})")
        else:
            odd = ", ".join(work.odd)
            yield Check(name, "bad", f"{odd} collected other transitions than {work.labels[0]}")


def _figures(session: Session, summaries: Sequence[CaseSummary]) -> list[Fact]:
    measured = _measured(summaries)
    figures = [Fact("cases", f"{len(session.cases)}"), Fact("samples", f"{len(session.samples)}")]
    if measured:
        fastest, slowest = max(measured, key=_rate), min(measured, key=_rate)
        figures = [
            Fact("fastest", case_name(fastest)),
            Fact("transitions per second", f"{_rate(fastest):,.0f}"),
            Fact("times the slowest", f"{_rate(fastest) / _rate(slowest):,.3g}"),
            *figures,
        ]
    return figures


def _facts(plan: Plan) -> list[Fact]:
    settings, first = plan.settings, plan.cases[0]
    options = ", ".join(f"{key} {value}" for key, value in first.env.options.items())
    return [
        Fact("run", plan.run),
        Fact("started", plan.created),
        Fact("environment", f"{first.env.name}: {options}" if options else first.env.name),
        Fact("policy", first.policy),
        Fact("rounds", f"{settings.rounds}, each case once per round, in changing order"),
        Fact("a sample", f"a fresh process, at least {short(settings.seconds)} s"),
        Fact("steps per collect", str(settings.steps)),
        Fact("seed", str(settings.seed)),
        *_sources(plan),
    ]


def _sources(plan: Plan) -> list[Fact]:
    """Where the collectors come from, if any is not told yet by the version of wfbench."""
    by_source: dict[str, list[str]] = {}
    for case in plan.cases:
        if case.source:
            by_source.setdefault(case.source, []).append(case.label)
    if len(by_source) < 2:
        return []
    return [
        Fact("from " + source, ", ".join(dict.fromkeys(labels)))
        for source, labels in by_source.items()
    ]


def _notes(summaries: Sequence[CaseSummary]) -> list[str]:
    notes = list(dict.fromkeys(note for summary in summaries for note in summary.notes))
    for summary in summaries:
        figures = summary.figures
        if figures is not None and figures.lag_max:
            notes.append(
                f"{case_name(summary)}: actions came from a policy {figures.lag_mean:.2f} updates "
                f"old on average, {figures.lag_max} at most"
            )
        if summary.outliers:
            rounds = ", ".join(str(number + 1) for number in summary.outliers)
            notes.append(
                f"{case_name(summary)}: round {rounds} is far from the others, and part of the mean"
            )
    busy = [
        (s.figures.foreign_cores or 0.0, case_name(s))
        for s in summaries
        if s.figures is not None and s.figures.disturbed
    ]
    if busy:
        cores, name = max(busy)
        notes.append(
            f"While {len(busy)} of {len(summaries)} cases were measured, other programs used up to "
            f"{cores:.1f} cores ({name}); stop them, or measure more rounds."
        )
    return notes
