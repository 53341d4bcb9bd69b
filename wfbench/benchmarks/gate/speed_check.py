"""Measure the cases of a baseline of speed again, judge them, and confirm what looks slower."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any

from wfbench.benchmarks.gate.baseline_store import Baseline, BaselineCell, cells_of
from wfbench.benchmarks.gate.calibration import Calibration
from wfbench.benchmarks.measure.model import Case, Session, Settings
from wfbench.benchmarks.measure.summary import BUSY, EqualWork, equal_work, max_foreign_cores
from wfbench.benchmarks.statistics.intervals import (
    Estimate,
    Permutation,
    adjusted,
    unpaired_permutation_test,
    unpaired_ratio_estimate,
)
from wfbench.benchmarks.statistics.verdicts import ALPHA, Verdict, exit_code_of, judge
from wfbench.contract import ExitCode, UsageError
from wfbench.store.machine import same_machine

DEFAULT_EFFECT = 0.10
"""Minimum effect on a machine that is not calibrated."""
FOREIGN_EFFECT = 0.20
"""Minimum effect against a baseline of another machine, to which ratios carry over roughly."""
HERE = "calibrate this machine with `wfbench calibrate`"
_LEAST_OTHERS = 3
"""Minimum number of other cases that must all gain before the reference may have got slower."""
CONFIRMING = 1_000_003
"""Added to the seed when a cell is measured a second time, so that its rounds are new."""

Measure = Callable[[Sequence[Case], Settings], Session]


@dataclass(frozen=True)
class Threshold:
    """What counts as a change."""

    minimum_effect: float = DEFAULT_EFFECT
    alpha: float = ALPHA
    quiet: float | None = None
    """A slow-down is inconclusive if others took more cores than this; None: it always counts."""
    same_machine: bool = False
    """Whether rates can be compared, too, which tells who of a pair has changed."""

    def verdict(self, change: Estimate, test: Permutation) -> Verdict:
        """Return the verdict on a change."""
        return judge(change, test, minimum_effect=self.minimum_effect, alpha=self.alpha)


@dataclass(frozen=True)
class Judgement:
    """One cell, measured again and compared with the baseline."""

    verdict: Verdict
    change: Estimate
    """The ratio now over the ratio then."""
    p: float
    """Adjusted for the number of cells."""
    smallest: float
    """The smallest p value that this number of rounds and cells can reach."""
    rounds: int
    suspicious: bool = False
    """Slower before the adjustment: worth measuring again, but not a verdict yet."""
    excuse: str = ""
    """Why a ratio that fell is not this case's fault."""


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
        # The reference may be left unjudged; that is no problem of the check.
        judged = (c.verdict for c in self.cells if c.verdict is not Verdict.NOT_COMPARABLE)
        return exit_code_of(judged, inconclusive_fails=inconclusive_fails)


def run_check(
    baseline: Baseline,
    cases: Sequence[Case],
    settings: Settings,
    threshold: Threshold,
    measure: Measure,
) -> SpeedCheck:
    """Measure, judge, and confirm what looks slower; `cases` belong to the baseline's cells.

    If a cell looks slower without an adjustment, all are measured again: who else runs in a round
    changes how fast a case is. Only the second measurement can fail; it is adjusted for the number
    of cells that looked slower.
    """
    sessions = [measure(cases, settings)]
    now = list(cells_of(sessions[0], baseline.reference))
    judged, confirmed = judge_cells(baseline, now, threshold, range(len(now))), {}
    flagged = [i for i, one in judged.items() if one.suspicious]
    if flagged:
        fresh = replace(settings, seed=settings.seed + CONFIRMING)
        sessions.append(measure(cases, fresh))
        latest = cells_of(sessions[1], baseline.reference)
        confirmed = judge_cells(baseline, latest, threshold, flagged)
        now = [latest[i] if i in confirmed else cell for i, cell in enumerate(now)]
    return SpeedCheck(
        baseline=baseline.name,
        reference=baseline.reference,
        threshold=threshold,
        cells=tuple(
            _verdict(baseline, i, cell, (judged.get(i), confirmed.get(i)), sessions, threshold)
            for i, cell in enumerate(now)
        ),
        unequal=tuple(w for s in sessions for w in equal_work(s) if not w.equal),
        sessions=tuple(sessions),
    )


