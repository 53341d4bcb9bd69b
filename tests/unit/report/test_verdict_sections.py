"""Verdicts of other commands become checks of a report: nothing is lost, nothing is softened."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from wfbench.benchmarks.compare.model import Cell, Comparison, Criteria, Learned
from wfbench.benchmarks.gate.speed_check import CellVerdict, Judgement, Threshold
from wfbench.benchmarks.gate.speed_check import SpeedCheck as Gate
from wfbench.benchmarks.reproduce.model import ClaimResult, Reproduction
from wfbench.benchmarks.statistics.intervals import Estimate
from wfbench.benchmarks.statistics.learning import NonInferiority, TimeToThreshold
from wfbench.benchmarks.statistics.verdicts import Verdict
from wfbench.contract import Condition, Finding, FindingTable
from wfbench.report.document import Section
from wfbench.report.formats.html import render_html
from wfbench.report.sections.check import check_data, check_section
from wfbench.report.sections.comparison import comparison_data, learning_check_data
from wfbench.report.sections.reproduction import write_reproduction_files
from wfbench.report.sections.sources import Sources
from wfbench.report.written import written_table
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
    assert section.headline.says == "FAILED: dead could not be measured soundly"
    assert [check.error for check in section.checks] == [False, False, False, True]
    assert section == check_section(gate, ["made elsewhere"]), "a file says what the check said"
    strict = check_section(gate, strict=True)
    assert [check.outcome for check in strict.checks] == ["bad", "good", "bad", "bad"]
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
    assert [check.outcome for check in section.checks] == ["bad", "good"], "the worst is first"
    assert section.exhibits[0].command == "wfbench compare old new"


REACHED = TimeToThreshold(2000.0, 1500.0, None, 5, 1)
NEVER = TimeToThreshold(None, None, None, 0, 6)
LEARNED = Learned(
    name="ppo -> other",
    metric="return",
    steps=3000,
    tasks=2,
    old=Estimate(-20.0, -22.0, -18.0),
    new=Estimate(-15.0),
    improvement=Estimate(0.9, 0.7, 1.0),
    old_steps=NEVER,
    new_steps=REACHED,
    old_seconds=NEVER,
    new_seconds=REACHED,
    same_machine=False,
    margin=1.0,
)


@pytest.mark.parametrize(
    ("answer", "outcome", "said"),
    [
        (NonInferiority.NON_INFERIOR, "good", "no regression"),
        (NonInferiority.INFERIOR, "bad", "REGRESSED: return of ppo -> other learned worse"),
        (NonInferiority.UNDECIDED, "open", "no regression found; inconclusive: return of ppo"),
    ],
)
def test_a_check_of_learning_ends_as_the_gate_says(
    answer: NonInferiority, outcome: str, said: str, tmp_path: Path
) -> None:
    cell = Cell("ppo", "return", "difference", (5, 5), effect=Estimate(-3.0, -4.0, -2.0))
    learned = (replace(LEARNED, non_inferiority=answer),)
    comparison = Comparison(
        "search", ("old",), ("new",), "equal steps", (cell,), Criteria(), learned=learned
    )
    section = _section(tmp_path, "verdict/1", learning_check_data("main", comparison, 0))
    assert section.headline.outcome == outcome
    assert section.headline.says.startswith(said)
    assert section.title == "Check against main"
    assert section.exhibits[1].table.numbers("effect") == [-3.0]
    [check] = section.checks
    assert check.outcome == outcome


def test_what_was_learned_is_shown_with_intervals_and_censoring(tmp_path: Path) -> None:
    both = (LEARNED, replace(LEARNED, metric="compliance"))
    comparison = Comparison("search", ("a",), ("b",), "equal", (), Criteria(), learned=both)
    section = _section(tmp_path, "compare/1", comparison_data(comparison))
    [exhibit] = section.exhibits
    returns, compliance = written_table(exhibit).rows
    texts = [cell.text for cell in returns]
    assert texts[:4] == [
        "return of ppo -> other",
        "0.90 (0.70 to 1.00)",
        "-20.0 (-22.0 to -18.0)",
        "-15.0",
    ]
    assert "no median (0 of 6 reached it)" in texts
    assert "median 2,000 (1,500 to unknown; 5 of 6 reached it)" in texts
    assert [cell.text for cell in compliance][-4:] == ["-"] * 4, "times are shown once"
    assert any("of different machines and not comparable" in note for note in section.notes)


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


def test_a_reproduction_leads_with_its_headline_and_draws_its_factors(tmp_path):
    rows = (("payload", "this machine", 3.0, 2.0, 4.0),)
    columns = ("change", "condition", "factor", "low", "high")
    verdicts = {"this machine": "cannot be tested here", "a core per environment": "reproduced"}
    finding = Finding(
        measured="17x",
        interval=None,
        verdict="reproduced",
        why="because",
        tables=(FindingTable("Factors", columns, rows, factors=True),),
        under=tuple(Condition(name, "m", None, verdict) for name, verdict in verdicts.items()),
        headline="180 vs 3,052: 17x",
    )
    claim = ClaimResult("c", 1, "s", "d", "c", "", "p", 1.0, (1,), finding)
    found = Reproduction("wfbench reproduce", "now", 0, False, 1.0, {}, (claim,), ())  # noqa: FBT003
    section = _section(tmp_path, "reproduction/1", found.as_data())
    assert section.headline.says == "180 vs 3,052: 17x"
    assert section.conclusion == ("1 of 1 claims are reproduced",)
    judged = "reproduced (a core per environment); cannot be tested here (this machine)"
    assert section.checks[0].says == f"{judged}: because"
    *_, picture = write_reproduction_files(tmp_path, found)
    assert picture.name == "reproduction.svg"
    root = ET.fromstring(picture.read_text())  # noqa: S314 - our own
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert len(root.findall("{http://www.w3.org/2000/svg}rect")) == 1
