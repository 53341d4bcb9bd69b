"""The result of a comparison: cells with their effects and verdicts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from wfbench.benchmarks.statistics.intervals import (
    Estimate,
    Permutation,
    adjusted,
    mean_estimate,
    permutation_test,
    unpaired_difference_estimate,
    unpaired_permutation_test,
)
from wfbench.benchmarks.statistics.learning import NonInferiority, TimeToThreshold
from wfbench.benchmarks.statistics.verdicts import (
    ALPHA,
    MINIMUM_EFFECT,
    Scale,
    Verdict,
    exit_code_of,
    judge,
)
from wfbench.contract import ExitCode, NotComparableError


@dataclass(frozen=True)
class Criteria:
    """Thresholds for a verdict."""

    minimum_effect: float = MINIMUM_EFFECT
    """For ratios; a cell of differences has its own margin."""
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
    """New divided by old, or new minus old, by scale."""
    margin: float | None = None
    """The smallest difference that matters; None for ratios."""
    test: Permutation | None = None
    p: float | None = None
    """Adjusted for the number of cells (Holm)."""
    smallest: float | None = None
    """The smallest adjusted p that this number of samples and cells can reach."""
    verdict: Verdict = Verdict.INCONCLUSIVE
    reason: str = ""
    """Why it is not comparable, or a remark on the figures."""
    equal: bool = False
    """Whether both sides have the same values, one by one."""


@dataclass(frozen=True)
class Learned:
    """What the searches of both sides learned; complements the paired differences in `Cell`."""

    name: str
    metric: str
    steps: int
    tasks: int
    """Orders the seeds are stratified by; 1 if the runs trained different orders."""
    old: Estimate
    """Interquartile mean."""
    new: Estimate
    improvement: Estimate
    """Probability that a new training beats an old one."""
    old_steps: TimeToThreshold
    new_steps: TimeToThreshold
    old_seconds: TimeToThreshold
    new_seconds: TimeToThreshold
    same_machine: bool
    """If not, seconds cannot be compared."""
    margin: float | None = None
    non_inferiority: NonInferiority = NonInferiority.UNDECIDED


@dataclass(frozen=True)
class Comparison:
    """Old and new side, compared cell by cell."""

    kind: Literal["bench", "search"]
    old: tuple[str, ...]
    """The runs of the old side."""
    new: tuple[str, ...]
    basis: str
    """What was compared, in one line."""
    cells: tuple[Cell, ...]
    criteria: Criteria
    notes: tuple[str, ...] = ()
    learned: tuple[Learned, ...] = ()

    def count(self, verdict: Verdict) -> int:
        """Return how many cells have this verdict."""
        return sum(cell.verdict is verdict for cell in self.cells)

    def exit_code(self, *, inconclusive_fails: bool) -> ExitCode:
        """Return the exit code of the command; a regression counts first."""
        found = (cell.verdict for cell in self.cells)
        return exit_code_of(found, inconclusive_fails=inconclusive_fails)


def settle(cells: Sequence[Cell], criteria: Criteria) -> tuple[Cell, ...]:
    """Return every cell with its adjusted p and its verdict.

    Cells that were not tested do not count for the adjustment.
    """
    tests = iter(adjusted([cell.test for cell in cells if cell.test is not None]))
    return tuple(
        cell if cell.test is None else _judged(cell, next(tests), criteria) for cell in cells
    )


def power_note(cells: Sequence[Cell], criteria: Criteria) -> Iterator[str]:
    """Yield advice if the samples are too few to find anything."""
    tested = [cell for cell in cells if not cell.equal]
    worst = max(tested, key=lambda cell: cell.smallest or 0.0, default=cells[0])
    if worst.equal or worst.smallest is None or worst.smallest <= criteria.alpha:
        return
    yield (
        f"with {worst.samples[0]} and {worst.samples[1]} samples and "
        f"{sum(c.test is not None for c in cells)} cells the smallest reachable p is "
        f"{worst.smallest:.3g}: no difference can be shown; measure more, or fewer cells"
    )


def differences(
    what: str, old: Mapping[str, Any], new: Mapping[str, Any], missing: str | None = "absent"
) -> Iterator[str]:
    """Yield every entry that is not the same on both sides, as old / new."""
    for name in dict.fromkeys((*old, *new)):
        then, now = old.get(name, missing), new.get(name, missing)
        if then != now:
            yield f"{what}{name} {then} / {now}"


def require_same_task(tasks: Iterable[tuple[Path, Mapping[str, Any]]]) -> None:
    """Raise NotComparableError that names what differs, unless all runs had the same task."""
    (first, task), *others = tasks
    for path, other in others:
        differing = list(differences("", task, other))
        if differing:
            raise NotComparableError(
                f"{first} and {path} learned different things: {'; '.join(differing)}"
            )


def _judged(cell: Cell, test: Permutation, criteria: Criteria) -> Cell:
    if cell.effect is None:
        raise ValueError(f"{cell.name} was tested without an effect")
    least = criteria.minimum_effect if cell.scale == "ratio" else cell.margin or 0.0
    verdict = judge(
        cell.effect,
        test,
        minimum_effect=least,
        scale=cell.scale,
        alpha=criteria.alpha,
        higher_is_better=cell.higher_is_better,
    )
    if cell.equal:
        verdict = Verdict.IDENTICAL
    return replace(cell, p=test.p, smallest=test.smallest, verdict=verdict)


def difference_cell(
    name: str,
    metric: str,
    old: Sequence[float],
    new: Sequence[float],
    margin: float,
    *,
    paired: bool,
) -> Cell:
    """Return new minus old of two sets of values, paired one by one or not."""
    apart = [b - a for a, b in zip(old, new, strict=True)] if paired else []
    return Cell(
        name=name,
        metric=metric,
        scale="difference",
        samples=(len(old), len(new)),
        old=mean_estimate(old),
        new=mean_estimate(new),
        effect=mean_estimate(apart) if paired else unpaired_difference_estimate(new, old),
        margin=margin,
        test=permutation_test(apart) if paired else unpaired_permutation_test(new, old),
        equal=paired and not any(apart),
    )
