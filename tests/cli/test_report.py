"""`wfbench report` and `evaluate --save`, as a user runs them."""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from wfbench.cli.main import main

DATA = Path(__file__).parents[1] / "formats" / "data"
REPORTER = """
from dataclasses import dataclass
from wfbench.contract import ReporterSpec, hookimpl

@dataclass
class Options:
    sign: str = "-"

class Titles:
    def __init__(self, sign="-"):
        self.sign = sign

    def render(self, report):
        return "".join(f"{self.sign} {s['title']}: {s['headline']['outcome']}\\n"
                       for s in report["sections"])

class Failing:
    def render(self, report):
        raise RuntimeError("no ink")

class Silent:
    def render(self, report):
        return None

@hookimpl
def wfbench_reporters():
    return [
        ReporterSpec(name="titles", summary="Titles", factory=f"{__name__}:Titles",
                     options=Options, suffix=".txt"),
        ReporterSpec(name="failing", summary="Fails", factory=f"{__name__}:Failing", suffix=".txt"),
        ReporterSpec(name="silent", summary="Nothing", factory=f"{__name__}:Silent", suffix=".x"),
    ]
"""

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def plugins(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("plugins")
    (folder / "reporting.py").write_text(REPORTER)
    return folder


@pytest.fixture
def report(capfd: pytest.CaptureFixture[str], tmp_path: Path, plugins: Path) -> Command:
    """`wfbench report ARGS...` on copies of kept results: its exit code, output and errors."""
    shutil.copytree(DATA, tmp_path / "runs")

    def call(*args: str) -> tuple[int, str, str]:
        before = ["--no-plugins"] if "--as" not in args else ["--plugins-dir", str(plugins)]
        code = main([*before, "report", *args, "--out", str(tmp_path / "runs")])
        told = capfd.readouterr()
        return code, told.out, told.err

    return call


def test_a_terminal_gets_verdicts_first_and_every_table(report: Command) -> None:
    code, out, _ = report("search", "bench")
    assert code == 0
    lines = out.splitlines()
    assert lines[0] == "search · bench"
    assert lines[1].startswith("undecided Search search: 0 of 3 trainings")
    assert "How fast is each collector?" in out
    assert "made by: wfbench bench" in out


def test_a_page_goes_beside_its_run_and_says_so(report: Command, tmp_path: Path) -> None:
    code, out, _ = report("bench", "--html")
    page = tmp_path / "runs" / "bench" / "report.html"
    assert (code, out) == (0, f"wrote {page}\n")
    assert page.read_text().startswith("<!doctype html>")


@pytest.mark.parametrize("form", ["md", "csv", "junit", "html"])
def test_every_format_goes_to_standard_output_or_a_file(
    form: str, report: Command, tmp_path: Path
) -> None:
    file = tmp_path / "there"
    code, out, _ = report("bench", f"--{form}", "--to", str(file))
    assert (code, out) == (0, f"wrote {file}\n")
    code, out, _ = report("bench", f"--{form}", "--to", "-")
    assert code == 0

    def undated(text: str) -> str:
        return "\n".join(line for line in text.splitlines() if "put together" not in line)

    kept = undated(file.read_text())
    assert undated(out)[:-60] == kept[:-60]
    if form == "csv":
        rows = list(csv.DictReader(out.splitlines()))
        assert {row["schema"] for row in rows} == {"wfbench/report-values/1"}
    if form == "junit":
        assert ET.fromstring(out).get("failures") == "0"  # noqa: S314 - our own


def test_a_directory_gets_a_file_with_the_formats_suffix(report: Command, tmp_path: Path) -> None:
    assert report("bench", "--junit", "--to", str(tmp_path))[0] == 0
    assert (tmp_path / "report.xml").exists()
    assert report("bench", "--as", "titles", "--to", str(tmp_path))[0] == 0
    assert (tmp_path / "report.txt").read_text() == "- Throughput bench: good\n"


def test_a_reporter_plugin_gets_the_report_and_its_options(report: Command) -> None:
    code, out, _ = report("bench", "search", "--as", "titles:sign=*")
    assert code == 0
    assert out.splitlines()[:2] == ["* Throughput bench: good", "* Search search: open"]


@pytest.mark.parametrize(
    ("name", "said"),
    [("failing", "raised RuntimeError: no ink"), ("silent", "returned NoneType, not text")],
)
def test_a_reporter_that_fails_is_named(name: str, said: str, report: Command) -> None:
    code, _, err = report("bench", "--as", name)
    assert code == 6
    assert f"reporter '{name}'" in err
    assert said in err
    assert "Traceback" not in err


def test_json_is_the_whole_report(report: Command) -> None:
    code, out, _ = report("bench", "--json")
    answer = json.loads(out)
    assert (code, answer["schema"]) == (0, "wfbench/report/1")
    [section] = answer["sections"]
    assert section["exhibits"][0]["picture"]["kind"] == "bars"
    code, out, _ = report("bench", "--md", "--json")
    assert json.loads(out)["text"].startswith("## wfbench: Throughput bench")


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["nothing"], "there is no run 'nothing'"),
        (["bench", "--html", "--md"], "choose one format"),
        (["bench", "--to", "x"], "--to needs a format"),
        (["bench", "--as", "paper"], "there is no report format 'paper'; choose from: html, md"),
        (["bench", "--as", "html:x=1"], "format html has no options"),
        (["search", "--landscape", "gone.json"], "cannot read gone.json"),
        (["bench", "--landscape", "any.json"], "--landscape judges searches"),
    ],
)
def test_what_makes_no_sense_is_told_in_one_line(
    args: list[str], said: str, report: Command
) -> None:
    code, _, err = report(*args)
    assert code == 2
    assert said in err
    assert len(err.splitlines()) == 1


def test_a_file_that_cannot_be_written_is_named(report: Command, tmp_path: Path) -> None:
    code, _, err = report("bench", "--md", "--to", str(tmp_path / "no" / "folder" / "x.md"))
    assert code == 3
    assert "cannot write" in err


def test_a_run_leaves_a_report_and_an_evaluation_joins_it(
    wfbench: Callable[..., object],
    small_plugins: dict[str, str],
    small_run: list[str],
    tmp_path: Path,
) -> None:
    def call(*args: str) -> str:
        done = wfbench(*args, env=small_plugins, cwd=tmp_path)
        assert done.returncode == 0, done.stderr  # type: ignore[attr-defined]
        return str(done.stdout)  # type: ignore[attr-defined]

    told = call(*small_run, "--workflows", "2", "--name", "r", "-q")
    assert told.splitlines()[-1] == "report: results/runs/r/report.html"
    page = (tmp_path / "results/runs/r/report.html").read_text()
    assert "Which orders did best?" in page
    assert "Does behaviour follow the order?" not in page
    play = ("--orders", "trained", "--episodes", "2", "--collector", "sequential", "--save")
    done = wfbench("evaluate", "r", *play, env=small_plugins, cwd=tmp_path)
    assert done.returncode == 0, done.stderr  # type: ignore[attr-defined]
    assert done.stderr.splitlines() == [  # type: ignore[attr-defined]
        "kept as results/runs/r/evaluations/001.json",
        "refreshed results/runs/r/report.html",
    ]
    page = (tmp_path / "results/runs/r/report.html").read_text()
    assert "Does behaviour follow the order?" in page
    assert "<span>--orders</span> <span>trained</span>" in page


def test_an_evaluation_of_no_run_cannot_be_kept(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", "reactive", "--save"]) == 2
    assert "--save keeps the result with a run, but reactive is not" in capfd.readouterr().err
