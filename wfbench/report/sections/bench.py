"""Measured throughput: what `wfbench bench` found, by rates, phases, scaling and memory."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from wfbench.benchmarks.measure.model import PHASES, Session
from wfbench.benchmarks.measure.saved import load_bench_config, load_machine, load_session
from wfbench.benchmarks.measure.summary import CaseSummary, EqualWork, equal_work, summarise
from wfbench.benchmarks.scaling.curves import collector_costs, growth_curves
from wfbench.report.document import Bars, Check, Exhibit, Fact, Outcome, Section, Shares
from wfbench.report.written import short

from .common import machine_facts, made_by, table
from .scaling import growth_lines, rate_curves, scaling_exhibits

_MB = 2**20


def saved_bench_section(path: Path) -> Section:
    """Return the section of a bench run's directory."""
    session, plan = load_session(path), load_bench_config(path)
    summaries, machine = summarise(session), load_machine(path)
    command = shlex.join(["wfbench", *(plan.command or ["bench"])])
    curves = growth_curves(session) if session.settings.scaling else []
    exhibits: Iterator[Exhibit] = iter(())
    if curves:
        exhibits = scaling_exhibits(curves, collector_costs(session, int(machine["usable_cores"])))
    elif measured(summaries):
        exhibits = bench_exhibits(session, summaries)
    checks = (*map(_case_check, summaries), *map(work_check, equal_work(session)))
    return Section(
        title=f"Throughput {plan.run}",
        kind="bench",
        headline=_headline(session, summaries, checks),
        checks=checks,
        figures=tuple(_figures(session, summaries)),
        facts=(
            *(Fact("run", plan.run), Fact("started", plan.created)),
            *_facts(session),
            *machine_facts(machine),
        ),
        exhibits=made_by(command, exhibits),
        notes=tuple(_notes(session, summaries)),
        conclusion=growth_lines(curves),
    )


def bench_data(session: Session) -> dict[str, Any]:
    """Return a session with its summaries as JSON values."""
    return {
        **session.as_data(),
        "summaries": [asdict(summary) for summary in summarise(session)],
        "equal_work": [asdict(work) for work in equal_work(session)],
    }


def measured(summaries: Sequence[CaseSummary]) -> list[CaseSummary]:
    """Return the cases that have figures."""
    return [summary for summary in summaries if summary.figures is not None]


def _name(summary: CaseSummary) -> str:
    return f"{summary.label}, {summary.n_envs} envs"


def _rate(summary: CaseSummary) -> float:
    return summary.figures.rate.value if summary.figures is not None else float("nan")


def _headline(session: Session, summaries: Sequence[CaseSummary], checks: Sequence[Check]) -> Check:
    fastest = max(measured(summaries), key=_rate, default=None)
    says = "nothing could be measured"
    if fastest is not None:
        says = f"fastest: {_name(fastest)}, {_rate(fastest):,.0f} transitions/s"
        if fastest.ratio is not None:
            same = [s.label for s in summaries if s.n_envs == fastest.n_envs]
            says += f", {fastest.ratio.value:.3g} times {same[0]}"
    bad = sum(check.outcome == "bad" for check in checks)
    outcome: Outcome = "good"
    if not session.finished:
        planned = len(session.cases) * session.settings.rounds
        outcome, says = "open", f"{len(session.samples)} of {planned} samples were taken: {says}"
    if session.settings.smoke:
        outcome, says = "open", f"smoke, too short to mean anything: {says}"
    if bad:
        outcome, says = "bad", f"{bad} of {len(checks)} checks failed; {says}"
    return Check("result", outcome, says)


def _case_check(summary: CaseSummary) -> Check:
    name = _name(summary)
    if summary.failures:
        return Check(name, "bad", "; ".join(summary.failures), error=True)
    if summary.figures is None:
        why = summary.skipped and f"skipped: {summary.skipped}"
        return Check(name, "open", why or "; ".join(summary.excluded) or "there is no sample")
    says = f"{_rate(summary):,.0f} transitions/s from {summary.samples} samples"
    if summary.excluded:
        return Check(name, "open", f"{says}; left out of the mean: {'; '.join(summary.excluded)}")
    return Check(name, "good", says)


def work_check(work: EqualWork) -> Check:
    """Return whether all collectors of a size collected the same."""
    name = f"equal work, {work.n_envs} envs"
    if work.equal:
        names = ", ".join(work.labels)
        says = f"{names} collected the same ({work.transition_hash[:8]})"
        if work.unended:
            says += f"; no episode of {work.unended} envs ended within {work.steps} steps, so ends "
            says += "were not compared there"
        elif work.steps:
            says += ", beyond an episode end of every env"
        return Check(name, "good", says)
    says = f"{', '.join(work.odd)} collected other transitions than {work.labels[0]}"
    return Check(name, "bad", says, error=True)


def _figures(session: Session, summaries: Sequence[CaseSummary]) -> Iterator[Fact]:
    found = measured(summaries)
    if found:
        fastest, slowest = max(found, key=_rate), min(found, key=_rate)
        yield Fact("fastest", _name(fastest))
        yield Fact("transitions per second", f"{_rate(fastest):,.0f}")
        yield Fact("times the slowest", f"{_rate(fastest) / _rate(slowest):,.3g}")
    yield Fact("cases", str(len(session.cases)))
    yield Fact("samples", str(len(session.samples)))


