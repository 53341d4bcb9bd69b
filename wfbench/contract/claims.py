"""Documented claims: what the measurement of a claim gets and returns.

`wfbench reproduce` calls a claim's `measure` with a `Lab` and gets a `Finding`. The lab measures
installed plugins by their selectors, interleaves what is compared, and keeps every sample for the
report. It measures equal cases only once, however many claims ask for them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, get_args

Verdict = Literal["reproduced", "reproduced in part", "not reproduced", "cannot be tested here"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)


@dataclass(frozen=True)
class Interval:
    """A value and its 95 % confidence interval; one sample has no interval."""

    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class FindingTable:
    """Figures that need more than one line."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str | float | None, ...], ...]
    factors: bool = False
    """The columns are group, label, factor, low, high: drawn as a bar per row, on a log axis."""


@dataclass(frozen=True)
class Condition:
    """What a claim came to under one of several conditions."""

    name: str
    """Such as `this machine`."""
    measured: str
    interval: Interval | None
    verdict: Verdict


@dataclass(frozen=True, kw_only=True)
class Finding:
    """The result of measuring a claim."""

    measured: str
    """The measured figure with its unit, as the table shows it."""
    interval: Interval | None
    """The same figure as a number; None if it is a count that has no spread."""
    verdict: Verdict
    why: str
    """One sentence: why this verdict."""
    values: Mapping[str, float | None] = field(default_factory=dict)
    """Every other figure by name; None where there is none, such as a median never reached."""
    scaled: tuple[str, ...] = ()
    """What was scaled down from the documented size, to be measured here."""
    tables: tuple[FindingTable, ...] = ()
    under: tuple[Condition, ...] = ()
    """The same by condition, where there were several; `verdict` is then the best of theirs."""
    headline: str = ""
    """The finding as the first line of a report has it; empty if it does not belong there."""

    def __post_init__(self) -> None:
        for verdict in (self.verdict, *(one.verdict for one in self.under)):
            if verdict not in VERDICTS:
                raise ValueError(f"verdict {verdict!r} is none of {', '.join(VERDICTS)}")
        for name in ("measured", "why"):
            text = getattr(self, name)
            if not isinstance(text, str) or not text.strip() or "\n" in text:
                raise ValueError(f"{name} must be one line, not {text!r}")
        for name, value in self.values.items():
            if value is not None and not math.isfinite(value):
                raise ValueError(f"value {name!r} is {value}; it must be finite, or None")

    @property
    def judged(self) -> str:
        """Return the verdict, with the conditions under which it and the others hold."""
        if not self.under:
            return self.verdict
        first = sorted(self.under, key=lambda one: one.verdict != self.verdict)
        return "; ".join(f"{one.verdict} ({one.name})" for one in first)


@dataclass(frozen=True, kw_only=True)
class CollectCase:
    """A case that only collects: collector, environments and policy."""

    collector: str
    """A selector, such as `pipe:payload=true-state`."""
    env: str
    n_envs: int
    policy: Literal["random", "network"] = "random"


@dataclass(frozen=True)
class CollectSample:
    """One case in one round, in a fresh process; `wall` excludes start-up and warm-up."""

    round: int
    seed: int
    transitions: int
    vector_steps: int
    """How many steps every environment made."""
    wall: float
    cpu: float
    """CPU seconds of the whole process tree."""
    memory: int
    """Bytes of the whole process tree, shared pages counted once (PSS)."""
    start_up: float

    @property
    def rate(self) -> float:
        """Transitions per second."""
        return self.transitions / self.wall

    @property
    def step_ms(self) -> float:
        """Milliseconds per step of all environments."""
        return 1e3 * self.wall / self.vector_steps


@dataclass(frozen=True, kw_only=True)
class TrainCase:
    """A case that trains orders, one after the other."""

    trainer: str
    """A selector."""
    orders: tuple[str, ...]
    collector: str = "vector"
    env: str = "cage2"
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Settings of the run configuration, by field: `n_envs`, `max_episodes`, `score`, ..."""


@dataclass(frozen=True)
class Rollouts:
    """A training as one value per rollout."""

    env_steps: tuple[int, ...]
    """Environment steps spent so far."""
    transitions: tuple[int, ...]
    """Transitions of each rollout."""
    compliance: tuple[float, ...]
    env_return: tuple[float, ...]


@dataclass(frozen=True)
class WorkflowSample:
    """The training of one order."""

    order: str
    status: str
    compliant: bool
    compliance: float
    score: float
    score_sd: float
    score_episodes: int
    updates: int
    env_steps: int
    evaluation_steps: int
    steps_to_compliance: int | None
    rollouts: Rollouts


_APART = ("start_up", "store", "observers")


@dataclass(frozen=True)
class TrainSample:
    """One case in one round."""

    round: int
    seed: int
    workflows: tuple[WorkflowSample, ...]
    """One per order."""
    seconds: Mapping[str, float]
    """By phase: `env`, `transport`, `inference`, `idle`, `shaping`, `update`, `search` (with
    evaluation), `start_up`, ..."""
    memory: int
    """Bytes of the whole process tree while it trained (PSS); 0 unless in a fresh process."""

    @property
    def working(self) -> float:
        """Seconds without start-up and without the costs of measuring."""
        return sum(self.seconds.values()) - sum(self.seconds[p] for p in _APART)


@dataclass(frozen=True)
class GradientSample:
    """Gradients of independent batches at the same policy."""

    round: int
    seed: int
    n_envs: int
    episodes: int
    """Per environment and batch."""
    batches: int
    cosine: float
    """Mean cosine similarity between the gradients of two batches."""
    variance: float
    """Mean squared distance of a batch's gradient from the expected one."""
    signal: float
    """Estimated squared length of the expected gradient, with the noise subtracted."""
    env_return: float
    """Mean return of an episode."""
    transitions: int
    """In one batch."""


class Lab(Protocol):
    """Where claims are measured.

    Every method raises a `WfbenchError` if something cannot be measured. The claim then counts as
    failed, and the next one is measured.
    """

    @property
    def seed(self) -> int:
        """The seed of every random number."""

    @property
    def quick(self) -> bool:
        """Whether to measure less, to save time."""

    @property
    def cores(self) -> int:
        """Cores that may be used."""

    def collect(
        self, cases: Sequence[CollectCase], *, rounds: int, steps: int, seconds: float
    ) -> list[list[CollectSample]]:
        """Return the samples of each case by round.

        A sample collects `steps` steps of every environment at a time, for at least `seconds`,
        after one such collect to warm up.
        """

    def train(
        self, cases: Sequence[TrainCase], *, rounds: int, fresh: bool = False
    ) -> list[list[TrainSample]]:
        """Return the samples of each case by round.

        Each order of a case inherits from the one before it. With `fresh` each sample has a process
        of its own, which times and memory need.
        """

    def gradients(
        self,
        case: TrainCase,
        batches: Sequence[tuple[int, int]],
        *,
        count: int,
        rounds: int,
        part: str = "",
    ) -> list[list[GradientSample]]:
        """Return the samples by round for each kind of batch (envs, episodes of each).

        The policy is that of the case's last order when its budget is spent. The trainer must have
        a method `gradient(rollout, rewards)` that returns named arrays; only those whose name
        starts with `part` are used.
        """

    def mean(self, values: Sequence[float]) -> Interval:
        """Return the mean over rounds with its interval."""

    def ratio(self, values: Sequence[float], reference: Sequence[float]) -> Interval:
        """Return the ratio to the reference, paired by round, with its interval."""
