"""A baseline of learning: return and compliance after a fixed number of steps.

Seeds are the samples: a search is compared with the search of the same seed. The same code gives
the same search, so only a change of the code moves a result.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from wfbench import __version__
from wfbench.benchmarks.compare.learning_runs import LearningCurve, LearningRun
from wfbench.benchmarks.compare.model import Comparison, Learned
from wfbench.benchmarks.compare.searches import Margins, compare_learning, equal_steps
from wfbench.benchmarks.statistics.learning import NonInferiority
from wfbench.benchmarks.statistics.verdicts import Verdict, exit_code_of
from wfbench.contract import ExitCode, NotComparableError

_VERDICTS = {
    NonInferiority.INFERIOR: Verdict.REGRESSED,
    NonInferiority.NON_INFERIOR: Verdict.NO_CHANGE,
    NonInferiority.UNDECIDED: Verdict.INCONCLUSIVE,
}


@dataclass(frozen=True)
class LearningBaseline:
    """Searches that later ones are compared with."""

    name: str
    created: str
    steps: int
    """Environment steps of each training after which it is compared."""
    margins: Margins
    """How much worse a new search may be and still be good enough."""
    runs: tuple[LearningRun, ...]
    wfbench: str = __version__


@dataclass(frozen=True)
class LearningCheck:
    """Searches compared with those of a baseline."""

    baseline: LearningBaseline
    comparison: Comparison

    @property
    def verdicts(self) -> tuple[tuple[Learned, Verdict], ...]:
        """Every figure with its verdict."""
        return tuple((one, learning_verdict(one)) for one in self.comparison.learned)

    def exit_code(self, *, inconclusive_fails: bool) -> ExitCode:
        """Return the exit code of the command."""
        found = (verdict for _, verdict in self.verdicts)
        return exit_code_of(found, inconclusive_fails=inconclusive_fails)


def make_learning_baseline(
    runs: Sequence[LearningRun],
    name: str,
    *,
    created: str,
    margins: Margins,
    steps: int | None = None,
) -> LearningBaseline:
    """Return the baseline of finished searches that learned the same thing."""
    for run in runs:
        if not run.finished:
            raise NotComparableError(f"{run.path} is not finished; resume it first (--resume)")
    limit = equal_steps(runs, steps)
    kept = tuple(
        replace(run, trainings=tuple(_around(training, limit) for training in run.trainings))
        for run in runs
    )
    found = LearningBaseline(name, created, limit, margins, kept)
    # What prevents runs from being compared with themselves would prevent every later check.
    check_learning(found, kept, "itself")
    return found


def check_learning(
    baseline: LearningBaseline, runs: Sequence[LearningRun], where: str
) -> LearningCheck:
    """Compare new searches with those of the baseline, paired by seed."""
    names = ((f"baseline {baseline.name}",), (where,))
    return LearningCheck(
        baseline,
        compare_learning(
            baseline.runs, runs, steps=baseline.steps, margins=baseline.margins, names=names
        ),
    )


def learning_verdict(learned: Learned) -> Verdict:
    """Return the verdict that gates: regressed if it is surely worse than the margin allows."""
    return _VERDICTS[learned.non_inferiority]


def _around(training: LearningCurve, steps: int) -> LearningCurve:
    """Keep the points just before and after `steps`: what it had reached, and that it went on."""
    before = [p for p in training.points if p.steps <= steps and p.known][-1:]
    after = [p for p in training.points if p.steps >= steps][:1]
    points = sorted({p.steps: p for p in (*before, *after)}.items())
    return replace(training, points=tuple(point for _, point in points))
