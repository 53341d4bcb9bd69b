"""What a process did turn by turn while another one rested, and how two such processes compare."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import log
from typing import NamedTuple

from wfbench.benchmarks.statistics.learning import iqm


class Turn(NamedTuple):
    """What one process did while the other rested."""

    transitions: int
    wall: float
    cpu: float
    """CPU seconds of the whole process tree."""


Turns = Sequence[tuple[int, float, float]]
"""Turns as they are stored."""
Figure = Callable[[Turns], float]


def rate_of(turns: Turns) -> float:
    """Return transitions per second."""
    return float(sum(t[0] for t in turns) / sum(t[1] for t in turns))


def cpu_of(turns: Turns) -> float:
    """Return CPU seconds per transition."""
    return float(sum(t[2] for t in turns) / sum(t[0] for t in turns))


def log_ratio_of(figure: Figure, turns: Turns, beside: Turns) -> float:
    """Return the log of a figure over that of the other process: the interquartile mean of blocks.

    A block is ABBA, two turns of each. What disturbs the machine for some milliseconds falls into a
    few blocks, which the interquartile mean leaves out.
    """
    blocks = zip(_blocks(turns), _blocks(beside), strict=True)
    return iqm([log(figure(mine) / figure(theirs)) for mine, theirs in blocks])


def _blocks(turns: Turns) -> list[Turns]:
    return [turns[i : i + 2] for i in range(0, len(turns), 2)]
