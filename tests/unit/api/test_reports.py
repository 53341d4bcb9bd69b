"""Results and reports of several of them, checks that were written, and lists of runs."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import wfbench
from wfbench.api import gating
from wfbench.api.results import Result
from wfbench.contract import ExitCode, UsageError
from wfbench.report.document import Section
from wfbench.report.sections.runs import runs_section


class Bare(Result, schema="bare/1"):
    """A result without tables."""

    number: int = 3

    def _sections(self) -> list[Section]:
        return [dataclasses.replace(one, exhibits=()) for one in self.tables()]

    def tables(self) -> list[Section]:
        return [runs_section((), Path())]


class Two(Bare, schema="two/1"):
    """A result with two sections of one table each."""

    def _sections(self) -> list[Section]:
        found = wfbench.list_runs("made")._sections()[0]
        return [dataclasses.replace(found, title="One"), dataclasses.replace(found, title="Other")]


def test_a_result_is_frozen_and_says_what_it_is(runs: Path) -> None:
    assert runs.name == "made"
    two = Two()
    with pytest.raises(dataclasses.FrozenInstanceError):
        two.number = 4  # type: ignore[misc]
    assert repr(two).startswith("Two(One: ")
    assert len(two.rows()) == 3
    assert Bare().rows() == []
    assert "number" not in repr(Bare())
    for suffix, start in ((".md", "## wfbench"), (".html", "<!doctype"), (".xml", "<?xml")):
        assert two.save(f"page{suffix}").read_text().startswith(start)
    with pytest.raises(UsageError, match="the suffix must be one of"):
        two.save("page.txt")
    assert not Path("page.txt").exists()
    assert two._repr_html_() == two.report("html")


def test_a_report_belongs_to_its_only_run(runs: Path) -> None:
    one = wfbench.make_report("b1", out=runs)
    assert one.directory == runs / "b1"
    assert one.to_dict().keys() == {"title", "created", "version", "sections"}
    assert len(one.rows()) == 1
    both = wfbench.make_report(["b1", "b2"], out=runs)
    assert both.directory == Path()
    assert len(both.rows()) == 2
    Path("compared.json").write_text(
        json.dumps(
            {"schema": "wfbench/compare/1"} | wfbench.compare("b1", "b2", out=runs).to_dict()
        )
    )
    assert wfbench.make_report("compared.json", out=runs).directory == Path()
    with pytest.raises(UsageError, match="--landscape judges searches, and none is reported"):
        wfbench.make_report("b1", out=runs, landscape="x.json")


def test_everything_over_time_leads_to_the_runs(runs: Path) -> None:
    assert wfbench.report_all(out=runs).directory == runs
    assert wfbench.report_all(out=runs, folder="x").directory == Path("x")
    with pytest.raises(UsageError, match="there is no complete run in none"):
        wfbench.report_all(out="none")


def test_a_figure_is_followed_from_a_run_or_the_latest(runs: Path) -> None:
    followed = wfbench.run_history(out=runs)
    named = wfbench.run_history("b1", figure="second@4", out=runs)
    assert len(followed.rows()) == len(named.rows()) == 3
    assert followed.to_dict()["figure"] == "first@4"
    assert named.to_dict()["figure"] == "second@4"
    assert [round(row["value"]) for row in named.rows()][2] == pytest.approx(500, rel=0.02)
    assert wfbench.remove_runs(["b1", runs / "b1"], out=runs) == [runs / "b1"]


def test_a_comparison_is_as_strict_as_was_asked_for(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    same = wfbench.compare("b1", "b2", out=runs)
    worse = wfbench.compare("b1", "b3", out=runs)
    assert (same.exit_code, worse.exit_code) == (0, 1)
    worse.show()
    short = capsys.readouterr().out
    wfbench.compare("b1", "b3", out=runs, verbose=True).show()
    assert len(capsys.readouterr().out) > len(short)


@pytest.mark.parametrize(("inconclusive", "fails"), [("ok", False), ("fail", True)])
def test_an_inconclusive_result_is_as_bad_as_was_asked_for(
    inconclusive: Any, *, fails: bool
) -> None:
    def code(*, inconclusive_fails: bool) -> ExitCode:
        return ExitCode.INCONCLUSIVE if inconclusive_fails else ExitCode.OK

    made: Any = SimpleNamespace(exit_code=code)
    wanted = ExitCode.INCONCLUSIVE if fails else ExitCode.OK
    assert gating.ComparisonResult(made, inconclusive).exit_code is wanted
    checked = gating.CheckResult(made, Path(), inconclusive)
    assert checked.exit_code is wanted
    assert checked.passed is not fails


class Checked(gating.CheckResult, schema="verdict/1"):
    """A check that measured nothing."""

    def verdict(self) -> dict[str, Any]:
        return {"verdict": "ok"}

    def report(self, form: str = "md") -> str:
        return f"as {form}"


def test_what_a_check_found_is_written_beside_what_was_there(tmp_path: Path) -> None:
    made: Any = None
    for md in (None, tmp_path / "page.md"):
        directory = tmp_path / "deep" / "deeper"
        gating.write_verdict(Checked(made, directory), md)
        assert sorted(path.name for path in directory.iterdir()) == ["junit.xml", "verdict.json"]
        assert (directory / "junit.xml").read_text() == "as junit"
        assert json.loads((directory / "verdict.json").read_text())["verdict"] == "ok"
        assert (tmp_path / "page.md").exists() == (md is not None)
    assert (tmp_path / "page.md").read_text() == "as md"
    assert gating.checks_directory(None, None).parent == Path("results/checks")
    assert gating.checks_directory("x", "page.md") == Path("x")
    with pytest.raises(UsageError, match="--md none/x: there is no such directory"):
        gating.checks_directory(None, "none/x")


def test_baselines_are_listed_read_and_removed(runs: Path) -> None:
    wfbench.save_baseline("main", runs / "b1", force=True)
    assert [one.name for one in wfbench.baselines()] == ["main"]
    assert wfbench.load_baseline("main").path == wfbench.remove_baseline("main")
    assert len(wfbench.baselines()) == 0
