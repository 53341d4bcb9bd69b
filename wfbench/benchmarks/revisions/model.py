"""What is measured of two revisions, and the pairs that result."""

from __future__ import annotations

from dataclasses import dataclass
from math import log

from wfbench.benchmarks.measure.turns import Turn, cpu_of, log_ratio_of, rate_of

METRICS = ("rate", "cpu", "memory", "start-up")
METRIC_NAMES = {"cpu": "CPU time"}
"""What readers call a metric, where that is not its name."""


@dataclass(frozen=True)
class Request:
    """A case in words that any revision understands: selectors."""

    collector: str
    env: str = "cage2"
    n_envs: int = 200
    policy: str = "random"

    @property
    def label(self) -> str:
        """What a reader calls it."""
        return f"{self.collector}, {self.n_envs} envs"


@dataclass(frozen=True)
class SideSample:
    """One fresh process of one revision."""

    start_up: float
    """Seconds from the start of the process until the collector was open."""
    memory: int
    """Bytes of the whole process tree, shared pages counted once (PSS)."""
    turns: tuple[Turn, ...]
    proof: str | None
    """Hash of the first transitions; None if the collector is not deterministic."""


@dataclass(frozen=True)
class Pair:
    """Two live processes that took turns, or why there is no measurement of them."""

    case: int
    round: int
    seed: int
    steps: int = 0
    """Steps of every environment per collect; 0 until it is known how many fit."""
    old: SideSample | None = None
    new: SideSample | None = None
    foreign_cores: float = 0.0
    """Cores that other programs kept busy meanwhile."""
    failure: str | None = None

    def log_ratio(self, metric: str) -> float:
        """Return the log of new over old; of turns, the interquartile mean over ABBA blocks."""
        old, new = self._sides()
        if metric == "memory":
            return log(new.memory / old.memory)
        if metric == "start-up":
            return log(new.start_up / old.start_up)
        figure = rate_of if metric == "rate" else cpu_of
        return log_ratio_of(figure, new.turns, old.turns)

    def figures(self, metric: str) -> tuple[float, float]:
        """Return the figure of the old side and of the new, in the unit of `bench`."""
        old, new = self._sides()
        if metric == "memory":
            return float(old.memory), float(new.memory)
        if metric == "start-up":
            return old.start_up, new.start_up
        if metric == "rate":
            return rate_of(old.turns), rate_of(new.turns)
        return 1e6 * cpu_of(old.turns), 1e6 * cpu_of(new.turns)

    def _sides(self) -> tuple[SideSample, SideSample]:
        if self.old is None or self.new is None:
            raise ValueError(f"the pair was not measured: {self.failure}")
        return self.old, self.new
