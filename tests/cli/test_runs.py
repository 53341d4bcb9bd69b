"""`wfbench runs`, as a user runs it."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from wfbench.cli.main import main
from wfbench.store.lock import RunLock

DATA = Path(__file__).parents[1] / "formats" / "data"
VERBS = ["list", "show", "history", "rm", "validate"]

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(DATA, tmp_path / "runs"))


@pytest.fixture
def runs(
    capfd: pytest.CaptureFixture[str], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> Command:
    """`wfbench runs ARGS...` on copies of kept results: its exit code, output and errors."""
    monkeypatch.delenv("COLUMNS", raising=False)

    def call(*args: str) -> tuple[int, str, str]:
        code = main(["runs", *args, "--out", str(folder)])
        told = capfd.readouterr()
        return code, told.out, told.err

    return call


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help_and_answers_in_json(
    verb: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["runs", verb, "--help"]) == 0
    told = capfd.readouterr().out
    assert told.startswith(f"Usage: wfbench runs {verb}")
    assert "--json" in told


def test_runs_are_listed_oldest_first_and_broken_ones_say_why(runs: Command, folder: Path) -> None:
    (folder / "odd").mkdir()
    (folder / "odd" / "config.json").write_text('{"schema": "wfbench/run-config/9"}')
    code, out, _ = runs("list")
    assert code == 0
    rows = {line.split()[0]: line for line in out.splitlines()[2:] if not line.startswith(" ")}
    searches = {"search", "search-2", "search-ppo", "search-without-executor"}
    kept = {"bench", "matrix", "matrix-2", *searches}
    assert set(rows) == {"odd", *kept}
    assert "4 cases: fastest" in rows["bench"]
    found = json.loads(runs("list", "--json")[1])["runs"]
    assert (found[0]["name"], found[0]["status"]) == ("odd", "broken")
    assert "which this version does not know" in found[0]["says"]
    created = [one["created"] for one in found]
    assert created == sorted(created)


def test_no_runs_is_said(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["runs", "list", "--out", str(tmp_path / "none")]) == 0
    assert "there are no runs" in capfd.readouterr().out


def test_one_run_is_shown_with_figures_and_files(runs: Command) -> None:
    code, out, _ = runs("show", "search")
    assert code == 0
    assert "search: search, complete" in out
    assert re.search(r"^env-steps +360 *$", out, re.MULTILINE)
    answer = json.loads(runs("show", "search", "--json")[1])
    assert answer["files"]["evaluations/001.json"] > 0
    assert answer["run"]["figures"]["env-steps"] == 360


def test_a_run_that_somebody_has_open_is_running(runs: Command, folder: Path) -> None:
    lock = RunLock(folder / "search")
    try:
        assert "search, running" in runs("show", "search")[1]
    finally:
        lock.release()


def test_history_follows_one_figure_through_runs_of_the_same_work(
    runs: Command, folder: Path
) -> None:
    code, out, _ = runs("history", "search", "--figure", "env-steps")
    assert code == 0
    assert "3 runs of the same work: mean 360, standard deviation 0" in out
    text = (folder / "search" / "config.json").read_text()
    (folder / "search" / "config.json").write_text(
        text.replace('"max_episodes": 3', '"max_episodes": 4')
    )
    assert "1 run of the same work" in runs("history", "search")[1]
    answer = json.loads(runs("history", "bench", "--figure", "sequential@4", "--json")[1])
    assert answer["figure"] == "sequential@4"
    assert [one["run"]["name"] for one in answer["runs"]] == ["bench"]


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["search", "--figure", "luck"], "has no figure 'luck'; choose from: return, compliance"),
        (["matrix"], "has no figure of its own"),
        (["gone"], "there is no run 'gone'"),
    ],
)
def test_what_has_no_history_is_told(args: list[str], said: str, runs: Command) -> None:
    code, _, err = runs("history", *args)
    assert code == 2
    assert said in err


def test_a_run_is_removed_only_when_told_and_not_in_use(runs: Command, folder: Path) -> None:
    code, _, err = runs("rm", "search")
    assert code == 2
    assert "needs --yes" in err
    lock = RunLock(folder / "search")
    try:
        code, _, err = runs("rm", "search", "--yes")
    finally:
        lock.release()
    assert code == 2
    assert "is in use by process" in err
    assert (folder / "search" / "events.jsonl").exists()
    code, out, _ = runs("rm", "search", "bench", "--yes", "--json")
    assert json.loads(out)["removed"] == [str(folder / "search"), str(folder / "bench")]
    assert not (folder / "search").exists()
    assert not list(folder.glob(".*"))


def test_validate_ends_with_3_and_names_the_torn_line(runs: Command, folder: Path) -> None:
    code, out, _ = runs("validate", "search", "matrix", "bench")
    assert code == 0
    assert "all files of 3 runs are sound" in out
    with (folder / "search" / "events.jsonl").open("ab") as file:
        file.write(b'{"event":"upda')
    code, out, _ = runs("validate", "search")
    assert code == 3
    assert 'events.jsonl: line 18, the last one, is torn: \'{"event":"upda\'' in out
    code, out, _ = runs("validate", "search", "--json")
    assert code == 3
    [findings] = json.loads(out)["runs"].values()
    assert sum(finding["problem"] is not None for finding in findings) == 1
