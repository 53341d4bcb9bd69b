"""What a session is remembered by: how each case fared against a reference of the same rounds.

Ratios carry from machine to machine where rates do not, so only they gate. Rates are kept for
people to read.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from wfbench import __version__
from wfbench.contract import NotComparableError, UsageError

from .model import Case, Session, Settings
from .summary import BUSY, equal_work, foreign_cores

SCHEMA = "baseline/1"
LEAST_ROUNDS = 4
"""Four rounds against four can just reach a p value of 0.03; fewer can never find anything."""


@dataclass(frozen=True)
class Cell:
    """One case against the reference with as many environments."""

    case: Case
    rounds: tuple[int, ...]
    """The rounds in which this case and its reference are both sound."""
    log_ratios: tuple[float, ...]
    """Log of the rate over the reference's, one per round."""
    rates: tuple[float, ...]
    """Transitions per second, one per round; never compared."""
    cpu_us: float
    """Mean CPU microseconds per transition; never compared."""

    @property
    def name(self) -> str:
        """How people tell the cell from others."""
        return f"{self.case.label}, {self.case.n_envs} envs"


@dataclass(frozen=True)
class Baseline:
    """A session to compare later ones with."""

    name: str
    created: str
    reference: str
    """The label of the case that ratios are to; its own cells have ratio 1 throughout."""
    settings: Settings
    cells: tuple[Cell, ...]
    machine: Mapping[str, Any]
    command: tuple[str, ...] = ()
    foreign_cores: float | None = None
    """Cores that other programs kept busy while the worst case was measured; None: unknown."""
    wfbench: str = __version__

    @property
    def disturbed(self) -> bool:
        """Whether other programs may have moved the ratios."""
        return self.foreign_cores is not None and self.foreign_cores > BUSY

    def is_reference(self, cell: Cell) -> bool:
        """Whether the ratios of others are to this cell."""
        return cell.case.label == self.reference


def make_baseline(
    session: Session,
    name: str,
    *,
    created: str,
    machine: Mapping[str, Any],
    command: Sequence[str] = (),
    reference: str | None = None,
) -> Baseline:
    """The baseline of a session that is fit for it; else a sentence that says why it is not."""
    _refuse_unfit(session)
    label = _reference_label(session, reference)
    return Baseline(
        name=name,
        created=created,
        reference=label,
        settings=session.settings,
        cells=cells_of(session, label),
        machine=dict(machine),
        command=tuple(command),
        foreign_cores=busiest(session),
    )


def busiest(session: Session) -> float | None:
    """Cores that other programs kept busy while the worst case was measured; None: unknown."""
    found = []
    for index in range(len(session.cases)):
        taken = [s.measurement for s in session.of_case(index) if s.measurement is not None]
        cores = foreign_cores(taken)
        if cores is not None:
            found.append(cores)
    return max(found, default=None)


def cells_of(session: Session, reference: str) -> tuple[Cell, ...]:
    """Every case of a session against the reference with as many environments."""
    return tuple(_cell(session, index, reference) for index in range(len(session.cases)))


def _cell(session: Session, index: int, reference: str) -> Cell:
    case = session.cases[index]
    base = next(
        i
        for i, other in enumerate(session.cases)
        if other.label == reference and other.n_envs == case.n_envs
    )
    others = {sample.round: sample.rate for sample in session.of_case(base) if sample.clean}
    clean = [s for s in session.of_case(index) if s.clean and s.round in others]
    cpu = [1e6 * s.measurement.cpu / s.measurement.transitions for s in clean if s.measurement]
    return Cell(
        case=case,
        rounds=tuple(s.round for s in clean),
        log_ratios=tuple(math.log(s.rate / others[s.round]) for s in clean),
        rates=tuple(s.rate for s in clean),
        cpu_us=sum(cpu) / len(cpu) if cpu else math.nan,
    )


def _refuse_unfit(session: Session) -> None:
    if session.settings.smoke:
        raise NotComparableError(
            "this was a smoke run, too short to mean anything; measure without --smoke"
        )
    missing = len(session.cases) * session.settings.rounds - len(session.samples)
    if missing:
        raise NotComparableError(f"{missing} samples are missing: the run was interrupted")
    for sample in session.samples:
        if not sample.clean:
            label = session.cases[sample.case].label
            why = sample.failure or "it was marked: " + "; ".join(
                sample.measurement.marks if sample.measurement else ()
            )
            raise NotComparableError(f"round {sample.round + 1} of {label} is not sound: {why}")
    for work in equal_work(session):
        if not work.equal:
            raise NotComparableError(
                f"{', '.join(work.odd)} collected other transitions than {work.labels[0]}"
            )
    if session.settings.rounds < LEAST_ROUNDS:
        raise NotComparableError(
            f"{session.settings.rounds} rounds are too few to find anything later; "
            f"measure at least {LEAST_ROUNDS}, better 10"
        )


def _reference_label(session: Session, wanted: str | None) -> str:
    labels = list(dict.fromkeys(case.label for case in session.cases))
    label = labels[0] if wanted is None else wanted
    if label not in labels:
        raise UsageError(f"there is no case {label!r} to compare with; {', '.join(labels)}")
    for n_envs in dict.fromkeys(case.n_envs for case in session.cases):
        here = [case.label for case in session.cases if case.n_envs == n_envs]
        if label not in here:
            raise UsageError(f"the reference {label!r} was not measured with {n_envs} envs")
        if len(here) < 2:
            raise NotComparableError(
                f"with {n_envs} envs only {label} was measured; a ratio needs a second case"
            )
    return label
