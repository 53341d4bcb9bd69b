"""The figures of each case of a session."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from wfbench.benchmarks.measure.model import PHASES, Measurement, Session
from wfbench.benchmarks.statistics.intervals import (
    Estimate,
    exp_estimate,
    mean_estimate,
    outliers,
    rate_estimate,
)

BUSY = 0.1
"""If other processes keep more cores busy than this, a measurement counts as disturbed."""

_TICKS = 0.02
"""Error of the system's coarse CPU clock in one sample, in seconds."""


@dataclass(frozen=True)
class CaseSummary:
    """The figures of one case; None where it has no clean sample."""

    case: int
    label: str
    n_envs: int
    samples: int
    excluded: tuple[str, ...]
    """The marks for which samples are excluded from the figures."""
    failures: tuple[str, ...]
    figures: Figures | None
    ratio: Estimate | None
    """Rate relative to the first case with as many environments, paired by round."""
    transition_hash: str | None
    """Of the first round."""
    notes: tuple[str, ...]
    skipped: str | None = None
    """Why it was left out on purpose."""
    outliers: tuple[int, ...] = ()
    """Rounds whose rate is far from the others'; the figures include them."""


@dataclass(frozen=True)
class Figures:
    """Means over the clean samples."""

    rate: Estimate
    """Transitions per second."""
    step_ms: float
    """Milliseconds until every environment has made a step."""
    cpu_us: float
    """CPU microseconds of the whole process tree per transition."""
    phases: Mapping[str, float]
    """Share of the wall time."""
    memory: float
    start_up: float
    shut_down: float
    lag_mean: float
    lag_max: int
    switches: float | None = None
    """Context switches of the whole process tree per step of all environments."""
    foreign_cores: float | None = None
    """Cores that other processes kept busy meanwhile, less the error of the system's clock."""

    @property
    def disturbed(self) -> bool:
        """Whether other processes used so much of the machine that the figures suffer."""
        return self.foreign_cores is not None and self.foreign_cores > BUSY


@dataclass(frozen=True)
class EqualWork:
    """Whether the synchronous cases with as many environments collected the same transitions."""

    n_envs: int
    labels: tuple[str, ...]
    equal: bool
    transition_hash: str
    """Of the first round."""
    odd: tuple[str, ...] = ()
    """The cases that collected other transitions than the first."""
    steps: int = 0
    """Steps of every environment that all cases proved; 0 in sessions of earlier releases."""
    unended: int = 0
    """Environments of which some case saw no episode end that far."""


def summarise(session: Session) -> list[CaseSummary]:
    """Return one summary per case."""
    return [_summary(session, index) for index in range(len(session.cases))]


def equal_work(session: Session) -> list[EqualWork]:
    """Compare what synchronous cases collected, for each number of environments they share."""
    found = []
    for n_envs in dict.fromkeys(case.n_envs for case in session.cases):
        measured = [
            (case.label, taken)
            for index, case in enumerate(session.cases)
            if case.n_envs == n_envs
            and case.deterministic
            and (taken := session.measurements(index))
        ]
        if len(measured) < 2:
            continue
        first = measured[0][1]
        odd = tuple(
            label
            for label, taken in measured
            if any(_differ(first.get(number, one), one) for number, one in taken.items())
        )
        proofs = [m.proof for _, taken in measured for m in taken.values() if m.proof is not None]
        found.append(
            EqualWork(
                n_envs,
                labels=tuple(label for label, _ in measured),
                equal=not odd,
                transition_hash=first[min(first)].transition_hash,
                odd=odd,
                steps=min((proof.steps for proof in proofs), default=0),
                unended=max((proof.unended for proof in proofs), default=0),
            )
        )
    return found


def _differ(one: Measurement, other: Measurement) -> bool:
    """Return whether two measurements of one seed show different transitions."""
    if one.transition_hash != other.transition_hash:
        return True
    if one.proof is None or other.proof is None:
        return False
    pairs = zip(one.proof.hashes, other.proof.hashes, strict=False)
    return any(mine != theirs for mine, theirs in pairs)


def is_sound(session: Session) -> bool:
    """Return whether no sample failed and equal cases did equal work."""
    failed = any(sample.failure is not None for sample in session.samples)
    return not failed and all(work.equal for work in equal_work(session))


def max_foreign_cores(session: Session) -> float | None:
    """Return the cores that other programs used during the most disturbed case, if known."""
    found = [_foreign_cores(session.measurements(i).values()) for i in range(len(session.cases))]
    return max((cores for cores in found if cores is not None), default=None)


def _foreign_cores(taken: Collection[Measurement]) -> float | None:
    """Return the cores that others kept busy, less the error of the system's clock, if known."""
    known = [(m.foreign_cpu, m.wall) for m in taken if m.foreign_cpu is not None]
    if not known:
        return None
    seconds = sum(cpu for cpu, _ in known) - _TICKS * len(known)
    return max(0.0, seconds) / sum(wall for _, wall in known)


def _summary(session: Session, index: int) -> CaseSummary:
    case, samples, clean = session.cases[index], session.of_case(index), session.clean(index)
    measured = session.measurements(index).values()
    rounds, rates = list(clean), [m.rate for m in clean.values()]
    return CaseSummary(
        case=index,
        label=case.label,
        n_envs=case.n_envs,
        samples=len(samples),
        excluded=tuple(dict.fromkeys(mark for m in measured for mark in m.marks)),
        failures=tuple(dict.fromkeys(s.failure for s in samples if s.failure is not None)),
        figures=_figures(clean.values()) if clean else None,
        ratio=_ratio(session, index),
        transition_hash=next((m.transition_hash for m in measured), None),
        notes=tuple(dict.fromkeys(note for m in measured for note in m.notes)),
        skipped=next((s.skipped for s in samples if s.skipped is not None), None),
        outliers=tuple(rounds[i] for i in outliers(rates)) if clean else (),
    )


def _figures(taken: Collection[Measurement]) -> Figures:
    def mean(value: Callable[[Measurement], float]) -> float:
        return sum(value(measurement) for measurement in taken) / len(taken)

    wall = sum(measurement.wall for measurement in taken)
    return Figures(
        rate=rate_estimate([m.rate for m in taken]),
        step_ms=mean(lambda m: 1e3 * m.wall / m.vector_steps),
        cpu_us=mean(lambda m: m.cpu_us),
        phases={name: sum(m.phases[name] for m in taken) / wall for name in PHASES},
        memory=mean(lambda m: float(m.memory)),
        start_up=mean(lambda m: m.start_up),
        shut_down=mean(lambda m: m.shut_down),
        lag_mean=mean(lambda m: m.lag_mean),
        lag_max=max(m.lag_max for m in taken),
        switches=_switches(taken),
        foreign_cores=_foreign_cores(taken),
    )


def _switches(taken: Collection[Measurement]) -> float | None:
    known = [
        (m.voluntary_switches + m.involuntary_switches, m.vector_steps)
        for m in taken
        if m.voluntary_switches is not None and m.involuntary_switches is not None
    ]
    return sum(n for n, _ in known) / sum(steps for _, steps in known) if known else None


def _ratio(session: Session, index: int) -> Estimate | None:
    first = [case.n_envs for case in session.cases].index(session.cases[index].n_envs)
    logs = list(session.log_ratios(index, first).values())
    return None if first == index or not logs else exp_estimate(mean_estimate(logs))
