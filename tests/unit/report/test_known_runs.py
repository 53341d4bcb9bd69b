"""Kept runs look as they did, whole, cut short or spoilt.

`pytest --update-golden` writes the files anew after an intended change; look at the difference.
"""

from __future__ import annotations

import json
import math
import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from known_pages import page

from wfbench.benchmarks.measure.model import Session
from wfbench.benchmarks.measure.summary import CaseSummary, summarise
from wfbench.benchmarks.statistics.intervals import Estimate
from wfbench.contract import Order, Published
from wfbench.host.manager import PluginSettings, load_plugins
from wfbench.orders import all_orders, short_names
from wfbench.report.catalogue import describe_run, list_runs
from wfbench.report.console import console, print_json
from wfbench.report.document import Curves, Section
from wfbench.report.run_lines import PlainLines, print_event
from wfbench.report.sections import bench
from wfbench.report.sections.bench import saved_bench_section
from wfbench.report.sections.evaluation import cells_data, cross_data, evaluation_section
from wfbench.report.sections.joint import joint_section, orders_data, orders_section
from wfbench.report.sections.matrix import side_by_side
from wfbench.report.sections.settings import config_data, config_section
from wfbench.search.answer.records import PairEffect
from wfbench.search.evaluation import CrossRow, EvaluationCell
from wfbench.search.history import read_search
from wfbench.settings.selection import select
from wfbench.settings.sources import ConfigSource, resolve
from wfbench.store.event_log import plain
from wfbench.store.events import SPECIAL
from wfbench.store.sweeps import NORMAL, read_sweeps

