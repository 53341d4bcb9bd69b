"""What is measured, and the samples that result."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from wfbench.benchmarks.measure.turns import Figure, log_ratio_of, rate_of
from wfbench.contract import EnvRef, UsageError

POLICIES = ("random", "network")
PHASES = ("env", "transport", "inference", "idle")


@dataclass(frozen=True)
class Case:
    """One thing to measure: a collector with its options on `n_envs` environments."""

    label: str
    """The selector that chooses the collector and its options."""
    factory: str
    options: Mapping[str, Any]
    env: EnvRef
    n_envs: int
    policy: str
    deterministic: bool
    """Whether its transition hash must equal that of other deterministic cases."""
    source: str = ""
    """The distribution the collector comes from and the libraries it needs, with versions."""

    @property
    def key(self) -> tuple[str, int]:
        """Label and number of environments, which identify the case in any session."""
        return self.label, self.n_envs


@dataclass(frozen=True)
class Settings:
    """How often and for how long each case is measured."""

    rounds: int = 5
    seconds: float = 0.5
    """Minimum duration of a sample."""
    steps: int = 50
    """Steps of every environment per collect."""
    seed: int = 0
    smoke: bool = False
    """Too short to mean anything; only shows that everything works."""
    scaling: bool = False
    """Cases are points of curves."""
    proof: bool = True
    """Deterministic cases prove what they collect beyond the ends of episodes, untimed."""
    turns: bool = True
    """Cases take turns with the first one with as many environments, where they can."""

    def __post_init__(self) -> None:
        for name in ("rounds", "steps"):
            if getattr(self, name) < 1:
                raise UsageError(f"{name} is {getattr(self, name)}; it must be at least 1")
        if not 0 < self.seconds <= 3600:
            raise UsageError(f"seconds is {self.seconds:g}; it must be between 0 and 3600")
        if self.seed < 0:
            raise UsageError(f"seed is {self.seed}; it must not be negative")


@dataclass(frozen=True)
class EpisodeProof:
    """What a case collected first, up to a step after an episode of every environment."""

    hashes: tuple[str, ...]
    """One per collect. Where one case was cut short, another may have more."""
    steps: int
    unended: int
    """Environments of which no episode ended that far."""


@dataclass(frozen=True)
class Measurement:
    """One timed window of collecting, and what happened before and after it."""

    start_up: float
    """Seconds of `open`."""
    warm_up: float
    """Seconds of the first collect, which is not part of the window."""
    wall: float
    cpu: float
    """CPU seconds of the whole process tree during the window."""
    shut_down: float
    """Seconds of `close`."""
    transitions: int
    vector_steps: int
    """Steps of each environment."""
    memory: int
    """Bytes of the whole process tree, shared pages counted once (PSS)."""
    phases: Mapping[str, float]
    """Seconds of the window by phase; they sum to `wall`."""
    messages: int
    bytes_moved: int
    restarts: int
    dropped: int
    lag_mean: float
    lag_max: int
    marks: tuple[str, ...]
    """Problems the collector recovered from; a marked sample is excluded from every mean."""
    transition_hash: str
    """Of the warm-up's transitions; every case collects equally many."""
    batched: bool
    notes: tuple[str, ...] = ()
    """Warnings the collector logged."""
    voluntary_switches: int | None = None
    """How often a thread of the process tree waited during the window; None where the system
    does not count, as in all of the following."""
    involuntary_switches: int | None = None
    """How often the system preempted one."""
    foreign_cpu: float | None = None
    """CPU seconds that other programs took from the process tree during the window."""
    load: float | None = None
    """The system's load average over the last minute when the window began."""
    proof: EpisodeProof | None = None
    """Made in the first round by deterministic cases, between warm-up and window."""
    turns: tuple[tuple[int, float, float], ...] = ()
    """Transitions, seconds and CPU seconds of each turn, if it took turns with the first case."""
    beside: tuple[tuple[int, float, float], ...] = ()
    """The turns that the first case with as many environments took with it."""

    @property
    def total(self) -> tuple[int, float, float]:
        """The whole window as if it were one turn."""
        return self.transitions, self.wall, self.cpu

    @property
    def rate(self) -> float:
        """Transitions per second."""
        return self.transitions / self.wall

    @property
    def cpu_us(self) -> float:
        """CPU microseconds of the whole process tree per transition."""
        return 1e6 * self.cpu / self.transitions


@dataclass(frozen=True)
class Sample:
    """One case in one round: a measurement, or why there is none; nothing until it is taken."""

    case: int
    round: int
    position: int
    """Position in the session, from 0."""
    seed: int
    measurement: Measurement | None = None
    failure: str | None = None
    skipped: str | None = None
    """Why it was left out on purpose."""

    @property
    def clean(self) -> bool:
        """Whether it may be part of a mean: measured, and without marks."""
        return self.measurement is not None and not self.measurement.marks

    @property
    def problem(self) -> str | None:
        """Why it is not clean; None if it is."""
        if self.measurement is None:
            return self.failure or self.skipped
        return f"marked: {'; '.join(self.measurement.marks)}" if self.measurement.marks else None

    @property
    def rate(self) -> float:
        """Transitions per second; NaN if there is no measurement."""
        return math.nan if self.measurement is None else self.measurement.rate


@dataclass(frozen=True)
class Session:
    """All samples of one bench, in the sequence they were taken."""

    cases: tuple[Case, ...]
    settings: Settings
    samples: tuple[Sample, ...]

    def of_case(self, case: int) -> list[Sample]:
        """Return the samples of one case by round."""
        return sorted((s for s in self.samples if s.case == case), key=lambda s: s.round)

    def measurements(self, case: int) -> dict[int, Measurement]:
        """Return the measurements of one case by round, marked ones included."""
        return {s.round: s.measurement for s in self.of_case(case) if s.measurement is not None}

    def clean(self, case: int) -> dict[int, Measurement]:
        """Return the measurements of one case by round that may be part of a mean."""
        return {number: m for number, m in self.measurements(case).items() if not m.marks}

    def log_ratios(self, case: int, other: int, figure: Figure = rate_of) -> dict[int, float]:
        """Return the log of a figure over that of another case in the same round, by round.

        From their turns where they took turns, else from their windows.
        """
        mine, theirs = self.clean(case), self.clean(other)
        first = [one.n_envs for one in self.cases].index(self.cases[case].n_envs) == other
        return {
            number: log_ratio_of(figure, m.turns, m.beside)
            if first and m.beside
            else math.log(figure([m.total]) / figure([theirs[number].total]))
            for number, m in mine.items()
            if number in theirs
        }

    def index(self, key: tuple[str, int]) -> int:
        """Return which case has this key."""
        return [case.key for case in self.cases].index(key)

    @property
    def finished(self) -> bool:
        """Whether every planned sample was taken."""
        return len(self.samples) == len(self.cases) * self.settings.rounds

    def as_data(self) -> dict[str, Any]:
        """Return the session as JSON values, raw samples included."""
        return asdict(self)


def make_settings(
    *, seed: int = 0, smoke: bool = False, scaling: bool = False, **given: Any
) -> Settings:
    """Return the settings for what was given; None means the default, or that of a smoke run."""
    usual = Settings(rounds=3, seconds=0.3) if scaling else Settings()
    usual = Settings(rounds=2, seconds=0.05, steps=10) if smoke else usual
    chosen = {name: value for name, value in given.items() if value is not None}
    return replace(usual, seed=seed, smoke=smoke, scaling=scaling, **chosen)
