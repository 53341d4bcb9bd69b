"""Results with chosen values look as they did: every word, number and place of a drawing.

`pytest --update-golden` writes the files anew after an intended change; look at the difference.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from known_pages import page
from rich.console import Console

from wfbench.benchmarks.compare.learning_runs import LearningCurve, LearningRun, TrainingPoint
from wfbench.benchmarks.compare.searches import Margins
from wfbench.benchmarks.gate.baseline_store import Baseline, BaselineCell
from wfbench.benchmarks.gate.calibration import Calibration, Noise
from wfbench.benchmarks.gate.learning_baseline import LearningBaseline
from wfbench.benchmarks.measure.model import Case, Settings
from wfbench.benchmarks.revisions.bisecting import Bisection, Step
from wfbench.benchmarks.revisions.building import Build
from wfbench.benchmarks.revisions.judging import Look, RevisionCell
from wfbench.benchmarks.revisions.model import Request
from wfbench.benchmarks.revisions.series import Effort, RevisionCheck
from wfbench.benchmarks.scaling.costs import StepCosts
from wfbench.benchmarks.scaling.curves import (
    CollectorCosts,
    CurveSample,
    GrowthCurve,
    Prediction,
)
from wfbench.benchmarks.scaling.growth import Growth
from wfbench.benchmarks.statistics.intervals import Estimate
from wfbench.benchmarks.statistics.learning import Reach
from wfbench.benchmarks.statistics.verdicts import Verdict
from wfbench.contract import CollectorSpec, EnvRef
from wfbench.host.discovery import Source
from wfbench.host.doctor import HealthFinding
from wfbench.host.manager import Offer, PluginRow, PluginSettings, load_plugins
from wfbench.report.catalogue import Entry, FigureHistory, RunRecord
from wfbench.report.document import (
    Bars,
    Check,
    Column,
    Curves,
    Dots,
    Exhibit,
    Heat,
    Panel,
    Picture,
    Report,
    Section,
    Shares,
    Spread,
    Table,
    Timeline,
)
from wfbench.report.formats.html import NARROW, WIDE, draw, render_html
from wfbench.report.formats.junit import render_junit
from wfbench.report.formats.terminal import show_report
from wfbench.report.formats.tidy_csv import render_csv
from wfbench.report.sections import baseline, plugins, runs
from wfbench.report.sections.policies import board_section, exported_section, transfer_section
from wfbench.report.sections.revisions import (
    bisection_section,
    decode_revisions,
    revisions_data,
    revisions_section,
)
from wfbench.report.sections.scaling import growth_lines, rate_curves, scaling_exhibits
from wfbench.report.sections.settings import doctor_section
from wfbench.report.sections.sources import Sources
from wfbench.search.board import BoardEntry
from wfbench.search.transfer import TransferCell
from wfbench.store.validation import FileCheck
from wfbench.testing.fault_watch import FaultSeen
from wfbench.testing.promise import PromiseResult

KEPT = Path(__file__).parents[2] / "formats" / "data"
MACHINE = {"cpu": "one", "usable_cores": 2, "load": [0.1]}
REQUEST = Request("shm:workers=2", n_envs=8)
WHERE = Path("results/x.json")


@dataclass(frozen=True)
class Options:
    """Options of a collector that does not exist."""

    workers: int = field(default=2, metadata={"help": "how many"})


SPEC = CollectorSpec(
    name="fast",
    summary="A fast one",
    factory="made:Fast",
    options=Options,
    positional="workers",
    capabilities=frozenset({"workers", "reset"}),
    cannot={"order": "it hurries"},
)


def _board() -> list[Section]:
    cells = (("B_line", 30), ("Meander", 100))
    entries = (
        BoardEntry("ours", "policy", (-1.0, -2.5), (0.3, 0.4), "no", "here"),
        BoardEntry("theirs", "published", (-2.0, -3.0), (), "yes", "there"),
    )
    return [board_section("cage2", cells, entries[:n], 7, greedy=n > 1) for n in (1, 2)]


def _transfer() -> list[Section]:
    same = TransferCell("B_line", 30, -3.0, 0.5, 64, -3.1, 0.6, 32)
    other = TransferCell(None, 100, -3.0, 0.1, 64, -9.0, 0.1, 32)
    named = ("p.npz", "cage2", "cyborg")
    said = {"policy": "p", "order": "all", "definition": "choices@1", "env": "cage2"}
    score = {"red": None, "horizon": 30, "return": -3.0, "half_interval": 0.25, "episodes": 9}
    return [
        transfer_section(*named, (same,), 3),
        transfer_section(*named, (same, other), 3),
        exported_section("agent", "out", ("a.py", "b.npz"), {**said, "scores": [score]}),
    ]


def _bisection() -> list[Section]:
    steps = (
        Step("a" * 40, "First", "fast", Estimate(1.01, 0.98, 1.03)),
        Step("b" * 40, "Second", "skipped", why="did not build"),
        Step("c" * 40, "Third", "slow", Estimate(0.8, 0.78, 0.83)),
    )
    ends = (REQUEST, "cpu", "d" * 40, "e" * 40, Estimate(1.25))
    return [
        bisection_section(Bisection(*ends, ("c" * 40,), ("Third",), steps[::2])),
        bisection_section(Bisection(*ends, ("b" * 40, "c" * 40), ("Second", "Third"), steps)),
    ]


def _revisions() -> list[Section]:
    def cell(metric: str, verdict: Verdict, value: float) -> RevisionCell:
        look = Look(verdict, Estimate(value, value - 0.02, value + 0.02), 0.01, 12, 0.08, 40)
        return RevisionCell(REQUEST, metric, verdict, "so it is", 4e6, 4e6 * value, look)

    built = [
        Build(name, letter * 40, Path(name), "made")
        for name, letter in (("main", "a"), ("new", "b"))
    ]
    cells = (
        cell("rate", Verdict.REGRESSED, 0.8),
        cell("cpu", Verdict.REGRESSED, 1.25),
        cell("memory", Verdict.INCONCLUSIVE, 1.05),
        cell("start-up", Verdict.NO_CHANGE, 1.0),
    )
    found = RevisionCheck(*built, Effort(), cells, notes=("busy",))
    stored = json.loads(json.dumps(revisions_data(found, exit_code=1)))
    return [
        revisions_section(found),
        revisions_section(decode_revisions({"schema": "made/1", **stored})),
        revisions_section(replace(found, cells=cells[2:]), strict=True),
        revisions_section(replace(found, cells=cells[3:])),
        revisions_section(replace(found, cells=(), failures={"shm": "worker 0 died"})),
    ]


def _baselines() -> list[Section]:
    cells = tuple(
        BaselineCell(
            Case(label, "m:A", {}, EnvRef("made", "m:E"), 4, policy, deterministic=True),
            (0, 1, 2, 3),
            tuple(ratios),
            (100.0, 110.0, 120.0, 130.0),
            5.0,
        )
        for label, policy, ratios in (
            ("reference", "random", (0.0,) * 4),
            ("a", "small", (0.6, 0.7, 0.8, 0.9)),
        )
    )
    speed = Baseline(
        *("main", "then", "reference", Settings(rounds=4), cells, MACHINE),
        command=("baseline", "save", "a b"),
        foreign_cores=1.5,
        wfbench="1.0",
    )
    never = Reach(1e9, reached=False)
    points = tuple(TrainingPoint(at, -1000.0 / at, at / 1000, 1) for at in (100, 200))
    curve = LearningCurve((0, 1), points, never, never, 200)
    run = LearningRun(
        *(Path("s1"), 1, ("vector", "ppo", "random"), {"env": "made", "episode steps": 10}),
        *({"n_envs": 4}, MACHINE, (curve, curve), ((200, -5.0),), 400),
        finished=True,
    )
    learning = LearningBaseline("ppo", "then", 200, Margins(), (run,), "1.0")
    twice = replace(speed, cells=(*cells, cells[1]), command=(), foreign_cores=None)
    noises = (
        Noise("a", 4, (0.1,), 12, 0.034, 0.01, 0.12),
        Noise("b", 8, (0.1,), 12, 0.5, 0.25, None),
    )
    calibration = Calibration("then", MACHINE, Settings(rounds=30), 6, 0.07, noises)
    return [
        baseline.baselines_section((speed, learning), WHERE),
        baseline.baselines_section((), WHERE),
        baseline.baseline_section(speed),
        baseline.baseline_section(twice),
        baseline.baseline_section(learning),
        baseline.baseline_section(replace(learning, steps=50, margins=Margins(1.5))),
        baseline.calibration_section(calibration, WHERE),
    ]


def _runs() -> list[Section]:
    one = RunRecord(
        *("r1", Path("runs/r1"), "bench", "complete", "then", "it is fast", "w"),
        figures={"rate": 1234.5},
        seed=3,
        machine="one",
        version="1.0",
    )
    two = replace(one, name="r2", status="interrupted", seed=None, machine="two", figures={})
    odd = replace(one, name="r3", status="broken")
    entries = (Entry(one, 100.0, None), Entry(two, 110.0, 0.1))
    last = replace(two, says="it is slow: by far", commit="abc")
    slower = tuple(
        Entry(one if n < 8 else last, 100.0 - n % 3 - n // 8 * 50, 0.1) for n in range(16)
    )
    figures = [FigureHistory("rate", slower), FigureHistory("cpu", entries)]
    figures.append(FigureHistory("memory", entries[:1]))
    sound, bad = FileCheck("a.json"), FileCheck("b.json", "no JSON")
    return [
        runs.runs_section((one, two), WHERE),
        runs.runs_section((), WHERE),
        *(runs.record_section(record, {"a": 3 << 20, "b": 1 << 19}) for record in (one, two, odd)),
        runs.history_section(FigureHistory("rate", entries)),
        runs.history_section(FigureHistory("rate", entries[:1])),
        runs.figures_section(figures, Path("results")),
        runs.figures_section(figures[1:], Path()),
        runs.validation_section({"r1": (sound, sound), "r2": (sound, bad)}),
        runs.validation_section({"r1": (sound,)}),
    ]


def _plugins() -> list[Section]:
    rows = (
        PluginRow("env", "world", "A world", "ok", "p", "dist", "1.2", "f.py"),
        PluginRow("collector", "lone", "In a file", "ok", "q", "", "", "lone.py"),
        PluginRow("?", "bad", "", "broken", "r", "other", "0.9", "g.py", "no such library"),
    )
    promises = (
        PromiseResult("it counts", kept=True, slug="count"),
        PromiseResult("it waits", kept=False, detail="it did not", slug="wait"),
        PromiseResult("it orders", kept=False, detail="by hand", slug="order", excuse="it hurries"),
        PromiseResult("it rests", kept=True, slug="rest", excuse="it never does"),
        PromiseResult("it flies", kept=None, detail="has no wings", slug="fly"),
    )
    seen = (
        FaultSeen("fast", "raise@3", "told", 0.25),
        FaultSeen("fast", "hang@3", "hung", close="late", usable_again=False),
        FaultSeen("slow", "raise@3", "went on", usable_again=True),
    )
    offer = Offer(SPEC, Source("fast-plugin", "dist", "1.2", "f.py"))
    return [
        plugins.inventory_section(rows),
        plugins.inventory_section(rows[:2]),
        plugins.offer_section(offer),
        plugins.offer_section(
            replace(
                offer, spec=replace(SPEC, options=None, positional=None, capabilities=frozenset())
            )
        ),
        plugins.promises_section(SPEC, promises),
        plugins.promises_section(SPEC, promises[:1]),
        plugins.faults_section(seen, {"fast": "dist 1.2"}, "wfbench faults"),
        plugins.faults_section(seen[:1], {}, "wfbench faults"),
    ]


def _doctor() -> list[Section]:
    well = HealthFinding("memory", "", ok=True, message="8 GB")
    ill = HealthFinding("segments", "", ok=False, message="3 left", remedy="--fix", fixed="2 of 3")
    return [doctor_section((well, ill)), doctor_section((well,))]


def _scaling() -> list[Section]:
    def curve(n: int | None, kind: str, knee: float | None = None) -> GrowthCurve:
        samples = (
            CurveSample(1, Estimate(100.0, 90.0, 110.0), Estimate(10.0), Estimate(3 * 2**20)),
            CurveSample(64, Estimate(6400.0), Estimate(9.0, 8.0), Estimate(2**22, 2**21, 2**23)),
            CurveSample(128, problem="left out"),
        )
        rate, cpu, memory = (
            Growth(kind, level, knee, "too few")  # type: ignore[arg-type]
            for level in (2500.0, 0.5e6, None if n else 2.0**-23)
        )
        along = "workers" if n else "environments"
        return GrowthCurve("shm", along, n, samples, rate, cpu, memory)

    curves = (
        *(curve(None, "flat"), curve(8, "linear"), curve(None, "knee", 127.0)),
        *(curve(None, "falls", 1500.0), curve(None, "unknown"), curve(None, "linear")),
    )
    shares = {"messages": 0.75, "caller": 0.2, "workers": 0.05}
    predictions = (
        Prediction("shm", 64, 2, 2, "here", 400.0, shares, 1000.0),
        Prediction("shm", 64, 64, 64, "64 cores", 9000.0, shares),
    )
    costs = (
        CollectorCosts("shm", StepCosts(1e-6, 2e-6, 3e-6, 4e-6, 5e-6, 6e-6, 0.75), "", predictions),
        CollectorCosts("pipe", None, "too few points", ()),
    )
    headline = Check("grows", "good", "; ".join(growth_lines(curves)))
    parts = [list(scaling_exhibits(curves, costs)), list(scaling_exhibits(curves[:1], ()))]
    far = [[("a", x, Estimate(y)) for x, y in ((1, 1.0), (2, end))] for end in (30.0, 30.5)]
    parts += [[rate_curves("workers", rows) for rows in far]]
    return [Section("Scaling", "bench", headline, exhibits=tuple(part)) for part in parts]


MADE: dict[str, Callable[[], list[Section]]] = {
    "baselines": _baselines,
    "bisection": _bisection,
    "board": _board,
    "doctor": _doctor,
    "plugins": _plugins,
    "revisions": _revisions,
    "runs": _runs,
    "scaling": _scaling,
    "transfer": _transfer,
}


def _on_screen(report: Report) -> str:
    out = io.StringIO()
    show_report(report, Console(file=out, width=100, color_system=None, markup=False, emoji=False))
    return out.getvalue()


@pytest.mark.parametrize("kind", MADE)
def test_a_result_with_chosen_values_reads_as_it_did(
    kind: str, golden: Callable[[str, str], None]
) -> None:
    golden(f"{kind}.md", page(*MADE[kind]()))


def test_what_was_kept_reads_as_it_did(
    golden: Callable[[str, str], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # away from landscapes that would judge the searches
    host = load_plugins(PluginSettings(external=False))
    names = ("bench", "search-2", "matrix-2", "landscape.json", "searchers.json")
    found = Sources(KEPT, host).report([str(KEPT / name) for name in names])
    golden("kept.md", page(*found.sections).replace(str(KEPT), "KEPT"))


def test_formats_place_everything_where_it_was(
    harmless: Report, golden: Callable[[str, str], None]
) -> None:
    golden("formats.html", render_html(harmless).replace("><", ">\n<"))
    golden("formats.txt", _on_screen(harmless))
    golden("formats.csv", render_csv(harmless))
    golden("formats.xml", render_junit(harmless))


@pytest.mark.parametrize(
    "picture",
    [
        Heat("name", "group", "value"),
        Heat("x", "group", "value", count="x"),
        Curves("x", "value", "name", log=True),
        Curves("x", "value", "group", from_zero=True, steps=True),
        Bars("name", "value", "low", "high", log=True),
        Bars("name", "value", group="group"),
        Dots("name", "loss", "low", "high"),
        Spread("name", "loss", mark="x"),
    ],
    ids=["turned", "counted", "log-lines", "steps", "log-bars", "grouped", "dots", "spread"],
)
def test_a_drawing_is_where_it_was(
    picture: Picture, request: pytest.FixtureRequest, golden: Callable[[str, str], None]
) -> None:
    rows = tuple(
        (
            f"{'very ' * n}long name",
            f"group {n % 2}",
            2**n,
            10.0 ** (n - 2),
            0.5,
            50.0 * n,
            -3.0 * n,
        )
        for n in range(1, 8)
    )
    columns = tuple(map(Column, ("name", "group", "x", "value", "low", "high", "loss")))
    drawn = str(draw(Exhibit("t", "r", Table(columns, rows), "c", picture), WIDE))
    golden(f"{request.node.callspec.id}.svg", drawn.replace("><", ">\n<"))


@pytest.mark.parametrize("width", [WIDE, NARROW], ids=["wide", "narrow"])
@pytest.mark.parametrize(
    "picture",
    [
        Curves("value", "share", "group", "low", "value", mark="on", link="name"),
        Curves("x", "value", "name"),
        Timeline(
            "x",
            "name",
            "on",
            (Panel("value", "high", 4.0), Panel("share", unit_scale=True)),
            "y",
            "n",
        ),
        Spread("name", "value", "low", "high", mark="mark"),
        Dots("name", "value", "low", "high", strong="on"),
        Bars("name", "value", "low", "high", group="group"),
        Shares("name", ("high", "low", "share", "mark"), group="group"),
        Heat("name", "group", "value"),
        Heat("group", "on", "value", count="x"),
    ],
    ids=lambda one: type(one).__name__.lower(),
)
def test_a_busy_drawing_is_where_it_was(
    picture: Picture,
    width: float,
    request: pytest.FixtureRequest,
    golden: Callable[[str, str], None],
) -> None:
    """Many rows: bands in place of whiskers, values that are cut off, labels that do not fit."""
    rows = tuple(
        (
            f"{'wide ' * (n % 3)}{n // 3}",
            f"group {n // 13}",
            n // 3 if n % 7 else None,
            n % 2 == 0,
            -90.0 if n == 1 else 3.0 * (n % 11) - n / 4,
            2.0 * (n % 11) - 9.0,
            4.0 * (n % 11) + 1.5 if n % 5 else None,
            (n % 10) / 10,
            float(n) if n % 4 == 1 else None,
        )
        for n in range(18)
    )
    names = ("name", "group", "x", "on", "value", "low", "high", "share", "mark")
    exhibit = Exhibit("t", "r", Table(tuple(map(Column, names)), rows), "c", picture)
    drawn = str(draw(exhibit, width)).replace("><", ">\n<")
    golden(f"busy-{request.node.callspec.id}.svg", drawn)
