"""Compare the working tree with another revision, side by side on this machine.

Rounds go on until every interval is narrow enough for the effect that is asked for, or the time is
up. What looks worse is measured again, in a second series of pairs, before it counts.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean
from time import monotonic
from typing import Any

from wfbench.benchmarks.revisions.building import Build
from wfbench.benchmarks.revisions.judging import (
    LEAST_ROUNDS,
    RevisionCell,
    judge_case,
    narrow_enough,
)
from wfbench.benchmarks.revisions.model import METRICS, Pair, Request
from wfbench.benchmarks.revisions.pairs import Place, measure_pair
from wfbench.benchmarks.statistics.verdicts import Verdict, exit_code_of
from wfbench.collecting.seeding import Purpose, purpose_seed
from wfbench.contract import ExitCode, UsageError

AGAIN = 500_000
"""Rounds of the second series count from here, so that their seeds are new."""


@dataclass(frozen=True)
class Effort:
    """What must be found, and what it may cost."""

    detect: float = 0.10
    """The slow-down that must be found, as a share."""
    budget: float = 600.0
    """Seconds of the check; the first series may use half of them."""
    seconds: float = 1.0
    """Seconds per side and pair."""
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0.01 <= self.detect <= 10.0:
            raise UsageError(f"--detect {self.detect:.3g}: it must be between 1 % and 1000 %")
        if not 1.0 <= self.budget <= 86_400.0:
            raise UsageError(f"--budget {self.budget:g}: it must be between 1 second and a day")
        if not 0.0 < self.seconds <= 60.0:
            raise UsageError(f"--seconds {self.seconds:g}: it must be between 0 and 60")


@dataclass(frozen=True)
class RevisionCheck:
    """The outcome of a comparison of two revisions."""

    old: Build
    new: Build
    effort: Effort
    cells: tuple[RevisionCell, ...]
    failures: Mapping[str, str] = field(default_factory=dict)
    """By case: why a pair of it could not be measured."""
    notes: tuple[str, ...] = ()
    machine: Mapping[str, Any] | None = None

    def with_verdict(self, verdict: Verdict) -> list[RevisionCell]:
        """Return the cells with this verdict."""
        return [cell for cell in self.cells if cell.verdict is verdict]

    def exit_code(self, *, inconclusive_fails: bool) -> ExitCode:
        """Return the exit code of the command; a failure counts before a regression."""
        if self.failures:
            return ExitCode.TRIAL_FAILED
        found = (cell.verdict for cell in self.cells)
        return exit_code_of(found, inconclusive_fails=inconclusive_fails)


Measure = Callable[[Request, Pair], Pair]
Watch = Callable[[Request, Pair], None]


class Series:
    """Pairs of several cases, taken in rounds: what slows the machine down hits all alike."""

    def __init__(self, requests: Sequence[Request], effort: Effort, measure: Measure) -> None:
        self._requests, self._effort, self._measure = requests, effort, measure
        self.failures: dict[int, str] = {}

    def run(
        self, metrics: Mapping[int, Sequence[str]], first_round: int, until: float
    ) -> dict[int, list[Pair]]:
        """Measure cases until these metrics of each are narrow enough, or it fails, or time is up.

        Each has at least the rounds without which nothing can be said.
        """
        taken: dict[int, list[Pair]] = {case: [] for case in metrics}
        going, number = list(taken), first_round
        while going:
            for case in going:
                self._take(taken[case], case, number)
            number += 1
            going = [
                case
                for case in going
                if case not in self.failures and self._goes_on(taken[case], metrics[case], until)
            ]
        return taken

    def _take(self, taken: list[Pair], case: int, number: int) -> None:
        seed = purpose_seed(self._effort.seed, Purpose.BENCH, number)
        pair = self._measure(self._requests[case], Pair(case, number, seed))
        if pair.failure is None:
            taken.append(pair)
        else:
            self.failures[case] = pair.failure

    def _goes_on(self, taken: Sequence[Pair], metrics: Sequence[str], until: float) -> bool:
        if len(taken) < LEAST_ROUNDS:
            return True
        return monotonic() < until and not narrow_enough(taken, metrics, self._effort.detect)


def compare_revisions(
    requests: Sequence[Request], builds: tuple[Build, Build], effort: Effort, measure: Measure
) -> RevisionCheck:
    """Measure, judge, and measure again what looks worse."""
    series, began = Series(requests, effort, measure), monotonic()
    every = dict.fromkeys(range(len(requests)), METRICS)
    first = series.run(every, 0, began + effort.budget / 2.0)
    cells = len(requests) * len(METRICS)

    def judged(again: Mapping[int, Sequence[Pair]]) -> list[list[RevisionCell]]:
        return [
            judge_case(requests[case], pairs, again.get(case, ()), effort.detect, cells)
            for case, pairs in first.items()
            if case not in series.failures
        ]

    found = judged({})
    flagged: dict[int, list[str]] = {}
    for cell in (cell for group in found for cell in group if cell.verdict is Verdict.REGRESSED):
        flagged.setdefault(requests.index(cell.request), []).append(cell.metric)
    again: dict[int, list[Pair]] = {}
    if flagged:
        again = series.run(flagged, AGAIN, began + effort.budget)
        found = judged(again)
    failures = {requests[case].label: why for case, why in series.failures.items()}
    pairs = [p for taken in (*first.values(), *again.values()) for p in taken]
    return RevisionCheck(
        *builds,
        effort,
        tuple(cell for group in found for cell in group),
        failures,
        tuple(_notes(requests, pairs)),
    )


def side_by_side(
    places: tuple[Place, Place], effort: Effort, watch: Watch | None = None
) -> Measure:
    """Return what measures a pair of live processes of two builds."""
    cores = sorted(os.sched_getaffinity(0))
    primed: dict[Request, Pair] = {}

    def measure(request: Request, planned: Pair) -> Pair:
        if request not in primed:
            # Compiled code is cached by whoever comes first; that one is no measurement.
            primed[request] = measure_pair(request, planned, places, seconds=0.0, cores=cores)
        warm = primed[request]
        if warm.failure is not None:
            return replace(planned, failure=warm.failure)
        planned = replace(planned, steps=warm.steps)
        pair = measure_pair(request, planned, places, seconds=effort.seconds, cores=cores)
        if watch is not None:
            watch(request, pair)
        return pair

    return measure


def _notes(requests: Sequence[Request], pairs: Sequence[Pair]) -> Iterable[str]:
    differ = {
        requests[p.case].label for p in pairs if p.old and p.new and p.old.proof != p.new.proof
    }
    if differ:
        yield (
            f"{'; '.join(sorted(differ))}: the revisions collect different transitions, so a "
            "change of speed may be a change of the work"
        )
    busy = fmean(p.foreign_cores for p in pairs) if pairs else 0.0
    if busy > 0.1:
        yield f"other programs used {busy:.1f} cores meanwhile"