def judge_cells(
    baseline: Baseline, now: Sequence[BaselineCell], threshold: Threshold, chosen: Sequence[int]
) -> dict[int, Judgement]:
    """Return the judgement on each chosen cell, by its index in the baseline as in `now`.

    The others do not count for the adjustment. The reference is judged against that of at least
    three others which gained least: it got slower only if it fell against all of them.
    """
    pairs = {index: _compared(baseline, now, index) for index in chosen}
    pairs = {index: (then, current) for index, (then, current) in pairs.items() if then and current}
    tests = [_test(then, current) for then, current in pairs.values()]
    found = {}
    for index, test, final in zip(pairs, tests, adjusted(tests), strict=True):
        then, current = pairs[index]
        change = unpaired_ratio_estimate(current, then)
        suspicious = threshold.verdict(change, test) is Verdict.REGRESSED
        verdict = threshold.verdict(change, final)
        excuse = _excuse(baseline, now, index, threshold) if suspicious else ""
        if excuse:
            suspicious, verdict = False, Verdict.INCONCLUSIVE
        found[index] = Judgement(
            verdict, change, final.p, final.smallest, len(current), suspicious, excuse
        )
    return found


def choose_threshold(
    baseline: Baseline,
    machine: Mapping[str, Any],
    calibration: Calibration | None,
    given: float | None,
) -> tuple[Threshold, tuple[str, ...]]:
    """Return the threshold, and notes that say where it comes from."""
    here = same_machine(baseline.machine, machine)
    if given is not None:
        if not 0 < given < 10:
            raise UsageError(f"--minimum-effect {given:g}: it must be between 0 and 10")
        return Threshold(given, same_machine=here), (f"minimum effect {given:.0%}, as asked for",)
    effect, note = _of_this_machine(machine, calibration)
    if here:
        return Threshold(effect, same_machine=True), (note,)
    then, now = _described(baseline.machine), _described(machine)
    foreign = (
        f"the baseline was made on another machine ({then}; here: {now}): the minimum effect is at "
        f"least {FOREIGN_EFFECT:.0%}, and what parallel collectors gain depends on the cores"
    )
    return Threshold(max(effect, FOREIGN_EFFECT)), (note, foreign)


def busy_notes(baseline: Baseline, sessions: Sequence[Session]) -> tuple[str, ...]:
    """Return a note for each measurement that other programs disturbed."""
    notes = []
    if baseline.disturbed:
        notes.append(
            f"the baseline was measured while other programs used {baseline.foreign_cores:.1f} "
            "cores; make it again on a quiet machine"
        )
    now = max((max_foreign_cores(session) or 0.0 for session in sessions), default=0.0)
    if now > BUSY:
        notes.append(
            f"other programs used up to {now:.1f} cores meanwhile; stop them and check again "
            "before you believe a change of a parallel collector"
        )
    return tuple(notes)


def _excuse(
    baseline: Baseline, now: Sequence[BaselineCell], index: int, threshold: Threshold
) -> str:
    """Return why a ratio that fell is not the fault of this cell; empty if it may be.

    A ratio does not say which of its two has changed; where rates can be compared, they do.
    """
    cell = baseline.cells[index]
    is_reference = baseline.is_reference(cell)
    if not threshold.same_machine:
        told = "it got slower or all others faster, which only rates of one machine tell"
        return told if is_reference else ""
    if _own_change(cell, now[index], threshold) < 0:
        return ""
    if is_reference:
        return "its own rate did not fall: the others got faster"
    gained = next(
        _own_change(then, current, threshold) > 0
        for then, current in zip(baseline.cells, now, strict=True)
        if baseline.is_reference(then) and then.case.n_envs == cell.case.n_envs
    )
    return f"its own rate did not fall: {baseline.reference} got faster" if gained else ""


def _own_change(then: BaselineCell, now: BaselineCell, threshold: Threshold) -> int:
    """Return 1 if the rates rose by the minimum effect, -1 if they fell by it, else 0."""
    logs = [[math.log(rate) for rate in cell.rates] for cell in (then, now)]
    moved = fmean(logs[1]) - fmean(logs[0]) if all(logs) else 0.0
    return (abs(moved) >= math.log1p(threshold.minimum_effect)) * (1 if moved > 0 else -1)


