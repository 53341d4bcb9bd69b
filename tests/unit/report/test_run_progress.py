"""What is told of a run while it goes on, and how its numbers are written."""

from __future__ import annotations

import io
import mmap
import os
from typing import Any

import pytest
from rich.console import Console

from wfbench.report.document import Column
from wfbench.report.run_lines import PlainLines
from wfbench.report.run_live import LiveView, ProcessTree, RunPanel, sparkline
from wfbench.report.run_plan import RunPlan
from wfbench.report.written import duration, fixed, interval, many, short

STAGES = {
    "joint": {"trainings": 2, "steps": 100, "evaluation_steps": 100},
    "specialised": {"trainings": 1, "steps": 50, "evaluation_steps": 0},
}


def update(workflow: int = 0, steps: int = 10, work: float = 2.0) -> dict[str, Any]:
    return {
        "event": "update",
        "workflow": workflow,
        "compliance": 0.5,
        "secondary_compliance": 0.25,
        "secondary": "strict@1",
        "definition": "choices@1",
        "counted": 1.5,
        "return": -3.0,
        "env_steps": steps,
        "transitions": 10,
        "time": {"work": work, "env": work / 2},
    }


def ended(workflow: int, *, compliant: bool, best: bool = False, **more: Any) -> dict[str, Any]:
    return {
        "event": "workflow-finished",
        "workflow": workflow,
        "order": f"order {workflow}",
        "compliant": compliant,
        "status": "compliant" if compliant else "budget",
        "reason": "threshold" if compliant else "episodes",
        "compliance": 0.75,
        "score": -1.25,
        "best": best,
        "time": {"work": 1.0},
        **more,
    }


def begun(workflows: int = 30, **more: Any) -> dict[str, Any]:
    names = {name: name for name in ("run", "env", "collector", "trainer", "searcher", "seed")}
    return {"event": "run-started", "workflows": workflows, "time": {}, **names, **more}


def drawn(panel: RunPanel, elapsed: float = 30.0) -> str:
    out = io.StringIO()
    Console(file=out, width=120, color_system=None).print(*panel.draw(elapsed, whole=True))
    return out.getvalue()


def test_the_last_five_trainings_are_listed_and_all_are_counted() -> None:
    panel = RunPanel("")
    panel(begun(finished=3))
    for number in range(3, 10):
        panel(ended(number, compliant=number % 2 == 0, best=number == 6))
    shown = drawn(panel)
    assert "10/30" in shown
    listed = [line.split()[0] for line in shown.splitlines() if line.startswith("   ")]
    assert listed == ["6", "7", "8", "9", "10"]
    assert "  8 order 7  0.75  -1.2  episodes" in shown
    assert "  9 order 8  0.75  -1.2  compliant" in shown
    assert "best so far: order 6  return -1.2, compliance 0.75; 3 of 10 compliant" in shown


def test_speed_and_curve_are_those_of_the_last_updates() -> None:
    panel = RunPanel("")
    panel(begun())
    panel(
        {
            "event": "workflow-started",
            "workflow": 0,
            "order": "A>B",
            "budget_steps": 1000,
            "time": {},
        }
    )
    for _ in range(30):
        panel(update(steps=400, work=2.0))
    assert panel.pace == 5.0
    for _ in range(10):
        panel(update(steps=500, work=1.0))
    assert panel.pace == pytest.approx(200 / 30)
    assert panel.workflow_share == 0.5
    shown = drawn(panel)
    assert "500 of 1,000 steps" in shown
    assert all(line.strip() for line in shown.splitlines())
    assert "\nworkflows  ╸  " in shown
    assert "0.500  (strict 0.250)" in shown
    assert [line.split()[-1] for line in shown.splitlines() if "return" in line] == ["-3.0"]
    assert "at most 1 min 15 s left" in shown
    assert shown.count("█") == 40
    panel(update())
    assert drawn(panel).count("█") == 40
    panel(
        {"event": "workflow-started", "workflow": 0, "order": "B>A", "budget_steps": 8, "time": {}}
    )
    assert panel.workflow_share == 0.0
    assert "█" not in drawn(panel)


def test_only_what_takes_a_hundredth_of_the_time_is_named() -> None:
    panel = RunPanel("")
    panel(begun())
    panel({**update(), "time": {"work": 100.0, "env": 98.01, "update": 1.0, "store": 0.99}})
    [line] = [line for line in drawn(panel).splitlines() if "steps/s" in line]
    assert line.split() == ["0", "steps/s", "env", "98%", "update", "1%"]


