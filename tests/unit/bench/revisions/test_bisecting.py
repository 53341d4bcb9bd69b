"""The search over commits of real repositories, and one whole bisection."""

from __future__ import annotations

import json
import subprocess
import sys
from math import log
from pathlib import Path
from typing import Any

import pytest

from wfbench.benchmarks.revisions.bisecting import Search
from wfbench.benchmarks.revisions.building import BuildError, find_project
from wfbench.benchmarks.statistics.intervals import Estimate

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
