"""The search over commits of real repositories, and one whole bisection."""

from __future__ import annotations

import json
import subprocess
import sys
from math import exp, log
from pathlib import Path
from typing import Any

import pytest

from wfbench.benchmarks.measure.turns import Turn
from wfbench.benchmarks.revisions import bisecting
from wfbench.benchmarks.revisions.bisecting import Search, bisect
from wfbench.benchmarks.revisions.building import Build, BuildError, find_project
from wfbench.benchmarks.revisions.model import Pair, Request, SideSample
from wfbench.benchmarks.revisions.series import Effort
from wfbench.benchmarks.statistics.intervals import Estimate
from wfbench.contract import CollectError, NotComparableError
from wfbench.host.manager import PluginSettings

THRESHOLD = log(0.8)


def search(repository: Any, commits: list[str], slow: int, broken: tuple[int, ...] = ()) -> Any:
    """Search commits of which those from `slow` on are, and some cannot be built."""

    def ratio(commit: str) -> Estimate:
        place = commits.index(commit)
        if place in broken:
            raise BuildError("no compiler")
        return Estimate(0.6 if place >= slow else 1.0)

    found = Search(find_project(repository.path), commits[0], commits[-1])
    return found.run(ratio, THRESHOLD), found.steps


@pytest.mark.parametrize("slow", [1, 4, 8])
def test_the_first_slow_commit_is_found_in_few_steps(repository: Any, slow: int) -> None:
    commits = [repository.commit(f"Change {number}") for number in range(9)]
    first, steps = search(repository, commits, slow)
    assert first == [commits[slow]]
    assert len(steps) <= 3


def test_what_cannot_be_built_is_skipped_and_said(repository: Any) -> None:
    commits = [repository.commit(f"Change {number}") for number in range(9)]
    first, steps = search(repository, commits, 4, broken=(3, 5))
    assert set(first) == {commits[3], commits[4]}, "nobody knows which of the two it is"
    skipped = {step.commit: step.why for step in steps if step.found == "skipped"}
    assert skipped[commits[3]] == "no compiler"
    first, _ = search(repository, commits, 4, broken=(5, 6))
    assert first == [commits[4]]


def test_a_commit_is_slow_only_beyond_the_threshold(repository: Any) -> None:
    commits = [repository.commit(f"Change {number}") for number in range(5)]
    found = Search(find_project(repository.path), commits[0], commits[-1])
    assert found.run(lambda _: Estimate(0.8), THRESHOLD) == commits[-1:]
    assert {step.found for step in found.steps} == {"fast"}


class Measured:
    """A case of which every commit has a rate; the pairs of some scatter, and those of one fail."""

    def __init__(self, rates: dict[str, float]) -> None:
        self.rates, self.scatter = rates, set[str]()
        self.good = self.failing = ""
        self.pairs: dict[str, list[tuple[int, int]]] = {}

    def build(self, _project: Any, revision: str) -> Build:
        return Build(revision, revision, Path(revision), "x")

    def side_by_side(self, places: Any, _effort: Any, watch: Any) -> Any:
        assert places[0].path.name == self.good
        commit = places[1].path.name

        def measure(request: Request, planned: Pair) -> Pair:
            assert planned.case == 0
            self.pairs.setdefault(commit, []).append((planned.round, planned.seed))
            if commit == self.failing:
                return Pair(0, planned.round, planned.seed, failure="it hung")
            away = (2.0 if planned.round % 2 else -2.0) if commit in self.scatter else 0.0
            sides = (
                SideSample(0.5, 100, (Turn(1000, 0.02 / rate, 0.02 / rate),) * 4, "h")
                for rate in (1.0, self.rates[commit] * exp(away))
            )
            pair = Pair(0, planned.round, planned.seed, 50, *sides)
            watch(request, pair)
            return pair

        return measure

    def found(self, good: str, bad: str, metric: str = "rate", **effort: float) -> Any:
        self.good = good
        return bisect(
            Request("one"),
            good=good,
            bad=bad,
            metric=metric,
            effort=Effort(**effort),  # type: ignore[arg-type]
            plugins=PluginSettings(),
            watch=lambda *_: None,
        )


@pytest.fixture
def commits(repository: Any) -> list[str]:
    return [repository.commit(f"Change {number}") for number in range(6)]


