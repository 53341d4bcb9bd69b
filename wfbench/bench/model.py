"""What is measured, and what came of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from wfbench.contract import EnvRef, UsageError

POLICIES = ("random", "network")
PHASES = ("env", "transport", "inference", "idle")


@dataclass(frozen=True)
class Case:
    """One thing to measure: a collector with its options on so many environments."""

    label: str
    """The selector that chooses the collector and its options."""
    factory: str
    options: Mapping[str, Any]
    env: EnvRef
    n_envs: int
    policy: str
    deterministic: bool
    """Whether its transition hash can be compared with that of other such cases."""
    source: str = ""
    """The distribution that the collector is from, and what that stands on, with versions."""


@dataclass(frozen=True)
class Settings:
    """How long and how often."""

    rounds: int = 5
    seconds: float = 0.5
    """The least time a sample is measured for."""
    steps: int = 50
    """Steps of every environment per collect."""
    seed: int = 0
    smoke: bool = False
    """Too short to mean anything: a check that the machinery works."""

    def __post_init__(self) -> None:
        if self.rounds < 1:
            raise UsageError(f"rounds is {self.rounds}; it must be at least 1")
        if self.steps < 1:
            raise UsageError(f"steps is {self.steps}; it must be at least 1")
        if not 0 < self.seconds <= 3600:
            raise UsageError(f"seconds is {self.seconds:g}; it must be between 0 and 3600")
        if self.seed < 0:
            raise UsageError(f"seed is {self.seed}; it must not be negative")


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
    """How often every environment made a step."""
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
    """What went wrong and was survived; a marked sample enters no mean."""
    transition_hash: str
    """Of the warm-up's transitions, which are the same number in every case."""
    batched: bool
    notes: tuple[str, ...] = ()
    """What the collector warned about."""
    voluntary_switches: int | None = None
    """How often a thread of the process tree gave its core up during the window, to wait; None
    where the system does not tell, as in all of the following."""
    involuntary_switches: int | None = None
    """How often one was made to give its core up, because another wanted it."""
    foreign_cpu: float | None = None
    """CPU seconds that everything else on the machine used during the window."""
    load: float | None = None
    """The system's load average over the last minute when the window began."""


@dataclass(frozen=True)
class Sample:
    """One case in one round: a measurement, or why there is none."""

    case: int
    round: int
    position: int
    """The how-manieth sample of the session this was."""
    seed: int
    measurement: Measurement | None = None
    failure: str | None = None

    @property
    def clean(self) -> bool:
        """Whether it may enter a mean."""
        return self.measurement is not None and not self.measurement.marks

    @property
    def rate(self) -> float:
        """Transitions per second; NaN if there is no measurement."""
        if self.measurement is None:
            return float("nan")
        return self.measurement.transitions / self.measurement.wall


@dataclass(frozen=True)
class Session:
    """Everything that was measured, in the order it was measured in."""

    cases: tuple[Case, ...]
    settings: Settings
    samples: tuple[Sample, ...] = field(default_factory=tuple)

    def of_case(self, case: int) -> list[Sample]:
        """The samples of one case by round."""
        return sorted((s for s in self.samples if s.case == case), key=lambda s: s.round)

    def as_data(self) -> dict[str, Any]:
        """This session as JSON values, raw samples included."""
        return asdict(self)
