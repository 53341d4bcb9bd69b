from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

import pytest

ENV = "synthetic:step=0.04,busy=false,episode_length=4,slow_workers=slow.txt"
"""Steps that sleep: the ratio of two collectors then hardly depends on what else is running.

Episodes are short because the first round proves equal work beyond the end of one."""
SHORT = ("--n-envs", "4", "--rounds", "5", "--seconds", "0.3", "--steps", "1")
TWO = ("--collector", "sequential", "--collector", "shm:workers=2")


def run_wfbench(folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    environ = {k: v for k, v in os.environ.items() if not k.startswith("WFBENCH_")}
    return subprocess.run(
        [sys.executable, "-m", "wfbench", *args],
        cwd=folder,
        env=environ,
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the baseline `two`."""
    folder = tmp_path_factory.mktemp("measured")
    done = run_wfbench(folder, "bench", "--env", ENV, *TWO, *SHORT, "--name", "then")
    assert done.returncode == 0, done.stderr
    samples = folder / "results" / "runs" / "then" / "samples.jsonl"
    # As if nothing else had run: the machine of the tests may be busy.
    samples.write_text(re.sub(r'"foreign_cpu":[^,]+', '"foreign_cpu":0.0', samples.read_text()))
    done = run_wfbench(folder, "baseline", "save", "two", "then")
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def folder(measured: Path, tmp_path: Path) -> Path:
    """The same, to be changed at will."""
    return Path(shutil.copytree(measured, tmp_path / "copy"))


def test_a_collector_slowed_down_fourfold_fails_the_check_by_name(folder: Path) -> None:
    """Far above the noise of any machine; `tests/benchmarks/test_gate.py` plants 30 %."""
    (folder / "slow.txt").write_text("4")
    done = run_wfbench(folder, "check", "--busy", "judge", "--out", "found", "--md", "comment.md")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "REGRESSED: shm:workers=2 got slower" in done.stdout
    verdict = json.loads((folder / "found" / "verdict.json").read_text())
    assert (verdict["schema"], verdict["exit_code"]) == ("wfbench/verdict/1", 1)
    [slower] = [cell for cell in verdict["cells"] if cell["verdict"] == "regressed"]
    assert slower["label"] == "shm:workers=2"
    assert 1 / 8 < slower["first"]["change"]["value"] < 1 / 2
    assert slower["again"]["verdict"] == "regressed"
    [suite] = Xml.parse(folder / "found" / "junit.xml").getroot()  # noqa: S314 - we wrote it
    assert (suite.get("tests"), suite.get("failures")) == ("1", "1")
    comment = (folder / "comment.md").read_text()
    assert "**failed**: REGRESSED: shm:workers=2 got slower\n" in comment
    assert len(list((folder / "found" / "runs").iterdir())) == 2, "it is measured twice"


def test_the_same_code_again_is_no_regression(folder: Path) -> None:
    done = run_wfbench(folder, "check", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    answer = json.loads(done.stdout)
    assert answer["schema"] == "wfbench/verdict/1"
    assert answer["verdict"] in {"ok", "inconclusive"}
    assert any("not calibrated" in note for note in answer["notes"])
    assert (folder / answer["out"] / "junit.xml").exists()
    rounds = [line for line in done.stderr.splitlines() if line.startswith("round ")]
    assert len(rounds) >= 10


def test_without_a_baseline_nothing_is_measured(tmp_path: Path) -> None:
    done = run_wfbench(tmp_path, "check")
    assert done.returncode == 5
    assert "there is no baseline in results/baselines" in done.stderr
    assert "wfbench baseline save NAME RUN" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not list(tmp_path.iterdir())


def change(folder: Path, edit: Any) -> None:
    file = folder / "results" / "baselines" / "two.json"
    values = json.loads(file.read_text())
    edit(values)
    file.write_text(json.dumps(values))


def test_what_cannot_be_compared_is_named(folder: Path) -> None:
    change(folder, lambda b: b["cells"][1]["case"]["env"]["options"].update(wings=2))
    done = run_wfbench(folder, "check")
    assert done.returncode == 5
    assert "env 'synthetic' no longer has the option 'wings'" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_failing_trial_is_told_apart_from_a_slow_one(folder: Path) -> None:
    (folder / "slow.txt").write_text("nonsense")
    done = run_wfbench(folder, "check", "--rounds", "1", "--out", "found")
    assert done.returncode == 3
    assert "FAILED: shm:workers=2 could not be measured soundly" in done.stdout
    assert "could not convert string to float" in done.stdout
    verdict = json.loads((folder / "found" / "verdict.json").read_text())
    assert verdict["verdict"] == "failed"
    [suite] = Xml.parse(folder / "found" / "junit.xml").getroot()  # noqa: S314 - we wrote it
    assert suite.get("errors") == "1"


def test_one_round_says_nothing_and_can_be_made_to_fail(folder: Path) -> None:
    done = run_wfbench(folder, "check", "--rounds", "1", "--inconclusive", "fail")
    assert done.returncode == 4, done.stdout + done.stderr
    assert "inconclusive: shm:workers=2" in done.stdout


def test_smoke_goes_through_everything_and_keeps_nothing(folder: Path) -> None:
    before = sorted(folder.rglob("*"))
    done = run_wfbench(folder, "check", "--smoke")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "a slow-down planted in shm:workers=2 was found" in done.stdout
    assert sorted(folder.rglob("*")) == before


def test_smoke_finds_a_baseline_that_no_longer_fits(folder: Path) -> None:
    change(folder, lambda b: b["cells"][1]["case"].update(label="gone"))
    done = run_wfbench(folder, "check", "--smoke")
    assert done.returncode == 5
    assert "there is no collector 'gone'" in done.stderr


def test_a_comment_that_cannot_be_written_is_told_before_anything_is_measured(folder: Path) -> None:
    done = run_wfbench(folder, "check", "--md", "nowhere/comment.md")
    assert done.returncode == 2
    assert done.stderr == (
        "wfbench: --md nowhere/comment.md: there is no such directory; make it first\n"
    )


def test_smoke_takes_no_other_option(tmp_path: Path) -> None:
    for other in (("--rounds", "3"), ("--inconclusive", "fail"), ("--busy", "judge")):
        done = run_wfbench(tmp_path, "check", "--smoke", *other)
        assert done.returncode == 2
        assert "--smoke judges no speed" in done.stderr


class TestBaseline:
    def test_list_show_and_rm(self, folder: Path) -> None:
        listed = json.loads(run_wfbench(folder, "baseline", "list", "--json").stdout)
        assert [one["name"] for one in listed["baselines"]] == ["two"]
        shown = run_wfbench(folder, "baseline", "show", "two")
        assert "made by: wfbench bench --env synthetic" in shown.stdout
        assert "times sequential" in shown.stdout
        (folder / "results" / "baselines" / "torn.json").write_text("{")
        beside = run_wfbench(folder, "baseline", "list")
        assert "two" in beside.stdout
        assert "torn.json is not JSON" in beside.stderr
        (folder / "results" / "baselines" / "torn.json").unlink()
        assert run_wfbench(folder, "baseline", "rm", "two").returncode == 0
        assert "there is no baseline" in run_wfbench(folder, "baseline", "list").stdout

    def test_only_one_that_is_to_be_replaced_is_replaced(self, folder: Path) -> None:
        save = ("baseline", "save", "two", "then", "--reference", "shm:workers=2")
        done = run_wfbench(folder, *save)
        assert done.returncode == 2
        assert "already exists; say --replace" in done.stderr
        assert run_wfbench(folder, *save, "--replace").returncode == 0
        shown = json.loads(run_wfbench(folder, "baseline", "show", "two", "--json").stdout)
        assert shown["reference"] == "shm:workers=2"

    def test_a_smoke_run_becomes_no_baseline(self, folder: Path) -> None:
        file = folder / "results" / "runs" / "then" / "config.json"
        file.write_text(file.read_text().replace('"smoke": false', '"smoke": true'))
        done = run_wfbench(folder, "baseline", "save", "it", "then")
        assert done.returncode == 5
        assert "this was a smoke run" in done.stderr


class TestLearning:
    @pytest.fixture
    def searched(
        self, tmp_path: Path, wfbench: Any, small_run: list[str], small_plugins: dict[str, str]
    ) -> Path:
        """A folder with the searches s0 and s1 and the baseline `learnt` of them."""
        for seed in ("0", "1"):
            args = (*small_run, "--workflows", "2", "--seed", seed, "--name", f"s{seed}")
            done = wfbench(*args, "--quiet", env=small_plugins, cwd=tmp_path)
            assert done.returncode == 0, done.stderr
        done = run_wfbench(tmp_path, "baseline", "save", "learnt", "s0", "s1")
        assert done.returncode == 0, done.stderr
        assert "Baseline learnt: of learning" in done.stdout
        return tmp_path

    def test_a_search_that_learns_worse_fails_and_the_same_does_not(self, searched: Path) -> None:
        runs = ("--run", "s0", "--run", "s1")
        done = run_wfbench(searched, "check", *runs, "--out", "same", "--md", "same.md")
        assert done.returncode == 0, done.stdout + done.stderr
        assert done.stdout.splitlines()[0].endswith("Check against learnt: no regression")
        assert "**ok**: no regression" in (searched / "same.md").read_text()
        file = searched / "results" / "baselines" / "learnt.json"
        values = json.loads(file.read_text())
        for run in values["runs"]:
            for training in run["trainings"]:
                for point in training["points"]:
                    point["score"] += 100.0
        file.write_text(json.dumps(values))
        done = run_wfbench(searched, "check", *runs, "--out", "worse")
        assert done.returncode == 1, done.stdout + done.stderr
        assert (
            "REGRESSED: return of sequential, tiny:lr=0.002, climber learned worse" in done.stdout
        )
        verdict = json.loads((searched / "worse" / "verdict.json").read_text())
        assert (verdict["verdict"], verdict["exit_code"]) == ("regressed", 1)
        [suite] = Xml.parse(searched / "worse" / "junit.xml").getroot()  # noqa: S314 - we wrote it
        assert (suite.get("tests"), suite.get("failures")) == ("2", "1")
        done = run_wfbench(searched, "check")
        assert done.returncode == 2
        assert "search again with the same settings (seeds 0, 1)" in done.stderr
