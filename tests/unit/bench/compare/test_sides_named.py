"""What two sides name decides how they are compared, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from wfbench.benchmarks.compare.model import Cell, Comparison, Criteria, power_note
from wfbench.benchmarks.compare.runs import compare_runs
from wfbench.benchmarks.measure.saved import load_session
from wfbench.benchmarks.statistics.intervals import Permutation
from wfbench.benchmarks.statistics.verdicts import Verdict
from wfbench.contract import NotComparableError, UsageError
from wfbench.store.event_log import plain
from wfbench.store.files import write_json

KEPT = Path(__file__).parents[3] / "formats" / "data"


def test_bench_runs_are_compared_by_rate_unless_another_figure_is_asked_for() -> None:
    found = compare_runs(["bench"], ["bench"], out=KEPT)
    assert found.kind == "bench"
    assert found.count(Verdict.IDENTICAL) == len(found.cells) > 1
    here = [KEPT / "bench"], [KEPT / "bench"]
    assert compare_runs(*here, metric="rate", basis="auto").cells == found.cells
    assert compare_runs(*here, metric="cpu").cells != found.cells


def test_a_printed_file_is_compared_and_a_run_of_its_name_comes_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = load_session(KEPT / "bench")
    write_json(tmp_path / "printed.json", "bench/1", plain(session.as_data()))
    printed = compare_runs([tmp_path / "printed.json"], ["bench"], out=KEPT)
    assert printed.count(Verdict.IDENTICAL) == len(printed.cells) > 1
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bench").write_text("no run")
    assert compare_runs(["bench"], ["bench"], out=KEPT).old == (str(KEPT / "bench"),)


def test_searches_are_compared_with_the_margins_that_are_given() -> None:
    found = compare_runs(["search"], ["search-2"], out=KEPT)
    assert found.kind == "search"
    assert {one.metric: one.margin for one in found.learned}["compliance"] == 0.05
    given = compare_runs(
        ["search"], ["search-2"], out=KEPT, return_margin=3.0, compliance_margin=0.25
    )
    assert {one.metric: one.margin for one in given.learned} == {"return": 3.0, "compliance": 0.25}


@pytest.mark.parametrize(
    ("old", "new", "options", "message"),
    [
        ([], ["bench"], {}, "one side names no run"),
        (["bench", "bench"], ["bench"], {}, "bench,bench: a run is given twice"),
        (["bench"], ["bench"], {"steps": 5}, "--steps does not apply to bench runs"),
        (["bench"], ["bench"], {"return_margin": 5.0}, "--return-margin does not apply"),
        (["search"], ["search-2"], {"metric": "rate"}, "--metric does not apply to searches"),
        (["search"], ["search-2"], {"steps": 0}, "--steps is 0; it must be above 0$"),
        (["bench"], ["bench"], {"alpha": 0.0}, "--alpha is 0; it must be above 0 and below 1"),
        (["bench"], ["bench"], {"alpha": 1.0}, "--alpha is 1; it must be above 0 and below 1"),
        (["bench"], ["bench"], {"minimum_effect": 10.0}, "--minimum-effect is 10; it must be"),
        (["search"], ["search-2"], {"compliance_margin": 1.0}, "and below 1"),
        (["bench"], [str(KEPT / "bench"), "bench"], {}, "compared one with one"),
        (["bench"], ["gone"], {}, "there is no run"),
    ],
)
def test_what_makes_no_sense_is_refused(
    old: list[str], new: list[str], options: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        compare_runs(old, new, out=KEPT, **options)


def test_a_bench_run_and_a_search_are_not_compared() -> None:
    with pytest.raises(NotComparableError, match="cannot be compared with a search"):
        compare_runs(["bench"], ["search"], out=KEPT)


@pytest.mark.parametrize(
    ("verdicts", "strict", "code"),
    [
        ((Verdict.NO_CHANGE, Verdict.IMPROVED), True, False),
        ((Verdict.NO_CHANGE, Verdict.INCONCLUSIVE), False, False),
        ((Verdict.NO_CHANGE, Verdict.INCONCLUSIVE), True, True),
        ((Verdict.REGRESSED, Verdict.NO_CHANGE), False, True),
    ],
)
def test_a_comparison_fails_by_its_worst_verdict(
    verdicts: tuple[Verdict, ...], *, strict: bool, code: bool
) -> None:
    cells = tuple(Cell("a", "rate", "ratio", (5, 5), verdict=verdict) for verdict in verdicts)
    found = Comparison("bench", ("a",), ("b",), "ratio", cells, Criteria())
    assert bool(found.exit_code(inconclusive_fails=strict)) == code


@pytest.mark.parametrize(("smallest", "said"), [(None, False), (0.05, False), (0.06, True)])
def test_too_few_samples_are_told_with_their_numbers(smallest: float | None, *, said: bool) -> None:
    untested = Cell("a", "rate", "ratio", (9, 9))
    same = Cell("b", "rate", "ratio", (8, 8), test=Permutation(1.0, 0.5), smallest=1.0, equal=True)
    few = Cell("c", "rate", "ratio", (3, 4), test=Permutation(1.0, 0.03), smallest=smallest)
    notes = list(power_note([untested, same, few], Criteria(alpha=0.05)))
    assert len(notes) == said
    for note in notes:
        assert note.startswith("with 3 and 4 samples and 2 cells the smallest reachable p is 0.06:")
    assert not list(power_note([same], Criteria(alpha=0.05)))
