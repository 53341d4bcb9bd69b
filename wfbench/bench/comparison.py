"""What two results differ in, cell by cell, and how sure that is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from .learning import NonInferiority, TimeToThreshold
from .statistics import Estimate, Permutation, holm
from .verdicts import ALPHA, MINIMUM_EFFECT, Verdict, judge, judge_difference

Scale = Literal["ratio", "difference"]


@dataclass(frozen=True)
class Criteria:
    """What it takes for a verdict."""

    minimum_effect: float = MINIMUM_EFFECT
    """Of ratios; differences have a margin of their own."""
    alpha: float = ALPHA


@dataclass(frozen=True)
class Cell:
    """One figure of one case on both sides."""

    name: str
    metric: str
    scale: Scale
    samples: tuple[int, int]
    """Clean samples of the old side and of the new."""
    higher_is_better: bool = True
    old: Estimate | None = None
    new: Estimate | None = None
    effect: Estimate | None = None
    """New over old, or new less old."""
    margin: float | None = None
    """The smallest difference that matters, where the scale is differences."""
    test: Permutation | None = None
    p: float | None = None
    """Adjusted for the number of cells (Holm)."""
    smallest: float | None = None
    """The smallest adjusted p so few samples can reach in so many cells."""
    verdict: Verdict = Verdict.INCONCLUSIVE
    reason: str = ""
    """Why it is not comparable, or what else must be known to read it."""


@dataclass(frozen=True)
class Learned:
    """What the seeds of both sides have learned, beside the paired differences of `Cell`."""

    name: str
    metric: str
    steps: int
    tasks: int
    """Orders the seeds are stratified by; 1 where the runs trained different ones."""
    old: Estimate
    """Interquartile mean."""
    new: Estimate
    improvement: Estimate
    """How probably a new training beats an old one."""
    old_steps: TimeToThreshold
    new_steps: TimeToThreshold
    old_seconds: TimeToThreshold
    new_seconds: TimeToThreshold
    same_machine: bool
    """Else seconds are not comparable."""
    margin: float | None = None
    non_inferiority: NonInferiority = NonInferiority.UNDECIDED


@dataclass(frozen=True)
class Comparison:
    """Two sides side by side."""

    kind: Literal["bench", "search"]
    old: tuple[str, ...]
    """Where the old side was read from."""
    new: tuple[str, ...]
    basis: str
    """What was compared, in words."""
    cells: tuple[Cell, ...]
    criteria: Criteria
    notes: tuple[str, ...] = ()
    learned: tuple[Learned, ...] = ()

    def count(self, verdict: Verdict) -> int:
        """How many cells have this verdict."""
        return sum(cell.verdict is verdict for cell in self.cells)


def not_comparable(cell: Cell, reason: str) -> Cell:
    """The cell without figures, and why."""
    return replace(cell, verdict=Verdict.NOT_COMPARABLE, reason=reason)


def settle(cells: Sequence[Cell], criteria: Criteria) -> tuple[Cell, ...]:
    """Every cell with its adjusted p and its verdict.

    A cell that is not comparable was not tested and takes no part in the adjustment.
    """
    tested = [i for i, cell in enumerate(cells) if cell.test is not None]
    tests = [test for cell in cells if (test := cell.test) is not None]
    ps, smallest = holm([t.p for t in tests]), holm([t.smallest for t in tests])
    settled = list(cells)
    for rank, index in enumerate(tested):
        settled[index] = _judged(
            replace(cells[index], p=ps[rank], smallest=smallest[rank]), criteria
        )
    return tuple(settled)


def power_note(cells: Sequence[Cell], criteria: Criteria) -> str | None:
    """What to do where the samples are too few to find anything; None where they are not."""
    short = [c for c in cells if c.smallest is not None and c.smallest > criteria.alpha]
    if not short:
        return None
    worst = max(short, key=lambda cell: cell.smallest or 0.0)
    return (
        f"with {worst.samples[0]} and {worst.samples[1]} samples and "
        f"{sum(c.test is not None for c in cells)} cells the smallest reachable p is "
        f"{worst.smallest:.3g}: no difference can be shown; measure more, or fewer cells"
    )


def _judged(cell: Cell, criteria: Criteria) -> Cell:
    if cell.effect is None or cell.p is None or cell.smallest is None:
        raise ValueError(f"{cell.name} was tested without an effect")
    if cell.scale == "ratio":
        verdict = judge(
            cell.effect,
            cell.p,
            cell.smallest,
            minimum_effect=criteria.minimum_effect,
            alpha=criteria.alpha,
            higher_is_better=cell.higher_is_better,
        )
    else:
        verdict = judge_difference(
            cell.effect,
            cell.p,
            cell.smallest,
            margin=cell.margin or 0.0,
            alpha=criteria.alpha,
            higher_is_better=cell.higher_is_better,
        )
    return replace(cell, verdict=verdict)