TESTS = Path(__file__).parents[2]
Golden = Callable[[str, str], None]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of copies, which are named without it."""
    shutil.copytree(TESTS / "data" / "joint-run", tmp_path / "joint")
    shutil.copytree(TESTS / "formats" / "data", tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return Path()


def _cut(run: Path, lines: int) -> Path:
    copy = Path(shutil.copytree(run, f"{run}-{lines}"))
    log = copy / "events.jsonl"
    log.write_bytes(b"".join(log.read_bytes().splitlines(keepends=True)[:lines]))
    return copy


def test_precedences_are_left_out_only_where_it_is_brief(here: Path) -> None:
    run = read_search(here / "joint")
    assert run.findings is not None
    assert run.findings.answer is not None
    effects = (
        PairEffect(0, 1, 2.5, 0.5, significant=True),
        PairEffect(0, 2, None, None, significant=False),
        PairEffect(1, 2, 1.0, None, significant=False),
    )
    findings = replace(run.findings)
    vars(findings)["answer"] = replace(run.findings.answer, effects=effects)
    whole, brief = (
        [
            exhibit.table.rows
            for exhibit in joint_section(run, findings, brief=brief).exhibits
            if exhibit.title == "Which precedence matters?"
        ]
        for brief in (False, True)
    )
    assert brief == []
    assert whole == [(("U before E", 2.5, 2.0, 3.0, True), ("E before O", 1.0, 1.0, 1.0, False))]


def test_a_joint_run_reads_as_it_did(here: Path, golden: Golden) -> None:
    whole = read_search(here / "joint")
    lines = len((here / "joint" / "events.jsonl").read_bytes().splitlines())
    short, none = (read_search(_cut(here / "joint", n)) for n in (lines - 8, 2))
    found = [
        joint_section(one, findings, brief=brief, command="wfbench run")
        for one, brief in ((whole, False), (whole, True), (short, True), (none, False))
        if (findings := one.findings) is not None
    ]
    assert whole.findings is not None
    general = tuple(one for one in whole.findings.trainings if one[0].stage != SPECIAL)
    alone = replace(whole.findings, trainings=general)
    found.append(joint_section(whole, alone, brief=True))
    named = (("a", "b"), "as timed")
    found += [
        side_by_side("Both", (whole, short), *named),
        side_by_side("Both", (whole, none), *named, brief=True),
    ]
    golden("joint.md", page(*found))


def test_a_policy_under_every_order_reads_as_it_did(here: Path, golden: Golden) -> None:
    sweeps = read_sweeps(here / "joint" / "sweeps" / "000.npz")
    units = read_search(here / "joint").units
    said = {"policy": "p", "definition": "choices@1", "seed": 3}
    calm = {NORMAL: sweeps[NORMAL]}
    found = [orders_data(some, units, 2) for some in (sweeps, calm)]
    golden("orders.md", page(*(orders_section({**said, **one}, units) for one in found)))


def test_runs_are_listed_as_they_were(here: Path, golden: Golden) -> None:
    _cut(here / "joint", 2)
    (Path(shutil.copytree(here / "joint", "spoilt")) / "sweeps" / "000.npz").unlink()
    listed = "\n".join(map(repr, list_runs(here)))
    golden("list.txt", listed)


def test_a_matrix_of_one_search_is_listed_like_that_search(here: Path) -> None:
    file = here / "matrix" / "matrix.json"
    values = json.loads(file.read_text())
    file.write_text(json.dumps(values | {"cells": values["cells"][:1]}))
    matrix, search = (describe_run(path) for path in (here / "matrix", here / "search"))
    assert (matrix.status, matrix.says) == ("complete", "1 searches")
    assert matrix.created == "2026-11-16T08:34:10+00:00"
    assert (matrix.machine, matrix.version) == (search.machine, search.version)


def _spoil(line: bytes, number: int) -> bytes:
    sample = json.loads(line)
    measured = sample["measurement"]
    if number == 1:
        sample |= {"measurement": None, "failure": "worker 0 died"}
    elif number == 2:
        measured["transition_hash"] = "other"
    elif number == 3:
        measured["marks"] = ["a worker was replaced"]
    elif number == 4:
        measured |= {"wall": 100.0, "lag_mean": 0.5, "lag_max": 2, "foreign_cpu": 90.0}
    return json.dumps(sample).encode() + b"\n"


def test_a_bench_run_in_which_everything_went_wrong_says_so(here: Path, golden: Golden) -> None:
    log = here / "bench" / "samples.jsonl"
    lines = log.read_bytes().splitlines()
    found = []
    for kept in (len(lines), 3, 0):
        log.write_bytes(b"".join(_spoil(line, n) for n, line in enumerate(lines[:kept])))
        found.append(saved_bench_section(here / "bench"))
    golden("bench.md", page(*found))


def test_a_bench_run_is_unsound_only_where_it_is_complete(here: Path) -> None:
    file, log = here / "bench" / "config.json", here / "bench" / "samples.jsonl"
    config = json.loads(file.read_text())
    config["settings"]["smoke"] = False
    file.write_text(json.dumps(config))
    lines = log.read_bytes().splitlines()
    assert describe_run(here / "bench").status == "complete"
    for kept, status in ((len(lines), "unsound"), (3, "interrupted")):
        log.write_bytes(b"".join(_spoil(line, n) for n, line in enumerate(lines[:kept])))
        assert describe_run(here / "bench").status == status


def test_rounds_count_from_one_and_the_first_case_is_the_measure(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def summarised(session: Session) -> list[CaseSummary]:
        first, *others = (replace(one, ratio=Estimate(2.0)) for one in summarise(session))
        return [replace(first, outliers=(0, 2)), *others]

    monkeypatch.setattr(bench, "summarise", summarised)
    section = saved_bench_section(here / "bench")
    assert sum("round 1, 3 is far from the others" in note for note in section.notes) == 1
    assert section.headline.says.endswith(", 2 times sequential")


def test_a_bench_run_of_one_size_and_two_sources_reads_as_it_did(
    here: Path, golden: Golden
) -> None:
    config = json.loads((here / "bench" / "config.json").read_text())
    for number, (case, workers) in enumerate(zip(config["cases"], (0, 1, 1, 2), strict=True)):
        case |= {"n_envs": 2, "source": f"source {number % 2}", "policy": f"policy {number}"}
        case["options"]["workers"] = workers
    log = here / "bench" / "samples.jsonl"
    first, *others = map(json.loads, log.read_bytes().splitlines())
    first |= {"measurement": None, "skipped": "it needs a display"}
    kept = [first, *(one for one in others if one["case"] != first["case"])]
    log.write_text("".join(f"{json.dumps(one)}\n" for one in kept))
    found = []
    for sources in (2, 1):
        for case in config["cases"][:2]:
            case["source"] = case["source"] if sources == 2 else ""
        for case in config["cases"][2:]:
            case["source"] = case["source"] if sources == 2 else "source 0"
        (here / "bench" / "config.json").write_text(json.dumps(config))
        found.append(saved_bench_section(here / "bench"))
    golden("bench-sources.md", page(*found))


def test_one_number_of_workers_makes_no_curve(here: Path) -> None:
    file = here / "bench" / "config.json"
    config = json.loads(file.read_text())
    for label, case in zip(("shm", "shm:a=1", "shm:a=2", "pipe"), config["cases"], strict=True):
        case |= {"n_envs": 2, "label": label, "options": {"workers": 2}}
    for last, curves in ((2, 0), (3, 1)):
        config["cases"][2]["options"]["workers"] = last
        file.write_text(json.dumps(config))
        shown = saved_bench_section(here / "bench").exhibits
        assert sum(isinstance(one.picture, Curves) for one in shown) == curves


def test_an_evaluation_with_chosen_values_reads_as_it_did(golden: Golden) -> None:
    units = ("alpha", "beta", "gamma")
    orders = all_orders(3)
    said = {"policy": "p", "definition": "choices@1", "seed": 3, "env": "made"}

    def crossed(apart: float, own: Order | None, judges: Sequence[Order] = orders) -> Section:
        rows = [
            CrossRow(one, -float(n), np.full(len(judges), 0.25), n / 8)
            for n, one in enumerate(judges)
        ]
        for place, row in enumerate(rows):
            row.compliance[place] += apart
        if len(rows) > 1:
            rows[1].compliance[0] = math.nan  # nothing tested it
        data = cross_data(judges, rows, own, units)
        return evaluation_section({**said, **data}, short_names(units))

    def played(reds: Sequence[str | None], **more: Any) -> Section:
        cells = [
            EvaluationCell(
                red, 30 * n, 9, -n / 2, 0.25, 0.5 * n, 0.75, 4.0, 2.0, 1.0, 0.125, 0.5, 1
            )
            for n, red in enumerate(reds, start=1)
        ]
        unknown = replace(cells[0], red="other", compliance=math.nan, chance=None)
        published = [Published("they", {("one", 30): -3.0, ("two", 60): -4.5}, "there")]
        return evaluation_section({**said, **more, **cells_data([*cells, unknown], published)})

    nan = np.array([0.5, *[math.nan] * 5])
    untold = {
        **said,
        **plain(cross_data(orders, [CrossRow(orders[0], 0.0, nan, 0.0)], None, units)),
    }
    sections = (
        evaluation_section(untold),
        evaluation_section({**untold, "by_the_order_given": 0.1, "by_other_orders": 0.0}),
        evaluation_section({**untold, "by_the_order_given": 0.1, "by_other_orders": None}),
        crossed(0.5, orders[0]),
        crossed(0.125, None),
        crossed(0.0625, orders[1]),
        crossed(0.5, orders[0], orders[:1]),
        played(["one", "two"], order="A>B>C", joint=True),
        played([None], order="A>B>C"),
    )
    golden("evaluation.md", page(*sections))


def test_a_configuration_shows_what_differs() -> None:
    host = load_plugins(PluginSettings(external=False))
    given = ConfigSource("the test", {"n_envs": 7}, {"synthetic": {"obs_size": 9}})
    resolved = resolve([given])
    chosen = select(host, {"env": ["synthetic"]}, resolved.options)
    section = config_section(resolved, chosen)
    assert section.headline.says.startswith("1 of ")
    rows = {row[0]: row[1:] for row in section.exhibits[0].table.rows}
    assert rows["n_envs"][0] == "7"
    assert rows["n_envs"][1] not in {"", "7"}
    assert rows["n_envs"][2] == "the test"
    assert rows["synthetic.obs_size"] == ("9", "", "the test")
    assert [row[0] for row in section.exhibits[0].table.rows if row[2]] == ["n_envs"]
    assert "obs_size=9" in section.notes[0]
    assert set(config_data(resolved, chosen)["differs"]) == {"n_envs"}


def test_lines_of_a_search_over_orders(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    monkeypatch.setattr("wfbench.report.run_lines.monotonic", lambda: now[0])
    event: dict[str, Any] = {"run": "r", "workflow": 1, "order": "A>B", "time": {"work": 1.0}}
    event |= {"compliance": 0.75, "secondary": "b@1", "secondary_compliance": 0.25}
    event |= {"return": -20.0, "score": -17.0, "env_steps": 1500, "transitions": 50, "updates": 4}
    end = {**event, "event": "workflow-finished", "status": "budget", "reason": "episodes"}
    lines = PlainLines()
    names = {name: name for name in ("env", "collector", "trainer", "searcher", "seed")}
    start = {"event": "run-started", "run": "r", "workflows": 3, "definition": "d@1", **names}
    lines({**start, "time": {"work": 0.0}})
    lines({**event, "event": "update"})
    now[0] = 1e6
    lines({**event, "event": "update"})
    lines({**end, "best": True})
    lines({**end, "best": False, "status": "compliant"})
    ended = "[2/3] A>B  compliance 0.75 (b 0.25)  return -17.0  4 updates, 1,500 steps"
    assert capsys.readouterr().out.splitlines()[1:] == [
        "[2/3] A>B  compliance 0.75  return -20.0  1,500 steps so far",
        f"{ended}  budget (episodes)  best so far",
        f"{ended}  compliant",
    ]
    print_event({"run": "r", "text": "für"})
    print_json("made/1", {"text": "für"})
    assert capsys.readouterr().out == (
        '{"run": "r", "text": "für"}\n{\n  "schema": "wfbench/made/1",\n  "text": "für"\n}\n'
    )


def test_where_nobody_looks_rows_stay_whole(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    assert console().width == 160
    console().print("[bold]:smile: 17[/bold]")
    assert capsys.readouterr().out == "[bold]:smile: 17[/bold]\n"
    monkeypatch.setitem(os.environ, "COLUMNS", "70")
    assert console().width == 70
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    console().print("17")
    assert capsys.readouterr().out == "17\n"
