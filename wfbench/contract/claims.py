"""Documented claims: what a claim's measurement is given, and what it must find.

`wfbench reproduce` calls a claim's `measure` with a `Lab` and gets a `Finding`. The laboratory
measures whatever plugins are installed, by their selectors, interleaves what is compared, keeps
every sample for the report, and measures equal things once however many claims ask for them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

Verdict = Literal["reproduced", "reproduced in part", "not reproduced", "cannot be tested here"]
VERDICTS: tuple[Verdict, ...] = (
    "reproduced",
    "reproduced in part",
    "not reproduced",
    "cannot be tested here",
)


@dataclass(frozen=True)
class Interval:
    """A value and the interval it lies in with 95 % confidence; none from one sample."""

    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class FindingTable:
    """Figures that need more than one line."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str | float, ...], ...]


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What the measurement of a claim came to."""

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
    """What was smaller than documented, so that it could be measured here."""
    tables: tuple[FindingTable, ...] = ()

    def __post_init__(self) -> None:
        if self.verdict not in VERDICTS:
            raise ValueError(f"verdict {self.verdict!r} is none of {', '.join(VERDICTS)}")
        for name in ("measured", "why"):
            text = getattr(self, name)
            if not isinstance(text, str) or not text.strip() or "\n" in text:
                raise ValueError(f"{name} must be one line, not {text!r}")
        for name, value in self.values.items():
            if value is not None and not math.isfinite(value):
                raise ValueError(f"value {name!r} is {value}; it must be finite, or None")


@dataclass(frozen=True, kw_only=True)
class CollectCase:
    """Collecting, and nothing else: which collector from which environments for which policy."""

    collector: str
    """A selector, such as `pipe:payload=true-state`."""
    env: str
    n_envs: int
    policy: Literal["random", "network"] = "random"


@dataclass(frozen=True)
class CollectSample:
    """One case in one round, from a fresh process; start-up and warm-up are not in `wall`."""

    round: int
    seed: int
    transitions: int
    vector_steps: int
    """How often every environment made a step."""
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
        """Milliseconds until every environment has made a step."""
        return 1e3 * self.wall / self.vector_steps


@dataclass(frozen=True, kw_only=True)
class TrainCase:
    """Training of orders, one after the other."""

    trainer: str
    """A selector."""
    orders: tuple[str, ...]
    collector: str = "vector"
    env: str = "cage2"
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Of the run configuration, by field: `n_envs`, `max_episodes`, `score`, ..."""


@dataclass(frozen=True)
class Rollouts:
    """A training rollout by rollout; all of the same length."""

    env_steps: tuple[int, ...]
    """Environment steps spent so far."""
    transitions: tuple[int, ...]
    """Data of each rollout."""
    compliance: tuple[float, ...]
    env_return: tuple[float, ...]


@dataclass(frozen=True)
class WorkflowSample:
    """How the training of one order went."""

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


@dataclass(frozen=True)
class TrainSample:
    """One case in one round."""

    round: int
    seed: int
    workflows: tuple[WorkflowSample, ...]
    """One per order."""
    seconds: Mapping[str, float]
    """By phase: `env`, `transport`, `inference`, `idle`, `shaping`, `update`, `search` (with
    evaluation), `open`, ...; they sum to `wall`."""
    memory: int
    """Bytes of the whole process tree while it trained (PSS); 0 unless in a fresh process."""

    @property
    def working(self) -> float:
        """Seconds without start-up and without what only this measurement needed."""
        return self.seconds["wall"] - sum(self.seconds[p] for p in ("open", "store", "observers"))


@dataclass(frozen=True)
class GradientSample:
    """Gradients of independent batches at one and the same policy."""

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
    """Squared length of the expected gradient, as far as known; noise is taken off."""
    env_return: float
    """Mean return of an episode."""
    transitions: int
    """In one batch."""


class Lab(Protocol):
    """Where claims are measured.

    Every method raises a `WfbenchError` if something could not be measured; the claim then counts
    as failed and the next one goes on.
    """

    @property
    def seed(self) -> int:
        """Every random number follows from it."""

    @property
    def quick(self) -> bool:
        """Whether to take minutes off by measuring less."""

    @property
    def cores(self) -> int:
        """Cores that may be used."""

    def collect(
        self, cases: Sequence[CollectCase], *, rounds: int, steps: int, seconds: float
    ) -> list[list[CollectSample]]:
        """The samples of each case by round.

        A sample lasts at least `seconds`, in collects of `steps` steps of every environment, after
        one such collect to warm up.
        """

    def train(
        self, cases: Sequence[TrainCase], *, rounds: int, fresh: bool = False
    ) -> list[list[TrainSample]]:
        """The samples of each case by round; a case's second order inherits from its first, etc.

        With `fresh` each sample has a process of its own, which is what times and memory need.
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
        """For each kind of batch (envs, episodes of each) its samples by round.

        The policy is that of the case's last order when its budget is spent. The trainer must have
        a method `gradient(rollout, rewards)` that gives named arrays; of these, those whose name
        starts with `part` count.
        """

    def mean(self, values: Sequence[float]) -> Interval:
        """The mean over rounds with its interval."""

    def ratio(self, values: Sequence[float], reference: Sequence[float]) -> Interval:
        """How many times the reference, paired by round, with its interval."""