@pytest.mark.parametrize(("steps", "said"), [(99, "at most 0.200 s left"), (100, "is evaluated")])
def test_a_joint_training_without_steps_left_is_evaluated(steps: int, said: str) -> None:
    panel = RunPanel("")
    panel(begun(3, stages=STAGES))
    panel({"event": "workflow-started", "workflow": 0, "budget_steps": 100, "time": {}})
    panel(update(steps=steps))
    shown = drawn(panel)
    assert said in shown
    assert "trainings" in shown
    assert "joint 1 of 2" in shown
    assert "(of 1.5 choices per episode)" in shown


def test_what_a_joint_run_has_found_stays_until_it_ends() -> None:
    panel = RunPanel("")
    panel(begun(3, stages=STAGES))
    panel(ended(0, compliant=True, best=True, evaluation_steps=100, says=["so it is"]))
    panel(ended(1, compliant=True, evaluation_steps=100))
    assert "answer so far:\n  so it is" in drawn(panel)
    assert "best so far" not in drawn(panel)
    panel({"event": "run-finished", "time": {}})
    assert "so it is" not in drawn(panel)


def test_the_search_that_was_heard_of_last_is_drawn_whole() -> None:
    live = LiveView()
    panels = [live.watch("one"), live.watch("two")]
    for panel in (*panels, panels[0]):
        panel({**begun(), "run": f"run{panels.index(panel)}"})
        panel(
            {
                "event": "workflow-started",
                "workflow": 0,
                "order": "A>B",
                "budget_steps": 8,
                "time": {},
            }
        )
    out = io.StringIO()
    Console(file=out, width=120).print(live.render())
    assert "run0" in out.getvalue()
    assert "run1" in out.getvalue()
    assert out.getvalue().count("0 of 8 steps") == 1
    assert out.getvalue().index("0 of 8 steps") < out.getvalue().index("run1")


@pytest.mark.parametrize(("processes", "said"), [(1, "3 MiB"), (2, "3 MiB in 2 processes")])
def test_processes_are_counted_where_there_are_several(processes: int, said: str) -> None:
    tree = ProcessTree()
    tree.cores, tree.memory, tree.processes = 1.5, 3 * 2**20, processes
    shown = tree.draw().plain
    assert shown.startswith("150% of a core")
    assert shown.endswith(f"cores), {said}")


def test_before_the_first_look_nothing_is_used() -> None:
    assert ProcessTree().memory == 0
    assert ProcessTree().draw().plain.startswith("0% of a core (of ")
    assert ProcessTree().draw().plain.endswith(" cores), 0 MiB")