def _facts(session: Session) -> Iterator[Fact]:
    settings, first = session.settings, session.cases[0]
    options = ", ".join(f"{key} {value}" for key, value in first.env.options.items())
    yield Fact("environment", f"{first.env.name}: {options}" if options else first.env.name)
    yield Fact("policy", first.policy)
    yield Fact("rounds", f"{settings.rounds}, each case once per round, in shuffled order")
    in_turns = any(one.measurement and one.measurement.turns for one in session.samples)
    turns = ", in turns with the first case" if in_turns else ""
    yield Fact("a sample", f"a fresh process, at least {short(settings.seconds)} s{turns}")
    yield Fact("steps per collect", str(settings.steps))
    yield Fact("seed", str(settings.seed))
    by_source: dict[str, list[str]] = {}
    for case in session.cases:
        if case.source:
            by_source.setdefault(case.source, []).append(case.label)
    # Where all come from wfbench itself, its version says it.
    for source, labels in by_source.items() if len(by_source) > 1 else ():
        yield Fact(f"from {source}", ", ".join(dict.fromkeys(labels)))


def _notes(session: Session, summaries: Sequence[CaseSummary]) -> Iterator[str]:
    same = map(work_check, equal_work(session))
    yield from (f"{check.name}: {check.says}" for check in same if check.outcome == "good")
    yield from dict.fromkeys(note for summary in summaries for note in summary.notes)
    busy = []
    for summary in summaries:
        figures = summary.figures
        if figures is not None and figures.lag_max:
            yield (
                f"{_name(summary)}: actions came from a policy {figures.lag_mean:.2f} updates "
                f"old on average, {figures.lag_max} at most"
            )
        if summary.outliers:
            rounds = ", ".join(str(number + 1) for number in summary.outliers)
            yield f"{_name(summary)}: round {rounds} is far from the others, and part of the mean"
        if figures is not None and figures.disturbed:
            busy.append((figures.foreign_cores or 0.0, _name(summary)))
    if busy:
        cores, name = max(busy)
        yield (
            f"busy machine: while {len(busy)} of {len(summaries)} cases were measured, other "
            f"programs used up to {cores:.1f} cores ({name}); stop them, or measure more rounds"
        )


def bench_exhibits(session: Session, summaries: Sequence[CaseSummary]) -> Iterator[Exhibit]:
    """Yield what the cases of a session can show."""
    yield _throughput(summaries)
    yield _phases(summaries)
    known = [(s, s.figures.rate) for s in summaries if s.figures is not None]
    if len({case.n_envs for case in session.cases}) > 1:
        yield rate_curves("environments", [(s.label, s.n_envs, rate) for s, rate in known])
    workers = {s.case: session.cases[s.case].options.get("workers") for s, _ in known}
    rows = [
        (f"{s.label.partition(':')[0]}, {s.n_envs} envs", count, rate)
        for s, rate in known
        if isinstance(count := workers[s.case], int) and count > 0
    ]
    if len({row[:2] for row in rows}) > len({row[0] for row in rows}):
        yield rate_curves("workers", rows)
    yield _memory(summaries)


def _group(summary: CaseSummary) -> str:
    return f"{summary.n_envs:,} environments"


def _throughput(summaries: Sequence[CaseSummary]) -> Exhibit:
    rows = []
    for summary in summaries:
        found: tuple[object, ...] = (None,) * 4
        if summary.figures is not None:
            figures = summary.figures
            found = (figures.rate, figures.step_ms, figures.cpu_us, figures.start_up)
        rows.append((summary.label, _group(summary), *found, summary.ratio, summary.samples))
    heads = (
        "collector | group | rate (transitions/s) .0 ± | step (ms) | CPU (µs/transition) | "
        "start-up (s) .2 | vs. first case ± | samples"
    )
    return Exhibit(
        title="How fast is each collector?",
        reading="Transitions per second, geometric mean of the samples, with 95 % intervals; "
        "start-up and warm-up are not part of it. “vs. first case” is how many times the rate of "
        "the first collector with as many environments, paired round by round.",
        table=table(heads, rows),
        picture=Bars("collector", "rate", "low", "high", group="group"),
    )


def _phases(summaries: Sequence[CaseSummary]) -> Exhibit:
    rows = [
        (s.label, _group(s), *(100 * s.figures.phases[name] for name in PHASES))
        for s in summaries
        if s.figures is not None
    ]
    return Exhibit(
        title="What is the time spent on?",
        reading="Share of the wall time by phase; the phases are all of it. Transport is moving "
        "data between processes, idle is waiting.",
        table=table(("collector", "group", *(f"{name} (%) .1" for name in PHASES)), rows),
        picture=Shares("collector", tuple(PHASES), group="group"),
    )


def _memory(summaries: Sequence[CaseSummary]) -> Exhibit:
    rows = [
        (s.label, _group(s), s.figures.memory / _MB) for s in summaries if s.figures is not None
    ]
    return Exhibit(
        title="How much memory does it need?",
        reading="Memory of the whole process tree while it collects, shared pages counted once "
        "(PSS).",
        table=table("collector | group | memory (MB) .0", rows),
        picture=Bars("collector", "memory", group="group"),
    )
