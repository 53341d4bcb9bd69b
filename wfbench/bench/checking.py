"""A check: measure a baseline's cases again, and what looks slower once more before saying so."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from .baseline import Baseline, Cell, busiest, cells_of
from .gate import Judgement, Threshold, judge_cells
from .model import Case, Session, Settings
from .statistics import Estimate, mean_estimate
from .summary import EqualWork, equal_work
from .verdicts import Verdict

OK, REGRESSION, TRIAL_FAILED, INCONCLUSIVE = 0, 1, 3, 4
CONFIRMING = 1_000_003
"""Added to the seed where a cell is measured again, so that its rounds are fresh ones."""

Measure = Callable[[Sequence[Case], Settings, str], Session]
"""Measures cases; the word says what for: `first` or `again`."""


@dataclass(frozen=True)
class CellVerdict:
    """What a check says about one cell."""

    label: str
    n_envs: int
    verdict: Verdict
    why: str
    """One sentence."""
    then: Estimate
    """Times the reference when the baseline was made."""
    now: Estimate | None
    """Times the reference by the latest measurement, as are the rate and the CPU time of now."""
    first: Judgement | None
    again: Judgement | None
    """The second measurement, of a cell that looked slower at first."""
    rate_then: float
    rate_now: float | None
    cpu_change: float | None
    """CPU time per transition, times what it was: compare it with the change of the rate."""
    failures: tuple[str, ...] = ()


@dataclass(frozen=True)
class Check:
    """Everything a check found."""

    baseline: str
    reference: str
    threshold: Threshold
    cells: tuple[CellVerdict, ...]
    unequal: tuple[EqualWork, ...]
    """Synchronous collectors that did not collect the same."""
    sessions: tuple[Session, ...]

    @property
    def failed(self) -> bool:
        """Whether something could not be measured."""
        return bool(self.unequal) or any(cell.failures for cell in self.cells)

    def with_verdict(self, verdict: Verdict) -> list[CellVerdict]:
        """The cells that were judged so."""
        return [cell for cell in self.cells if cell.verdict is verdict]

    def exit_code(self, *, inconclusive_fails: bool) -> int:
        """What the command ends with: what failed counts before what is slower."""
        if self.failed:
            return TRIAL_FAILED
        if self.with_verdict(Verdict.REGRESSED):
            return REGRESSION
        if inconclusive_fails and self.with_verdict(Verdict.INCONCLUSIVE):
            return INCONCLUSIVE
        return OK


def run_check(
    baseline: Baseline,
    cases: Sequence[Case],
    settings: Settings,
    threshold: Threshold,
    measure: Measure,
) -> Check:
    """Measure, judge, and confirm what looks slower; `cases` are those of the baseline's cells.

    Every cell that looks slower is measured again, however many were looked at; only the second
    measurement can fail, and it is adjusted for the number of cells that got so far.
    """
    first = measure(cases, settings, "first")
    now = cells_of(first, baseline.reference)
    judged = judge_cells(baseline, now, threshold)
    flagged = [i for i, one in judged.items() if one.suspicious]
    sessions = [first]
    confirmed: dict[int, Judgement] = {}
    if flagged:
        again, latest, confirmed = _confirm(baseline, cases, settings, threshold, measure, flagged)
        sessions.append(again)
        now = tuple(latest.get(i, cell) for i, cell in enumerate(now))
    return Check(
        baseline=baseline.name,
        reference=baseline.reference,
        threshold=threshold,
        cells=tuple(
            _unless_busy(
                _verdict(baseline, i, now[i], judged.get(i), confirmed.get(i), sessions),
                threshold,
                sessions[-1],
            )
            for i in range(len(cases))
        ),
        unequal=tuple(w for s in sessions for w in equal_work(s) if not w.equal),
        sessions=tuple(sessions),
    )


def _confirm(
    baseline: Baseline,
    cases: Sequence[Case],
    settings: Settings,
    threshold: Threshold,
    measure: Measure,
    flagged: Sequence[int],
) -> tuple[Session, dict[int, Cell], dict[int, Judgement]]:
    """Measure flagged cells and what they are compared with again; what it came to for those."""
    needed = [i for i in range(len(cases)) if _is_needed(baseline, i, flagged)]
    again = measure(
        [cases[i] for i in needed], replace(settings, seed=settings.seed + CONFIRMING), "again"
    )
    part = replace(baseline, cells=tuple(baseline.cells[i] for i in needed))
    only = [needed.index(i) for i in flagged]
    cells = cells_of(again, baseline.reference)
    judged = judge_cells(part, cells, threshold, only)
    latest = {needed[i]: cells[i] for i in judged}
    return again, latest, {needed[i]: one for i, one in judged.items()}


def _is_needed(baseline: Baseline, index: int, flagged: Sequence[int]) -> bool:
    if index in flagged:
        return True
    same = [i for i in flagged if baseline.cells[i].case.n_envs == _n_envs(baseline, index)]
    if baseline.is_reference(baseline.cells[index]):
        return bool(same)
    return any(baseline.is_reference(baseline.cells[i]) for i in same)


def _n_envs(baseline: Baseline, index: int) -> int:
    return baseline.cells[index].case.n_envs


def _verdict(
    baseline: Baseline,
    index: int,
    now: Cell,
    first: Judgement | None,
    again: Judgement | None,
    sessions: Sequence[Session],
) -> CellVerdict:
    then = baseline.cells[index]
    failures = _failures(then.case, sessions)
    verdict, why = _conclusion(baseline, then, first, again)
    if failures:
        verdict, why = Verdict.INCONCLUSIVE, "a sample failed"
    return CellVerdict(
        label=then.case.label,
        n_envs=then.case.n_envs,
        verdict=verdict,
        why=why,
        then=ratio_of(then),
        now=ratio_of(now) if now.log_ratios else None,
        first=first,
        again=again,
        rate_then=_mean(then.rates),
        rate_now=_mean(now.rates) if now.rates else None,
        cpu_change=now.cpu_us / then.cpu_us if now.rates else None,
        failures=failures,
    )


def _unless_busy(cell: CellVerdict, threshold: Threshold, last: Session) -> CellVerdict:
    """A slow-down counts only if it was confirmed while hardly anybody else was computing."""
    others = busiest(last) or 0.0
    if cell.verdict is not Verdict.REGRESSED or threshold.quiet is None:
        return cell
    if others <= threshold.quiet:
        return cell
    why = f"{cell.why}, but other programs used {others:.1f} cores meanwhile"
    return replace(cell, verdict=Verdict.INCONCLUSIVE, why=why)


def _conclusion(
    baseline: Baseline, cell: Cell, first: Judgement | None, again: Judgement | None
) -> tuple[Verdict, str]:
    if first is None or first.change is None:
        if baseline.is_reference(cell):
            return (
                Verdict.NOT_COMPARABLE,
                "the reference; with fewer than three others it is not judged itself",
            )
        return Verdict.INCONCLUSIVE, "there is no round in which it and its reference are sound"
    moved = f"{first.change.value:.3g} times its ratio to {baseline.reference}"
    if baseline.is_reference(cell):
        moved = f"{first.change.value:.3g} times what it was, going by the median of the others"
    if not first.suspicious:
        return first.verdict, moved
    if again is None or again.change is None:
        return Verdict.INCONCLUSIVE, f"{moved}, and it could not be measured again"
    second = f"{again.change.value:.3g} times when measured again"
    if again.verdict is Verdict.REGRESSED:
        return Verdict.REGRESSED, f"{moved}, {second}"
    return Verdict.INCONCLUSIVE, f"{moved} at first, but {second}: not confirmed"


def _failures(case: Case, sessions: Sequence[Session]) -> tuple[str, ...]:
    return tuple(
        dict.fromkeys(
            sample.failure
            for session in sessions
            for sample in session.samples
            if sample.failure is not None and _same(session.cases[sample.case], case)
        )
    )


def _same(one: Case, other: Case) -> bool:
    return (one.label, one.n_envs) == (other.label, other.n_envs)


def ratio_of(cell: Cell) -> Estimate:
    """How many times the reference a cell is."""
    logs = mean_estimate(cell.log_ratios)
    if logs.low is None or logs.high is None:
        return Estimate(math.exp(logs.value))
    return Estimate(math.exp(logs.value), math.exp(logs.low), math.exp(logs.high))


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