def _verdict(
    baseline: Baseline,
    index: int,
    now: BaselineCell,
    judged: tuple[Judgement | None, Judgement | None],
    sessions: Sequence[Session],
    threshold: Threshold,
) -> CellVerdict:
    then = baseline.cells[index]
    failures = _failures(then.case, sessions)
    verdict, why = _conclusion(baseline, then, *judged)
    busy = max_foreign_cores(sessions[-1]) or 0.0
    if failures:
        verdict, why = Verdict.INCONCLUSIVE, "a sample failed"
    elif verdict is Verdict.REGRESSED and threshold.quiet is not None and busy > threshold.quiet:
        verdict = Verdict.INCONCLUSIVE
        why = f"{why}, but other programs used {busy:.1f} cores meanwhile"
    elif verdict is Verdict.REGRESSED and baseline.disturbed:
        verdict, why = Verdict.INCONCLUSIVE, f"{why}, but the baseline is of a busy machine"
    return CellVerdict(
        label=then.case.label,
        n_envs=then.case.n_envs,
        verdict=verdict,
        why=why,
        then=then.ratio,
        now=now.ratio if now.log_ratios else None,
        first=judged[0],
        again=judged[1],
        rate_then=fmean(then.rates),
        rate_now=fmean(now.rates) if now.rates else None,
        cpu_change=now.cpu_us / then.cpu_us if now.rates else None,
        failures=failures,
    )


def _conclusion(
    baseline: Baseline, cell: BaselineCell, first: Judgement | None, again: Judgement | None
) -> tuple[Verdict, str]:
    reference = baseline.is_reference(cell)
    if first is None and reference:
        why = "the reference; it is judged only if there are at least three others"
        return Verdict.NOT_COMPARABLE, why
    if first is None:
        return Verdict.INCONCLUSIVE, "no round has a clean sample of both it and its reference"
    moved = f"{first.change.value:.3g} times its ratio to {baseline.reference}"
    if reference:
        moved = f"{first.change.value:.3g} times what it was, by the other that gained least"
    if not first.suspicious:
        return first.verdict, f"{moved}, but {first.excuse}" if first.excuse else moved
    return _confirmed(moved, again)


def _confirmed(moved: str, again: Judgement | None) -> tuple[Verdict, str]:
    """Return the verdict on a cell that looked slower, after its second measurement."""
    if again is None:
        return Verdict.INCONCLUSIVE, f"{moved}, and it could not be measured again"
    second = f"{again.change.value:.3g} times when measured again"
    if again.excuse:
        return again.verdict, f"{moved}, {second}, but {again.excuse}"
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


def _compared(
    baseline: Baseline, now: Sequence[BaselineCell], index: int
) -> tuple[Sequence[float], Sequence[float]]:
    """Return the log ratios of a cell then and now; none if the reference cannot be judged."""
    cell = baseline.cells[index]
    if not baseline.is_reference(cell):
        return cell.log_ratios, now[index].log_ratios
    others = [
        (then.log_ratios, current.log_ratios)
        for then, current in zip(baseline.cells, now, strict=True)
        if then.case.n_envs == cell.case.n_envs and not baseline.is_reference(then)
    ]
    others = [pair for pair in others if all(pair)]
    if len(others) < _LEAST_OTHERS:
        return [], []
    before, after = min(others, key=lambda pair: fmean(pair[1]) - fmean(pair[0]))
    return [-ratio for ratio in before], [-ratio for ratio in after]


def _test(then_logs: Sequence[float], now_logs: Sequence[float]) -> Permutation:
    if min(len(then_logs), len(now_logs)) < 2:
        return Permutation(1.0, 1.0)
    return unpaired_permutation_test(now_logs, then_logs)


def _of_this_machine(
    machine: Mapping[str, Any], calibration: Calibration | None
) -> tuple[float, str]:
    if calibration is None:
        problem = "this machine is not calibrated"
    elif not same_machine(calibration.machine, machine):
        there = _described(calibration.machine)
        problem = f"the calibration is of another machine ({there})"
    else:
        effect, least = calibration.minimum_effect, calibration.detectable
        seen = "none below fourfold" if least is None else f"from {least:.0%} on"
        when = f"{calibration.created}; slow-downs are found here: {seen}"
        return effect, f"minimum effect {effect:.0%} by calibration ({when})"
    note = f"{problem}: minimum effect {DEFAULT_EFFECT:.0%} by default; {HERE}"
    return DEFAULT_EFFECT, note


def _described(machine: Mapping[str, Any]) -> str:
    return f"{machine.get('cpu', 'unknown processor')}, {machine.get('usable_cores', '?')} cores"
