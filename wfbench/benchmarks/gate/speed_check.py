"""Measure the cases of a baseline of speed again, and confirm what looks slower."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any

from wfbench.benchmarks.gate.baseline import Baseline, BaselineCell, cells_of
from wfbench.benchmarks.gate.judging import Judgement, Threshold, judge_cells
from wfbench.benchmarks.measure.model import Case, Session, Settings
from wfbench.benchmarks.measure.summary import EqualWork, equal_work, max_foreign_cores
from wfbench.benchmarks.statistics.intervals import Estimate
from wfbench.benchmarks.statistics.verdicts import Verdict
from wfbench.contract import ExitCode

CONFIRMING = 1_000_003
"""Added to the seed when a cell is measured a second time, so that its rounds are new."""

Measure = Callable[[Sequence[Case], Settings], Session]


@dataclass(frozen=True)
class CellVerdict:
    """The verdict on one cell, and the figures it rests on."""

    label: str
    n_envs: int
    verdict: Verdict
    why: str
    """One sentence."""
    then: Estimate
    """Ratio to the reference in the baseline."""
    now: Estimate | None
    """Ratio to the reference in the latest measurement, which also gives rate and CPU time."""
    first: Judgement | None
    again: Judgement | None
    """The second measurement, of a cell that looked slower at first."""
    rate_then: float
    rate_now: float | None
    cpu_change: float | None
    """CPU time per transition now over then; compare it with the change of the rate."""
    failures: tuple[str, ...] = ()


@dataclass(frozen=True)
class SpeedCheck:
    """The outcome of a check of speed."""

    baseline: str
    reference: str
    threshold: Threshold
    cells: tuple[CellVerdict, ...]
    unequal: tuple[EqualWork, ...]
    """Synchronous collectors that did not collect the same."""
    sessions: tuple[Session, ...]
    notes: tuple[str, ...] = ()
    """What a reader must know to believe it."""
    baseline_file: str | None = None
    machine: Mapping[str, Any] | None = None

    @property
    def failed(self) -> bool:
        """Whether something could not be measured."""
        return bool(self.unequal) or any(cell.failures for cell in self.cells)

    def with_verdict(self, verdict: Verdict) -> list[CellVerdict]:
        """Return the cells with this verdict."""
        return [cell for cell in self.cells if cell.verdict is verdict]

    def exit_code(self, *, inconclusive_fails: bool) -> ExitCode:
        """Return the exit code of the command; a failure counts before a regression."""
        if self.failed:
            return ExitCode.TRIAL_FAILED
        if self.with_verdict(Verdict.REGRESSED):
            return ExitCode.REGRESSION
        if inconclusive_fails and self.with_verdict(Verdict.INCONCLUSIVE):
            return ExitCode.INCONCLUSIVE
        return ExitCode.OK


def run_check(
    baseline: Baseline,
    cases: Sequence[Case],
    settings: Settings,
    threshold: Threshold,
    measure: Measure,
) -> SpeedCheck:
    """Measure, judge, and confirm what looks slower; `cases` belong to the baseline's cells.

    Every cell that looks slower without an adjustment is measured again. Only the second
    measurement can fail; it is adjusted for the number of cells that were measured again.
    """
    first = measure(cases, settings)
    now = list(cells_of(first, baseline.reference))
    judged = judge_cells(baseline, now, threshold)
    flagged = [i for i, one in judged.items() if one.suspicious]
    sessions = [first]
    confirmed: dict[int, Judgement] = {}
    if flagged:
        needed = [i for i in range(len(cases)) if _is_needed(baseline, i, flagged)]
        fresh = replace(settings, seed=settings.seed + CONFIRMING)
        sessions.append(measure([cases[i] for i in needed], fresh))
        part = replace(baseline, cells=tuple(baseline.cells[i] for i in needed))
        latest = cells_of(sessions[-1], baseline.reference)
        only = [needed.index(i) for i in flagged]
        for i, one in judge_cells(part, latest, threshold, only).items():
            confirmed[needed[i]], now[needed[i]] = one, latest[i]
    return SpeedCheck(
        baseline=baseline.name,
        reference=baseline.reference,
        threshold=threshold,
        cells=tuple(
            _verdict(baseline, i, now[i], judged.get(i), confirmed.get(i), sessions, threshold)
            for i in range(len(cases))
        ),
        unequal=tuple(w for s in sessions for w in equal_work(s) if not w.equal),
        sessions=tuple(sessions),
    )


def _is_needed(baseline: Baseline, index: int, flagged: Sequence[int]) -> bool:
    """Return whether a cell is flagged, or a flagged one is compared with it."""
    cell, others = baseline.cells[index], [baseline.cells[i] for i in flagged]
    same = [other for other in others if other.case.n_envs == cell.case.n_envs]
    if index in flagged or baseline.is_reference(cell):
        return bool(same)
    return any(map(baseline.is_reference, same))


def _verdict(
    baseline: Baseline,
    index: int,
    now: BaselineCell,
    first: Judgement | None,
    again: Judgement | None,
    sessions: Sequence[Session],
    threshold: Threshold,
) -> CellVerdict:
    then = baseline.cells[index]
    failures = _failures(then.case, sessions)
    verdict, why = _conclusion(baseline, then, first, again)
    busy = max_foreign_cores(sessions[-1]) or 0.0
    if failures:
        verdict, why = Verdict.INCONCLUSIVE, "a sample failed"
    elif verdict is Verdict.REGRESSED and threshold.quiet is not None and busy > threshold.quiet:
        verdict = Verdict.INCONCLUSIVE
        why = f"{why}, but other programs used {busy:.1f} cores meanwhile"
    return CellVerdict(
        label=then.case.label,
        n_envs=then.case.n_envs,
        verdict=verdict,
        why=why,
        then=then.ratio,
        now=now.ratio if now.log_ratios else None,
        first=first,
        again=again,
        rate_then=fmean(then.rates),
        rate_now=fmean(now.rates) if now.rates else None,
        cpu_change=now.cpu_us / then.cpu_us if now.rates else None,
        failures=failures,
    )


def _conclusion(
    baseline: Baseline, cell: BaselineCell, first: Judgement | None, again: Judgement | None
) -> tuple[Verdict, str]:
    if first is None or first.change is None:
        if baseline.is_reference(cell):
            return (
                Verdict.NOT_COMPARABLE,
                "the reference; it is judged only if there are at least three others",
            )
        return Verdict.INCONCLUSIVE, "no round has a clean sample of both it and its reference"
    moved = f"{first.change.value:.3g} times its ratio to {baseline.reference}"
    if baseline.is_reference(cell):
        moved = f"{first.change.value:.3g} times what it was, by the median of the others"
    if not first.suspicious:
        return first.verdict, moved
    if again is None or again.change is None:
        return Verdict.INCONCLUSIVE, f"{moved}, and it could not be measured again"
    second = f"{again.change.value:.3g} times when measured again"
    if again.verdict is Verdict.REGRESSED:
        return Verdict.REGRESSED, f"{moved}, {second}"
    return Verdict.INCONCLUSIVE, f"{moved} at first, but {second}: not confirmed"


def _failures(case: Case, sessions: Sequence[Session]) -> tuple[str, ...]:
    found = (
        sample.failure
        for session in sessions
        for sample in session.samples
        if sample.failure is not None and session.cases[sample.case].key == case.key
    )
    return tuple(dict.fromkeys(found))