def test_work_of_the_kernel_counts_as_work(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("wfbench.report.run_live.monotonic", lambda: now[0])
    tree = ProcessTree()
    tree.look()
    assert tree.memory > 0
    assert tree.memory % mmap.PAGESIZE == 0
    before = os.times()
    while (after := os.times()).system - before.system < 0.1:
        os.urandom(100_000)
    now[0] = 0.99  # too early for another look
    tree.look()
    assert tree.cores == 0.0
    now[0] = 1.0
    tree.look()
    spent = after.user + after.system - before.user - before.system
    assert tree.cores >= spent - 0.03  # two clocks of a hundredth each


def test_a_view_says_how_long_it_is_open(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("wfbench.report.run_live.monotonic", lambda: now[0])
    live = LiveView()
    live.watch("one")
    now[0] = 112.5
    out = io.StringIO()
    Console(file=out, width=120).print(live.render())
    assert "12.5 s elapsed" in out.getvalue()


def test_a_part_of_a_run_is_told_by_what_was_done_since() -> None:
    plan = RunPlan.of({"workflows": 1000, "finished": 0})
    assert plan.left(10.0, 0.001) is None
    assert plan.left(10.0, 0.002) == pytest.approx(4990.0)
    joint = RunPlan.of({"workflows": 3, "stages": STAGES})
    assert joint.share(0) == 0.0
    assert joint.share(1) == pytest.approx(130 / 310)  # a step of evaluation costs 0.3
    assert joint.share(2, 0.5) == pytest.approx(285 / 310)
    assert joint.current(update(0, steps=50)) == 0.5
    assert joint.current(update(1, steps=500)) == 1.0
    assert joint.current(update(2, steps=10)) == 0.2
    assert joint.current(update(3, steps=10)) == 0.0
    single = {"joint": {"trainings": 1, "steps": 1, "evaluation_steps": 0}}
    assert RunPlan.of({"workflows": 1, "stages": single}).current(update(0, steps=1)) == 1.0
    assert "0/0" in drawn(RunPanel("not begun"))


def test_lines_of_a_joint_run_say_how_long_it_takes(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """First 50 of 310 took 100 s, as evaluation costs 0.3; then 170 of 290, as it costs 0.2."""
    now = [50.0]
    monkeypatch.setattr("wfbench.report.run_lines.monotonic", lambda: now[0])
    lines = PlainLines("a")
    start = begun(3, stages=STAGES, definition="choices@1")
    PlainLines()({**start, "event": "run-resumed", "finished": 2})
    lines(start)
    now[0] = 150.0
    lines(update(0, steps=50, work=2.0))
    more = {"env_steps": 100, "evaluation_steps": 100, "counted": 1.5, "definition": "choices@1"}
    lines(ended(0, compliant=False, time={"work": 4.0}, says=["so it is"], **more))
    now[0] = 250.0
    lines(update(1, steps=50, work=2.0))
    lines(ended(1, compliant=True, says=["so it is", "and so"], **more))
    lines({"event": "worker-lost", "workflow": 2, "order": "A>B", "cause": "gone", "time": {}})
    lines({"event": "warning", "text": "look out", "time": {}})
    going = "0.50 of 1.5 choices per episode  return -3.0  50 steps"
    kept = "0.75 of 1.5 choices per episode  return -1.2  100 steps"
    named = "run: env, collector, trainer, searcher, seed seed, compliance by choices@1"
    assert capsys.readouterr().out.splitlines() == [
        f"resuming {named}",
        f"a: run {named}",
        f"a: [1/3] joint 1 of 2  right {going}  about 8 min 40 s left",
        f"a: [1/3] joint 1 of 2  right {kept}",
        "a:     so it is",
        f"a: [2/3] joint 2 of 2  right {going}  about 2 min 21 s left",
        f"a: [2/3] joint 2 of 2  right {kept}  ended by threshold",
        "a:     and so",
        "a: [3/3] specialised A>B  lost (gone), will be retried",
        "a: warning: look out",
    ]


def test_bars_stay_within_their_ends() -> None:
    assert sparkline([-1.0, 0.0, 7.0], low=0.0) == "▁▁█"
    assert sparkline([float(step) for step in range(8)]) == "▁▂▃▄▅▆▇█"
    assert sparkline([1.0, None, 2.0]) == "▁█"
    assert sparkline([]) == ""


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1e6, "1 M"),
        (-2.345e6, "-2.35 M"),
        (999_999.0, "999,999"),
        (1234.5, "1,234"),
        (999.6, "1,000"),
        (100.0, "100"),
        (99.94, "99.9"),
        (10.0, "10.0"),
        (9.999, "10.00"),
        (1.0, "1.00"),
        (0.5, "0.500"),
        (0.001, "0.00100"),
        (0.000999, "0.001"),
        (float("inf"), "-"),
        (None, "-"),
    ],
)
def test_three_digits_are_written_whatever_the_size(value: float | None, text: str) -> None:
    assert short(value) == text


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (-0.004, 2, "0.00"),
        (-0.006, 2, "-0.01"),
        (1.0, 0, "1"),
        (-1.0, 1, "-1.0"),
        (-1234.5, 1, "-1,234.5"),
        (float("inf"), 2, "-"),
    ],
)
def test_nothing_is_written_as_minus_zero(value: float, digits: int, text: str) -> None:
    assert fixed(value, digits) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (59.9, "59.9 s"),
        (60, "1 min 0 s"),
        (61, "1 min 1 s"),
        (3599.4, "59 min 59 s"),
        (3600, "1 h 0 min"),
        (7260, "2 h 1 min"),
    ],
)
def test_a_time_has_at_most_two_units(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_counts_and_intervals_stand_with_their_words() -> None:
    assert [many(count, "run") for count in (0, 1, 2, 1000)] == [
        *("0 runs", "1 run", "2 runs", "1,000 runs"),
    ]
    column = Column("n", digits=1)
    assert interval(1.0, 2.0, column, "95 %: ") == " (95 %: 1.0 to 2.0)"
    assert interval(None, 2.0, column) == interval(1.0, None, column) == ""