@pytest.fixture
def measured(commits: list[str], monkeypatch: pytest.MonkeyPatch) -> Measured:
    """Slow from the fourth change on."""
    rates = {commit: 0.5 if place > 3 else 1.0 for place, commit in enumerate(commits)}
    found = Measured(rates)
    for name in ("build", "side_by_side"):
        monkeypatch.setattr(bisecting, name, getattr(found, name))
    monkeypatch.setattr(bisecting, "named_requests", lambda *given: given[-1])
    monkeypatch.setattr(bisecting, "require", lambda *_: None)
    return found


def test_a_commit_is_measured_until_fast_and_slow_are_told_apart(
    commits: list[str], measured: Measured
) -> None:
    measured.scatter = {commits[3]}
    found = measured.found(commits[0], commits[-1], seed=7)
    assert (found.first, found.subjects) == ((commits[4],), ("Change 4",))
    assert found.change.value == pytest.approx(0.5)
    assert (found.good, found.bad, found.metric) == (commits[0], commits[-1], "rate")
    told = {step.commit: (step.subject, step.found) for step in found.steps}
    assert told[commits[3]] == ("Change 3", "fast")
    assert told[commits[4]] == ("Change 4", "slow")
    quiet = [(number, 7 + number) for number in range(4)]
    for commit in told:
        wanted = quiet if commit != commits[3] else [(n, 7 + n) for n in range(24)]
        assert measured.pairs[commit] == wanted


def test_a_commit_that_fails_is_skipped_and_a_bad_one_that_fails_is_an_error(
    commits: list[str], measured: Measured
) -> None:
    measured.failing = commits[3]
    found = measured.found(commits[0], commits[-1])
    assert set(found.first) == {commits[3], commits[4]}
    assert [step.why for step in found.steps if step.found == "skipped"] == ["it hung"]
    with pytest.raises(CollectError, match="it hung"):
        measured.found(commits[0], commits[3])


def test_what_is_not_slower_is_not_bisected(commits: list[str], measured: Measured) -> None:
    for metric, bad in (("memory", 5), ("rate", 3)):
        with pytest.raises(NotComparableError, match=f"{metric} of one, 200 envs is not worse in"):
            measured.found(commits[0], commits[bad], metric)


def test_a_slow_commit_of_a_branch_is_found_behind_the_merge(repository: Any) -> None:
    begin = repository.commit("Begin")
    repository.git("checkout", "--quiet", "-b", "side")
    branch = [repository.commit(f"Side {number}") for number in range(3)]
    repository.git("checkout", "--quiet", "main")
    repository.commit("Main")
    repository.git("merge", "--quiet", "--no-ff", "--message", "Merge", "side")
    merged = repository.git("rev-parse", "HEAD")

    def ratio(commit: str) -> Estimate:
        return Estimate(0.6 if commit in {*branch[1:], merged} else 1.0)

    found = Search(find_project(repository.path), begin, merged)
    assert found.run(ratio, THRESHOLD) == [branch[1]]


def test_a_bisection_names_the_commit_that_planted_it(repository: Any) -> None:
    good = repository.commit("Good")
    repository.plant(4.0)
    planted = repository.commit("Wait for nothing")
    repository.write("pyproject.toml", "[project]\n", "description = 'x'\n")
    repository.commit("Describe")
    small = ("--env", "synthetic", "--n-envs", "4", "--seconds", "0.1", "--detect", "150%")
    done = subprocess.run(
        [sys.executable, "-m", "wfbench", "bisect", "threads", "--good", good, "--json", *small],
        cwd=Path.cwd(),
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert (answer["schema"], answer["first"]) == ("wfbench/bisect/1", [planted])
    assert f"the first slow commit is {planted[:12]} Wait for nothing" in answer["headline"]
    assert answer["change"]["value"] < 0.5


def test_there_is_nothing_to_bisect_backwards(repository: Any) -> None:
    repository.commit("Later")
    done = subprocess.run(
        [sys.executable, "-m", "wfbench", "bisect", "threads", "--good", "HEAD", "--bad", "HEAD~1"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr == "wfbench: HEAD~1 has no commits that HEAD has not; exchange them?\n"
