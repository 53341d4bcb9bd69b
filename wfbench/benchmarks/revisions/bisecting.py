"""Find the commit from which on a case is slow, by measuring revisions side by side."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import log
from pathlib import Path
from typing import Literal

from wfbench.benchmarks.revisions.asking import named_requests, require
from wfbench.benchmarks.revisions.building import Build, BuildError, Project, build, find_project
from wfbench.benchmarks.revisions.judging import half_width
from wfbench.benchmarks.revisions.model import Pair, Request
from wfbench.benchmarks.revisions.pairs import Place
from wfbench.benchmarks.revisions.series import (
    Effort,
    RevisionCheck,
    Watch,
    compare_revisions,
    side_by_side,
)
from wfbench.benchmarks.statistics.intervals import Estimate, exp_estimate, mean_estimate
from wfbench.benchmarks.statistics.verdicts import Verdict
from wfbench.contract import CollectError, NotComparableError, UsageError
from wfbench.host.manager import PluginSettings

Found = Literal["fast", "slow", "skipped"]
_LEAST, _MOST = 4, 24
"""Pairs by which a commit is called fast or slow."""


@dataclass(frozen=True)
class Step:
    """One commit that was looked at."""

    commit: str
    subject: str
    found: Found
    change: Estimate | None = None
    """Its figure over that of the good revision."""
    why: str = ""
    """Why it was skipped."""


@dataclass(frozen=True)
class Bisection:
    """The first slow commit, or the few among which it is."""

    request: Request
    metric: str
    good: str
    bad: str
    change: Estimate
    """The figure of the bad revision over that of the good one."""
    first: tuple[str, ...]
    """The first slow commit; several if those between could not be measured."""
    subjects: tuple[str, ...]
    steps: tuple[Step, ...]


Ratio = Callable[[str], Estimate]


class Search:
    """A binary search over the commits between two revisions, merges included."""

    def __init__(self, project: Project, good: str, bad: str) -> None:
        self._project, self._good, self._bad = project, {good}, bad
        self._skipped: set[str] = set()
        self.steps: list[Step] = []

    def suspects(self) -> list[str]:
        """Return the commits of which one is the first slow one, the latest first."""
        return self._project.git("rev-list", self._bad, "--not", *self._good).split()

    def run(self, slow: Ratio, threshold: float) -> list[str]:
        """Halve the suspects until one is left, or none of them can be measured.

        A commit is slow if its ratio to the good revision is beyond the threshold, given as a log.
        """
        while (commit := self._middle()) is not None:
            subject = self._project.git("log", "-1", "--format=%s", commit)
            try:
                change = slow(commit)
            except (BuildError, CollectError, NotComparableError) as error:
                self._skipped.add(commit)
                self.steps.append(Step(commit, subject, "skipped", why=str(error)))
                continue
            beyond = log(change.value) / threshold > 1.0
            self.steps.append(Step(commit, subject, "slow" if beyond else "fast", change))
            if beyond:
                self._bad = commit
            else:
                self._good.add(commit)
        return [one for one in self.suspects() if one == self._bad or one in self._skipped]

    def _middle(self) -> str | None:
        """Return the commit that halves the suspects best; None if only skipped ones are left."""
        listed = self._project.git(
            "rev-list", "--bisect-all", self._bad, "--not", *self._good
        ).splitlines()
        commits = [line.split()[0] for line in listed]
        return next((c for c in commits if c != self._bad and c not in self._skipped), None)


def bisect(
    request: Request,
    *,
    good: str,
    bad: str,
    metric: str,
    effort: Effort,
    plugins: PluginSettings,
    watch: Watch | None = None,
) -> Bisection:
    """Name the first commit after `good` from which on a case is as slow as in `bad`.

    Raises NotComparableError if `bad` is not slower than `good`.
    """
    project = find_project(Path.cwd())
    start, end = project.commit(good), project.commit(bad)
    search = Search(project, start, end)
    if not search.suspects():
        raise UsageError(f"{bad} has no commits that {good} has not; exchange them?")
    first, last = build(project, good), build(project, bad)
    [asked] = named_requests(last, Place(last.path, plugins), [request])
    require(asked, first, Place(first.path, plugins))
    whole = _compare(asked, (first, last), effort, plugins, watch)
    change = _slow_down(whole, metric)
    threshold = log(change.value) / 2.0

    def ratio(commit: str) -> Estimate:
        built = build(project, commit)
        places = Place(first.path, plugins), Place(built.path, plugins)
        require(asked, built, places[1])
        return _placed(asked, places, metric, threshold, effort, watch)

    found = search.run(ratio, threshold)
    subjects = tuple(project.git("log", "-1", "--format=%s", commit) for commit in found)
    steps = tuple(search.steps)
    return Bisection(asked, metric, start, end, change, tuple(found), subjects, steps)


def _compare(
    request: Request,
    builds: tuple[Build, Build],
    effort: Effort,
    plugins: PluginSettings,
    watch: Watch | None,
) -> RevisionCheck:
    places = Place(builds[0].path, plugins), Place(builds[1].path, plugins)
    return compare_revisions([request], builds, effort, side_by_side(places, effort, watch))


def _slow_down(found: RevisionCheck, metric: str) -> Estimate:
    if found.failures:
        raise CollectError("; ".join(found.failures.values()))
    [cell] = [cell for cell in found.cells if cell.metric == metric]
    if cell.verdict is not Verdict.REGRESSED:
        raise NotComparableError(
            f"{cell.name} is not worse in {found.new.revision} than in {found.old.revision}: "
            f"{cell.verdict}, {cell.why}; there is nothing to bisect"
        )
    return cell.latest.change


def _placed(
    request: Request,
    places: tuple[Place, Place],
    metric: str,
    threshold: float,
    effort: Effort,
    watch: Watch | None,
) -> Estimate:
    """Measure until the interval is narrower than what it must tell apart."""
    measure = side_by_side(places, effort, watch)
    logs: list[float] = []
    estimate = mean_estimate([0.0])
    for number in range(_MOST):
        pair = measure(request, Pair(0, number, effort.seed + number))
        if pair.failure is not None:
            raise CollectError(pair.failure)
        logs.append(pair.log_ratio(metric))
        estimate = mean_estimate(logs)
        if number + 1 >= _LEAST and half_width(estimate) < abs(threshold):
            break
    return exp_estimate(estimate)
