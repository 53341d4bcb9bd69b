"""What is measured of two revisions, and the pairs that result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log
from typing import Any, NamedTuple

from wfbench.benchmarks.statistics.learning import iqm

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


class Turn(NamedTuple):
    """What one side did while the other rested."""

    transitions: int
    wall: float
    cpu: float
    """CPU seconds of the whole process tree."""


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
        """Return the log of new over old; of turns, the interquartile mean over ABBA blocks.

        What disturbs the machine for some milliseconds falls into a few blocks, which the
        interquartile mean leaves out.
        """
        old, new = self._sides()
        if metric == "memory":
            return log(new.memory / old.memory)
        if metric == "start-up":
            return log(new.start_up / old.start_up)
        figure = _rate if metric == "rate" else _cpu
        blocks = zip(_blocks(old.turns), _blocks(new.turns), strict=True)
        return iqm([log(figure(after) / figure(before)) for before, after in blocks])

    def figures(self, metric: str) -> tuple[float, float]:
        """Return the figure of the old side and of the new, in the unit of `bench`."""
        old, new = self._sides()
        if metric == "memory":
            return float(old.memory), float(new.memory)
        if metric == "start-up":
            return old.start_up, new.start_up
        if metric == "rate":
            return _rate(old.turns), _rate(new.turns)
        return 1e6 * _cpu(old.turns), 1e6 * _cpu(new.turns)

    def _sides(self) -> tuple[SideSample, SideSample]:
        if self.old is None or self.new is None:
            raise ValueError(f"the pair was not measured: {self.failure}")
        return self.old, self.new


def _blocks(turns: Sequence[Turn]) -> list[Sequence[Turn]]:
    return [turns[i : i + 2] for i in range(0, len(turns), 2)]


def _rate(turns: Sequence[Any]) -> float:
    return float(sum(t.transitions for t in turns) / sum(t.wall for t in turns))


def _cpu(turns: Sequence[Any]) -> float:
    return float(sum(t.cpu for t in turns) / sum(t.transitions for t in turns))
