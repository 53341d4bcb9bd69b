"""How much must change before a check believes it, on this machine and against that baseline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from wfbench.contract import UsageError

from .baseline import Baseline, busiest
from .calibration import Calibration, same_machine
from .gate import DEFAULT_EFFECT, FOREIGN_EFFECT, Threshold
from .model import Session
from .summary import BUSY

HERE = "calibrate this machine with `wfbench calibrate`"


def choose_threshold(
    baseline: Baseline,
    machine: Mapping[str, Any],
    calibration: Calibration | None,
    given: float | None,
) -> tuple[Threshold, tuple[str, ...]]:
    """The threshold, and sentences that say where it comes from."""
    if given is not None:
        if not 0 < given < 10:
            raise UsageError(f"--minimum-effect {given:g}: it must be between 0 and 10")
        return Threshold(given), (f"minimum effect {given:.0%}, as asked for",)
    effect, notes = _of_this_machine(machine, calibration)
    if same_machine(baseline.machine, machine):
        return Threshold(effect), notes
    then, now = _described(baseline.machine), _described(machine)
    return Threshold(max(effect, FOREIGN_EFFECT)), (
        *notes,
        (
            f"the baseline was made on another machine ({then}; here: {now}): the minimum effect "
            f"is at least {FOREIGN_EFFECT:.0%}, and what parallel collectors gain depends on the "
            "cores"
        ),
    )


def busy_notes(baseline: Baseline, sessions: Sequence[Session]) -> tuple[str, ...]:
    """Who else was computing, then and now: cases that need many cores lose most by it."""
    notes = []
    if baseline.disturbed:
        notes.append(
            f"the baseline was measured while other programs used {baseline.foreign_cores:.1f} "
            "cores; make it again on a quiet machine"
        )
    now = max((busiest(session) or 0.0 for session in sessions), default=0.0)
    if now > BUSY:
        notes.append(
            f"other programs used up to {now:.1f} cores meanwhile; stop them and check again "
            "before you believe a change of a parallel collector"
        )
    return tuple(notes)


def _of_this_machine(
    machine: Mapping[str, Any], calibration: Calibration | None
) -> tuple[float, tuple[str, ...]]:
    if calibration is None:
        return DEFAULT_EFFECT, (
            f"this machine is not calibrated: minimum effect {DEFAULT_EFFECT:.0%} by default; "
            + HERE,
        )
    if not same_machine(calibration.machine, machine):
        there = _described(calibration.machine)
        return DEFAULT_EFFECT, (
            (
                f"the calibration is of another machine ({there}): minimum effect "
                f"{DEFAULT_EFFECT:.0%} by default; {HERE}"
            ),
        )
    least = calibration.detectable
    seen = "none below fourfold" if least is None else f"from {least:.0%} on"
    return calibration.minimum_effect, (
        (
            f"minimum effect {calibration.minimum_effect:.0%} by calibration "
            f"({calibration.created}; slow-downs are found here: {seen})"
        ),
    )


def _described(machine: Mapping[str, Any]) -> str:
    return f"{machine.get('cpu', 'unknown processor')}, {machine.get('usable_cores', '?')} cores"
