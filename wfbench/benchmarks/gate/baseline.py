"""A baseline of speed: how each case compared with a reference in the same rounds.

Ratios carry over to another machine where rates do not, so only ratios are compared. Rates are
kept for people to read.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from wfbench import __version__
from wfbench.benchmarks.measure.model import Case, Session, Settings
from wfbench.benchmarks.measure.summary import BUSY, equal_work, max_foreign_cores
from wfbench.benchmarks.statistics.intervals import Estimate, exp_estimate, mean_estimate
from wfbench.contract import NotComparableError, UsageError

LEAST_ROUNDS = 4
"""Four rounds against four can just reach a p value of 0.03; fewer can never find anything."""


@dataclass(frozen=True)
class BaselineCell:
    """One case against the reference with as many environments."""

    case: Case
    rounds: tuple[int, ...]
    """The rounds in which both this case and its reference have a clean sample."""
    log_ratios: tuple[float, ...]
    """Log of the rate over the reference's, one per round."""
    rates: tuple[float, ...]
    """Transitions per second, one per round; never compared."""
    cpu_us: float
    """Mean CPU microseconds per transition; never compared."""

    @property
    def name(self) -> str:
        """The case as shown to people."""
        return f"{self.case.label}, {self.case.n_envs} envs"

    @property
    def ratio(self) -> Estimate:
        """How many times as fast as the reference."""
        return exp_estimate(mean_estimate(self.log_ratios))


@dataclass(frozen=True)
class Baseline:
    """A session that later ones are compared with."""

    name: str
    created: str
    reference: str
    """The label of the case that ratios are to; its own cells have ratio 1 throughout."""
    settings: Settings
    cells: tuple[BaselineCell, ...]
    machine: Mapping[str, Any]
    command: tuple[str, ...] = ()
    foreign_cores: float | None = None
    """Cores that other programs kept busy during the most disturbed case; None if unknown."""
    wfbench: str = __version__

    @property
    def disturbed(self) -> bool:
        """Whether other programs may have moved the ratios."""
        return self.foreign_cores is not None and self.foreign_cores > BUSY

    def is_reference(self, cell: BaselineCell) -> bool:
        """Return whether this is the cell that the ratios of others are to."""
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
    """Return the baseline of a session; raise NotComparableError if the session is unfit."""
    for flaw in _flaws(session):
        raise NotComparableError(flaw)
    label = _reference_label(session, reference)
    return Baseline(
        name=name,
        created=created,
        reference=label,
        settings=session.settings,
        cells=cells_of(session, label),
        machine=dict(machine),
        command=tuple(command),
        foreign_cores=max_foreign_cores(session),
    )


def cells_of(session: Session, reference: str) -> tuple[BaselineCell, ...]:
    """Return every case of a session against the reference with as many environments."""
    return tuple(_cell(session, index, reference) for index in range(len(session.cases)))


def _cell(session: Session, index: int, reference: str) -> BaselineCell:
    case = session.cases[index]
    base = [other.key for other in session.cases].index((reference, case.n_envs))
    others = {sample.round: sample.rate for sample in session.clean(base)}
    clean = [sample for sample in session.clean(index) if sample.round in others]
    cpu = [1e6 * s.measurement.cpu / s.measurement.transitions for s in clean if s.measurement]
    return BaselineCell(
        case=case,
        rounds=tuple(s.round for s in clean),
        log_ratios=tuple(math.log(s.rate / others[s.round]) for s in clean),
        rates=tuple(s.rate for s in clean),
        cpu_us=sum(cpu) / len(cpu) if cpu else math.nan,
    )


def _flaws(session: Session) -> Iterator[str]:
    """Yield whatever makes a session unfit as a baseline."""
    if session.settings.smoke:
        yield "this was a smoke run, too short to mean anything; measure without --smoke"
    missing = len(session.cases) * session.settings.rounds - len(session.samples)
    if missing:
        yield f"{missing} samples are missing: the run was interrupted"
    for sample in session.samples:
        if not sample.clean:
            label = session.cases[sample.case].label
            yield f"round {sample.round + 1} of {label} cannot be used: {sample.problem}"
    for work in equal_work(session):
        if not work.equal:
            yield f"{', '.join(work.odd)} collected other transitions than {work.labels[0]}"
    if session.settings.rounds < LEAST_ROUNDS:
        yield (
            f"{session.settings.rounds} rounds are too few to find anything later; "
            f"measure at least {LEAST_ROUNDS}, better 10"
        )


def _reference_label(session: Session, wanted: str | None) -> str:
    labels = list(dict.fromkeys(case.label for case in session.cases))
    label = labels[0] if wanted is None else wanted
    if label not in labels:
        raise UsageError(f"there is no case {label!r}; choose from {', '.join(labels)}")
    for n_envs in dict.fromkeys(case.n_envs for case in session.cases):
        here = [case.label for case in session.cases if case.n_envs == n_envs]
        if label not in here:
            raise UsageError(f"the reference {label!r} was not measured with {n_envs} envs")
        if len(here) < 2:
            raise NotComparableError(
                f"with {n_envs} envs only {label} was measured; a ratio needs a second case"
            )
    return label
