"""Whole checks of a stranger's package: real builds, real processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

import psutil
import pytest

import wfbench as package
from wfbench.benchmarks.revisions.model import Pair, Request
from wfbench.benchmarks.revisions.pairs import LiveSide, Place, measure_pair
from wfbench.processes.segments import segment_dir

SMALL = ("--env", "synthetic", "--n-envs", "4")
SHORT = ("--seconds", "0.1", "--detect", "150%", "--budget", "20s")
FILES = ("--out", "o", "--md", "c.md")


def wfbench(repository: Any, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "wfbench", *arguments],
        cwd=repository.path,
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )


def test_a_side_runs_on_the_cores_that_it_is_given() -> None:
    core = max(os.sched_getaffinity(0))
    with closing(LiveSide(Place(Path(package.__file__).parents[1]))) as side:
        side.open(Request("sequential", "synthetic", 2), 0, [core])
        assert os.sched_getaffinity(side.members[0]) == {core}


def test_a_side_that_is_ended_early_leaves_no_shared_memory() -> None:
    with closing(LiveSide(Place(Path(package.__file__).parents[1]))) as side:
        side.open(Request("shm", "synthetic", 4), 0, sorted(os.sched_getaffinity(0)))
        pid = side.members[0]
        assert list(segment_dir().glob(f"wfbench_{pid}_*")), "the collector is open"
        below = {one.pid for one in psutil.Process(pid).children(recursive=True)}
        assert set(side.members[1:]) == below
        assert len(below) > len(psutil.Process(pid).children()), "some started others"
    assert not list(segment_dir().glob(f"wfbench_{pid}_*"))


def test_a_pair_has_at_least_three_blocks_of_turns() -> None:
    here, cores = Place(Path(package.__file__).parents[1]), sorted(os.sched_getaffinity(0))
    asked = Request("sequential", "synthetic", 2)
    pair = measure_pair(asked, Pair(0, 0, 1), (here, here), seconds=0.0, cores=cores)
    assert pair.old is not None
    assert pair.new is not None
    assert (len(pair.old.turns), len(pair.new.turns)) == (6, 6)


def test_a_slow_working_tree_fails_by_name(repository: Any) -> None:
    repository.plant(3.0)
    done = wfbench(repository, "check", "--against", "HEAD", *SMALL, *SHORT, *FILES)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "REGRESSED: threads, 4 envs got slower by " in done.stdout
    verdict = json.loads((repository.path / "o" / "verdict.json").read_text())
    assert (verdict["schema"], verdict["of"], verdict["exit_code"]) == (
        "wfbench/verdict/1",
        "revisions",
        1,
    )
    cells = {cell["metric"]: cell for cell in verdict["cells"]}
    assert cells["rate"]["again"]["verdict"] == cells["cpu"]["verdict"] == "regressed"
    [suite] = Xml.parse(repository.path / "o" / "junit.xml").getroot()  # noqa: S314 - we wrote it
    assert suite.get("tests") == "4"
    assert "**failed**: REGRESSED: threads, 4 envs" in (repository.path / "c.md").read_text()
    pairs = (repository.path / "o" / "pairs.jsonl").read_text().splitlines()
    assert len(pairs) >= 16, "what looks slower is measured twice"
    shown = wfbench(repository, "report", "o/verdict.json")
    assert "REGRESSED: threads, 4 envs" in shown.stdout, shown.stderr
    assert repository.git("status", "--porcelain") == (
        "M src/wfbench_threads/collector.py\n?? c.md\n?? o/"
    )


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("--against", "nowhere"), 2, "there is no revision 'nowhere'"),
        (("--against", "HEAD", "--rounds", "3"), 2, "--rounds: not with --against REV"),
        (("--detect", "10%"), 2, "--detect: only with --against REV"),
        (("--against", "HEAD", "--detect", "much"), 2, "'much' is not a share such as 10%"),
        (("--against", "HEAD", "--budget", "5 weeks"), 2, "is not a time such as 90s"),
        (("--against", "HEAD", "--collector", "gone"), 2, "there is no collector 'gone'"),
        (("--against", "HEAD", "--env", "gone"), 2, "there is no env 'gone'"),
    ],
)
def test_what_makes_no_sense_is_one_line(
    repository: Any, arguments: tuple[str, ...], code: int, says: str
) -> None:
    done = wfbench(repository, "check", *arguments)
    assert (done.returncode, len(done.stderr.splitlines())) == (code, 1), done.stderr
    assert says in done.stderr


def test_a_collector_that_only_the_working_tree_has_cannot_be_compared(repository: Any) -> None:
    repository.write("src/wfbench_threads/plugin.py", 'name="', "new-")
    done = wfbench(repository, "check", "--against", "HEAD", *SMALL)
    assert done.returncode == 5, done.stdout + done.stderr
    assert "nothing can be compared: new-threads, 4 envs" in done.stderr
    assert "there is no collector 'new-threads'" in done.stderr


def test_a_package_without_collectors_says_what_to_name(repository: Any) -> None:
    repository.write("src/wfbench_threads/plugin.py", "    return [", "]\n    return [")
    done = wfbench(repository, "check", "--against", "HEAD", *SMALL)
    assert done.returncode == 2
    assert "wfbench-threads offers no collector for synthetic; name one" in done.stderr
