"""Kept runs and landscapes as objects."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

import wfbench
from wfbench.api import gating, landscapes, runs
from wfbench.report.sections.matrix import TOGETHER

KEPT = Path(__file__).parents[2] / "formats" / "data"


@pytest.fixture
def search(tmp_path: Path) -> wfbench.Run:
    """A kept search over orders."""
    shutil.copytree(KEPT / "search-2", tmp_path / "s")
    found = wfbench.load_run(tmp_path / "s")
    assert isinstance(found, wfbench.Run)
    return found


def test_a_search_over_orders_is_an_object(
    search: wfbench.Run, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (search.answer, search.conclusion, search.policies) == (None, (), {})
    assert search.best is not None
    assert search.best_order == search.best.order
    values = search.to_dict()
    assert (values["timing_comparable"], values["report"]) == (True, None)
    [figures] = values["runs"]
    assert figures["best"]["order"] == search.best_order
    assert {"orders", "belief", "compliant"} < figures.keys()
    assert f", best {search.best.order} {search.best.score:.1f}" in repr(search)
    assert "recorded" not in repr(search)
    search.show()
    brief = capsys.readouterr().out
    assert search.best_order in brief
    (search.path / "report.html").write_text("x")
    again = wfbench.load_run(search.path)
    assert isinstance(again, wfbench.Run)
    assert again.report_path == search.path / "report.html"


def test_a_search_in_which_nothing_finished_has_no_best_order(search: wfbench.Run) -> None:
    events = search.path / "events.jsonl"
    lines = events.read_bytes().splitlines(keepends=True)
    events.write_bytes(lines[0])
    found = wfbench.load_run(search.path)
    assert isinstance(found, wfbench.Run)
    assert (found.best, found.best_order, found.orders) == (None, None, ())
    assert ", best" not in repr(found)
    assert found.summary()["best"] is None


def test_a_matrix_is_its_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copytree(KEPT / "matrix-2", tmp_path / "m")
    found = wfbench.load_run(tmp_path / "m")
    assert isinstance(found, wfbench.Matrix)
    assert (found.timing_comparable, found.to_dict()["timing_comparable"]) == (False, False)
    assert len(found) == len(list(found)) > 1
    assert found[0] is found.runs[0]
    best = [one.best for one in found if one.best is not None]
    assert found.best == max(best, key=lambda one: (one.compliant, one.score))
    assert {row["run"] for row in found.rows()} == {one.name for one in found}
    found.show()
    assert " ".join(TOGETHER.split())[:20] in " ".join(capsys.readouterr().out.split())
    assert runs.Matrix(tmp_path, ()).best is None


def test_a_landscape_is_read_shown_on_one_line_and_searched(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    instead: Any,
) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    file = Path(shutil.copy(KEPT / "landscape.json", tmp_path / "a-landscape.json"))
    found = wfbench.load_landscape(file)
    found.show()
    [line] = capsys.readouterr().out.splitlines()
    assert line.endswith(f"orders, {found.trainings} trainings")
    assert len(found.rows()) == found.trainings
    instead(landscapes, "recorded_world", (None, None))
    for value, wanted in ((None, "return"), ("compliance", "compliance")):
        _, source, _ = landscapes._world(file, value, None, None)  # type: ignore[arg-type]
        assert source["value"] == wanted


@pytest.mark.parametrize(("given", "passed"), [(None, None), (Path("x"), "x")])
def test_a_check_is_told_which_baseline(instead: Any, given: Any, passed: str | None) -> None:
    checked = instead(gating, "run_check")
    instead(gating, "write_verdict")
    wfbench.check(given, out="here")
    [(_, named)] = checked.calls
    assert named["baseline"] == passed
    assert (named["samples"], named["busy"]) == (Path("here/runs"), "inconclusive")
