"""Verdicts of other commands become checks of a report: nothing is lost, nothing is softened."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from wfbench.bench.checking import CellVerdict
from wfbench.bench.checking import Check as Gate
from wfbench.bench.comparison import Cell, Comparison, Criteria
from wfbench.bench.gate import Judgement, Threshold
from wfbench.bench.statistics import Estimate
from wfbench.bench.verdicts import Verdict
from wfbench.contract import Finding, FindingTable
from wfbench.report.check import check_data
from wfbench.report.compare import comparison_data
from wfbench.report.document import Section
from wfbench.report.formats.html import render_html
from wfbench.report.sections.sources import Sources
from wfbench.reproduce.model import ClaimResult, Reproduction
from wfbench.store.event_log import plain
from wfbench.store.files import write_json


def _section(tmp_path: Path, schema: str, values: dict[str, Any]) -> Section:
    file = tmp_path / "result.json"
    write_json(file, schema, plain(json.loads(json.dumps(plain(values)))))
    report = Sources(tmp_path).report([str(file)])
    assert "<svg" in render_html(report) or schema == "reproduction/1"
    [found] = report.sections
    return found


def _cell(label: str, verdict: Verdict, value: float, **more: Any) -> CellVerdict:
    change = Estimate(value, value - 0.1, value + 0.1)
    judged = Judgement(verdict, change, 0.01, 0.001, 10)
    given = {"then": Estimate(4.0), "now": Estimate(4.0 * value), "first": judged, "again": None}
    rates = {"rate_then": 100.0, "rate_now": 100.0 * value, "cpu_change": 1.0}
    return CellVerdict(label, 8, verdict, f"because {label}", **{**given, **rates, **more})


def test_a_check_fails_where_the_gate_does(tmp_path: Path) -> None:
    cells = (
        _cell("sequential", Verdict.NOT_COMPARABLE, 1.0, first=None, now=None),
        _cell("slow", Verdict.REGRESSED, 0.7),
        _cell("same", Verdict.NO_CHANGE, 1.0),
        _cell("noisy", Verdict.INCONCLUSIVE, 0.95),
        _cell("dead", Verdict.INCONCLUSIVE, 1.0, first=None, now=None, failures=("worker 0 died",)),
    )
    gate = Gate("main", "sequential", Threshold(), cells, (), ())
    section = _section(tmp_path, "verdict/1", check_data(gate, ["made elsewhere"]))
    assert [(check.name, check.outcome) for check in section.checks] == [
        ("slow, 8 envs", "bad"),
        ("same, 8 envs", "good"),
        ("noisy, 8 envs", "open"),
        ("dead, 8 envs", "bad"),
    ]
    assert section.headline.outcome == "bad"
    assert section.headline.says == "2 of 4 cells got slower or failed, 1 cannot be decided"
    assert section.exhibits[0].table.numbers("change") == [0.7, 1.0, 0.95, None]
    assert section.notes == ("made elsewhere",)


def test_a_comparison_keeps_ratios_and_differences_apart(tmp_path: Path) -> None:
    cells = (
        Cell(
            "a", "rate", "ratio", (5, 5), effect=Estimate(1.5, 1.4, 1.6), verdict=Verdict.IMPROVED
        ),
        Cell("b", "return", "difference", (5, 5), effect=Estimate(-3.0), verdict=Verdict.REGRESSED),
    )
    comparison = Comparison("search", ("old",), ("new",), "equal steps", cells, Criteria())
    section = _section(tmp_path, "compare/1", comparison_data(comparison))
    assert [exhibit.table.numbers("effect") for exhibit in section.exhibits] == [[1.5], [-3.0]]
    assert [check.outcome for check in section.checks] == ["good", "bad"]
    assert section.exhibits[0].command == "wfbench compare old new"


@pytest.mark.parametrize(
    ("verdict", "outcome"), [("ok", "good"), ("regressed", "bad"), ("inconclusive", "open")]
)
def test_a_check_of_learning_ends_as_the_gate_says(
    verdict: str, outcome: str, tmp_path: Path
) -> None:
    cell = Cell("ppo", "return", "difference", (5, 5), effect=Estimate(-3.0, -4.0, -2.0))
    comparison = Comparison("search", ("old",), ("new",), "equal steps", (cell,), Criteria())
    values = {"verdict": verdict, "headline": "as it is", "baseline": "main", "of": "learning"}
    section = _section(tmp_path, "verdict/1", values | {"comparison": comparison_data(comparison)})
    assert (section.headline.outcome, section.headline.says) == (outcome, "as it is")
    assert section.title == "Check against main"
    assert section.exhibits[0].table.numbers("effect") == [-3.0]


@pytest.mark.parametrize(
    ("verdict", "outcome"),
    [
        ("reproduced", "good"),
        ("reproduced in part", "open"),
        ("not reproduced", "bad"),
        ("cannot be tested here", "open"),
        (None, "bad"),
    ],
)
def test_every_claim_is_a_check_with_its_tables(verdict: Any, outcome: str, tmp_path: Path) -> None:
    finding = None
    if verdict is not None:
        parts = FindingTable("By factor", ("factor", "times"), (("payload", 1.5),))
        finding = Finding(
            measured="3 x", interval=None, verdict=verdict, why="so it is", tables=(parts,)
        )
    failure = None if finding else "worker 3 died"
    claim = ClaimResult(
        "speed", 1, "It is fast", "17 x", "200 envs", "", "ours", 1.0, (), finding, failure
    )
    found = Reproduction("wfbench reproduce", "now", 0, True, 1.0, {}, (claim,), ())  # noqa: FBT003
    section = _section(tmp_path, "reproduction/1", found.as_data())
    [check] = section.checks
    assert check.outcome == outcome
    assert ("so it is" if finding else "worker 3 died") in check.says
    assert section.headline.says.startswith("quick: ")
    assert len(section.exhibits) == (2 if finding else 1)
