"""Every figure over time: where it changed, and a page that leads to the runs."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path

import pytest

import wfbench
from wfbench.benchmarks.measure.model import PHASES, Case, Measurement, Sample, Settings
from wfbench.benchmarks.measure.saved import SessionWriter
from wfbench.cli.main import main
from wfbench.contract import EnvRef, UsageError
from wfbench.report.catalogue import RunRecord, histories, history_of, latest, list_runs

MEASURED = Measurement(
    *(0.5, 0.1, 1.0, 1.0, 0.0, 1000, 10, 2**20, dict.fromkeys(PHASES, 0.25)),
    *(0, 0, 0, 0, 0.0, 0, (), "h", False),
)
CASES = [
    Case(label, "made:C", {}, EnvRef("made", "made:Env"), 4, "random", deterministic=True)
    for label in ("steady", "slower")
]


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """Sixteen runs; from the ninth on the second case is a fifth slower."""
    out = tmp_path / "some runs"
    for number in range(16):
        with SessionWriter(out, f"run-{number:02d}", CASES, Settings(rounds=1)) as writer:
            wobble = 1 + 0.01 * ((7 * number) % 5)
            for index, rate in enumerate((1000.0, 800.0 if number >= 8 else 1000.0)):
                taken = dataclasses.replace(MEASURED, wall=1000 / (rate * wobble))
                writer.record(Sample(index, 0, index, 0, measurement=taken))
        file = writer.path / "machine.json"
        file.write_text(json.dumps(json.loads(file.read_text()) | {"commit": f"c{number:02d}"}))
        config = writer.path / "config.json"
        values = json.loads(config.read_text()) | {"created": f"2026-01-{number + 1:02d}T00:00:00"}
        config.write_text(json.dumps(values))
    return out


def test_a_change_is_found_at_its_run_and_commit(runs: Path) -> None:
    [section] = wfbench.report_all(out=runs).document.sections
    assert section.headline.says == "16 runs, 2 figures: 1 figure changed"
    steady, slower = section.checks
    assert steady.outcome == "good"
    assert re.fullmatch(r"changed from 1,0\d\d to 8\d\d with run-08 \(c08\)", slower.says), (
        slower.says
    )
    table = section.exhibits[1].table
    assert [row for row, on in enumerate(table.values("changed")) if on] == [8]
    assert table.values("commit") == [f"c{number:02d}" for number in range(16)]
    assert table.values("number") == list(range(1, 17))
    assert table.column("value").title == "value (transitions/s)"


@pytest.mark.parametrize("words", [["runs", "history", "--html"], ["report", "--all", "--html"]])
def test_the_page_leads_to_every_run_and_loads_nothing(
    runs: Path, words: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    (runs / "run-03" / "report.html").write_text("its page")
    assert main([*words, "--out", str(runs)]) == 0
    assert capfd.readouterr().out == f"wrote {runs / 'history.html'}\n"
    page = (runs / "history.html").read_text()
    links = re.findall(r'<a href="([^"#]+)"', page)
    assert set(links) == {f"run-{n:02d}" for n in range(16) if n != 3} | {"run-03/report.html"}
    assert page.count('class="level"') == 2  # the wide drawing and the narrow one
    assert not re.search(r'(src|href)="(https?:)?//', page)


def test_links_are_relative_to_where_the_page_is(
    runs: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    target = runs.parent / "pages"
    target.mkdir()
    assert (
        main(["report", "--all", "--html", "--to", str(target / "h.html"), "--out", str(runs)]) == 0
    )
    capfd.readouterr()
    assert 'href="../some%20runs/run-00"' in (target / "h.html").read_text()


def test_misuse_is_one_line(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(UsageError, match="there is no complete run"):
        wfbench.report_all(out=tmp_path)
    for words, said in (
        (["report"], "name results, or say --all"),
        (["report", "x", "--all"], "name results, or say --all"),
        (["runs", "history", "--to", "x"], "--to belongs to --html"),
        (["runs", "history", "x", "--html"], "leave RUN and --figure out"),
    ):
        assert main(words) == 2
        assert said in capfd.readouterr().err


def test_only_complete_runs_of_the_same_work_are_followed() -> None:
    first = RunRecord(
        *("a", Path("a"), "bench", "complete", "1", "", "work"), figures={"rate": 100.0}
    )
    change = dataclasses.replace
    records = [
        first,
        change(first, name="other", workload="else"),
        change(first, name="cut", status="interrupted"),
        change(first, name="empty", figures={}),
        change(first, name="b", figures={"rate": 150.0}),
    ]
    found = history_of(records, first, None)
    told = [(entry.record.name, entry.value, entry.change) for entry in found.entries]
    assert told == [("a", 100.0, None), ("b", 150.0, 0.5)]
    assert latest(records[:-1]).name == "other"
    grown = change(first, name="c", figures={"rate": 90.0, "cpu": 2.0})
    [same] = histories([first, grown])
    assert [one.figure for one in same] == ["rate", "cpu"]


def test_a_run_of_a_single_case_is_listed(tmp_path: Path) -> None:
    with SessionWriter(tmp_path, "one", CASES[:1], Settings(rounds=1)) as writer:
        writer.record(Sample(0, 0, 0, 0, measurement=MEASURED))
    [found] = list_runs(tmp_path)
    assert (found.status, list(found.figures)) == ("complete", ["steady@4"])
    assert found.says == "made, 1 cases: fastest steady@4, 1,000 transitions/s"
