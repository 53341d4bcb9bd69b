"""The verbs that look at kept results, on runs made by hand."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from terminals import Terminal

STARTS = {"--md": "## wfbench", "--junit": "<?xml"}


def test_a_run_is_shown_or_written_in_one_format(call: Any, runs: Path, tmp_path: Path) -> None:
    def report(*flags: str) -> Any:
        done = call("report", *flags, "--out", str(runs))
        assert (done.code, done.err) == (0, "")
        return done

    assert "second" in report("b1").out
    assert report("b1", "--json").answer["schema"] != "wfbench/report-text/1"
    for flag, start in STARTS.items():
        assert report("b1", flag).out.startswith(start)
    assert report("b1", "--as", "md").out == report("b1", "--md").out
    page = runs / "b1" / "report.html"
    assert report("b1", "--html").out == f"wrote {page}\n"
    assert page.read_text().startswith("<!doctype")
    assert report("b1", "--html", "--to", "-").out.startswith("<!doctype")
    assert report("b1", "--md", "--to", "-").out.startswith("## wfbench")
    assert report("b1", "--md", "--to", "x.txt").out == "wrote x.txt\n"
    assert report("b1", "--html", "--to", str(tmp_path)).out == f"wrote {tmp_path}/report.html\n"
    as_json = report("b1", "--md", "--to", "y.md", "--json").answer
    assert as_json == {"schema": "wfbench/report-written/1", "format": "md", "file": "y.md"}
    text = report("b1", "--md", "--json").answer
    assert (text["schema"], text["format"]) == ("wfbench/report-text/1", "md")


def test_everything_over_time_is_shown_or_written(call: Any, runs: Path, tmp_path: Path) -> None:
    def history(*flags: str) -> Any:
        done = call(*flags, "--out", str(runs))
        assert (done.code, done.err) == (0, "")
        return done.out

    assert "3 runs" in history("report", "--all")
    assert history("report", "--all", "--md").startswith("## wfbench")
    page = runs / "history.html"
    for verb in (("report", "--all"), ("runs", "history")):
        assert history(*verb, "--html") == f"wrote {page}\n"
        assert 'href="b1' in page.read_text()
        page.unlink()
    (tmp_path / "made" / "pages").mkdir()
    far = tmp_path / "made" / "pages" / "all.html"
    for verb in (("report", "--all"), ("runs", "history")):
        assert history(*verb, "--html", "--to", str(far)) == f"wrote {far}\n"
        assert 'href="../runs/b1' in far.read_text()
    assert 'href="b1' in history("report", "--all", "--html", "--to", "-")
    assert not page.exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("report",), "name results, or say --all"),
        (("report", "b1", "--all"), "name results, or say --all"),
        (("report", "b1", "--md", "--csv"), "choose one format"),
        (("report", "b1", "--junit", "--as", "md"), "choose one format"),
        (("report", "b1", "--to", "x.md"), "--to needs a format"),
        (("report", "--all", "--landscape", "x"), "leave it out with --all"),
        (("report", "b1", "--landscape", "x"), "--landscape"),
        (("report", "b1", "--as", "nope"), "nope"),
        (("runs", "history", "--to", "x"), "--to belongs to --html"),
        (("runs", "history", "b1", "--html"), "leave RUN and --figure out"),
        (("runs", "history", "--figure", "f", "--html"), "leave RUN and --figure out"),
        (("runs", "rm", "b1"), "needs --yes where nobody can be asked"),
        (("runs", "rm", "none", "--yes"), "no run 'none'"),
    ],
    ids=" ".join,
)
def test_what_makes_no_sense_is_refused(
    call: Any, runs: Path, arguments: tuple[str, ...], said: str
) -> None:
    done = call(*arguments, "--out", str(runs))
    assert (done.code, done.out) == (2, "")
    assert said in done.err
    assert sorted(path.name for path in runs.iterdir()) == ["b1", "b2", "b3"]


def test_runs_are_listed_shown_followed_and_validated(call: Any, runs: Path) -> None:
    place = ("--out", str(runs))
    listed = call("runs", "list", *place, "--json").answer
    assert [one["name"] for one in listed["runs"]] == ["b1", "b2", "b3"]
    assert call("runs", "show", "b2", *place, "--json").answer["run"]["name"] == "b2"
    followed = call("runs", "history", *place, "--json").answer
    assert len(followed["runs"]) == 3
    one = call("runs", "history", "b1", "--figure", "second@4", *place, "--json").answer
    assert one["figure"] != followed["figure"]
    assert "Usage" in call("runs").out
    assert "Usage" not in call("runs", "list", *place).out
    assert call("runs", "validate", "b1", "b2", *place).code == 0
    (runs / "b2" / "config.json").write_text("{")
    broken = call("runs", "validate", "b1", "b2", *place, "--json")
    assert broken.code == 3
    assert len(broken.answer["runs"]) == 2


@pytest.mark.parametrize(
    ("typed", "flags", "code", "left"),
    [
        ("y\n", (), 0, 2),
        ("n\n", (), 130, 3),
        ("y\n", ("--json",), 2, 3),
        ("n\n", ("--yes",), 0, 2),
        ("n\n", ("-y", "--json"), 0, 2),
    ],
)
def test_who_can_be_asked_is_asked_before_runs_are_removed(
    call: Any,
    runs: Path,
    monkeypatch: pytest.MonkeyPatch,
    typed: str,
    flags: tuple[str, ...],
    code: int,
    left: int,
) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal(typed))
    done = call("runs", "rm", "b1", "--out", str(runs), *flags)
    assert done.code == code
    assert len(list(runs.iterdir())) == left
    assert ("? [y/N]" in done.err) == (not flags)
    assert "[y/N]" not in done.out
    if not flags:
        assert "4 files" in done.err
    if code == 0 and "--json" not in flags:
        assert done.out.lstrip() == f"removed {runs / 'b1'}\n"
    if code == 0 and "--json" in flags:
        assert done.answer["removed"] == [str(runs / "b1")]
