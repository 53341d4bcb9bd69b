"""How joint runs are watched, and how a section shows its conclusion."""

from __future__ import annotations

import io
from typing import Any

import pytest
from rich.console import Console

from wfbench.report import make_report
from wfbench.report.document import Check, Section
from wfbench.report.formats.html import render_html
from wfbench.report.formats.markdown import render_markdown
from wfbench.report.formats.terminal import show_section
from wfbench.report.run_lines import PlainLines
from wfbench.report.run_live import LiveView
from wfbench.report.run_plan import RunPlan, judged_name
from wfbench.report.sections.joint import orders_section

NAMED = {name: name for name in ("run", "env", "collector", "trainer", "searcher", "seed")}
STAGES = {
    "joint": {"trainings": 2, "steps": 100, "evaluation_steps": 200},
    "free": {"trainings": 1, "steps": 100, "evaluation_steps": 200},
    "specialised": {"trainings": 2, "steps": 50, "evaluation_steps": 10},
}
STARTED = {"event": "run-started", "workflows": 5, "stages": STAGES, "time": {"work": 0.0}, **NAMED}
STARTED |= {"definition": "choices@1"}


def event(kind: str, workflow: int, work: float = 1.0, **more: Any) -> dict[str, Any]:
    order = "all" if workflow < 3 else "A>B"
    return {"event": kind, "workflow": workflow, "order": order, "time": {"work": work}, **more}


def update(workflow: int, steps: int = 50) -> dict[str, Any]:
    judged = {"definition": "choices@1", "secondary": "b@1", "compliance": 0.75, "counted": 3.2}
    judged |= {"secondary_compliance": 0.3, "return": -20.0}
    return event("update", workflow, env_steps=steps, transitions=50, **judged)


def finished(workflow: int, says: tuple[str, ...] = (), **more: Any) -> dict[str, Any]:
    judged = {"definition": "choices@1", "compliance": None, "counted": 0.2, "score": -17.0}
    judged |= {"compliant": False, "status": "budget", "reason": "episodes", "best": False}
    values = {"env_steps": 100, "evaluation_steps": 200, "says": says, **judged, **more}
    return event("workflow-finished", workflow, **values)


@pytest.mark.parametrize(
    ("workflow", "label"),
    [(0, "joint 1 of 2"), (1, "joint 2 of 2"), (2, "free"), (3, "specialised A>B")],
)
def test_a_training_of_a_joint_run_is_named_by_its_stage(workflow: int, label: str) -> None:
    assert RunPlan.of(STARTED).label(event("update", workflow)) == label
    alone = RunPlan.of({"workflows": 5})
    assert alone.label({"workflow": 0, "order": "A>B"}) == "A>B"


def test_the_share_done_counts_what_trainings_and_evaluations_cost() -> None:
    plan = RunPlan.of(STARTED)
    plan.take(update(0))  # 50 steps a second
    plan.take(finished(0))  # 200 steps a second: a step costs a quarter
    whole = 3 * (100 + 50) + 2 * (50 + 2.5)
    assert plan.share(0, 0.5) == pytest.approx(50 / whole)
    assert plan.share(1) == pytest.approx(150 / whole)
    assert plan.share(5) == 1.0
    assert plan.current(update(3, steps=25)) == 0.5
    left = plan.left(30.0, plan.share(1))
    assert left == pytest.approx(30 * (whole - 150) / 150)


def test_time_left_of_a_resumed_run_counts_from_where_it_was_resumed() -> None:
    plan = RunPlan.of({"workflows": 4, "finished": 2})
    assert plan.left(10.0, plan.share(2)) is None
    assert plan.left(10.0, plan.share(3)) == pytest.approx(10.0)


def test_compliance_is_called_right_where_choices_are_pooled() -> None:
    assert judged_name("choices@1") == "right"
    assert judged_name("effective@2") == "compliance"


def test_lines_name_the_stage_and_say_every_sentence_once(
    capsys: pytest.CaptureFixture[str],
) -> None:
    lines = PlainLines()
    first, second = ("it is so", "and so"), ("it is so", "and new")
    for one in (STARTED, update(0), finished(0, first), finished(1, second)):
        lines(one)
    lines(finished(3, reason="wall-time"))
    lines({**event("worker-lost", 4), "cause": "gone"})
    shown = capsys.readouterr().out.splitlines()
    rest = "right - of 0.2 choices per episode  return -17.0  100 steps"
    assert shown[1:] == [
        f"[1/5] joint 1 of 2  {rest}",
        "    it is so",
        "    and so",
        f"[2/5] joint 2 of 2  {rest}",
        "    and new",
        f"[4/5] specialised A>B  {rest}  ended by wall-time",
        "[5/5] specialised A>B  lost (gone), will be retried",
    ]


def test_a_long_training_says_how_long_the_whole_run_takes(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    monkeypatch.setattr("wfbench.report.run_lines.monotonic", lambda: now[0])
    lines = PlainLines()
    lines(STARTED)
    now[0] = 30.0
    lines(update(0))
    shown = capsys.readouterr().out.splitlines()[-1]
    assert shown.startswith("[1/5] joint 1 of 2  right 0.75 of 3.2 choices per episode  return")
    assert shown.endswith(" left")
    assert "about" in shown


def test_the_live_view_of_a_joint_run_shows_stage_and_answer() -> None:
    live = LiveView()
    panel = live.watch("one")

    def drawn(*events: dict[str, Any]) -> str:
        for one in events:
            panel(one)
        out = io.StringIO()
        Console(file=out, width=120).print(live.render())
        return out.getvalue()

    begun = drawn(STARTED, event("workflow-started", 0, budget_steps=100), update(0))
    assert "joint 1 of 2" in begun
    assert "0.750  (of 3.2 choices per episode)" in begun
    assert "compliance" not in begun
    assert "now it is evaluated" in drawn(update(0, steps=100))
    answered = drawn(finished(0, ("First answer",)), event("workflow-started", 2, budget_steps=9))
    assert "answer so far:\n  First answer" in answered
    assert "free" in answered
    assert "best so far" not in answered
    assert "First answer" not in drawn({"event": "run-finished", "time": {"work": 0.0}})


def section(says: str) -> Section:
    said = ("Orders differ.", "All are followed <really>.")
    return Section(
        "Search x",
        "search",
        Check("result", "good", says),
        notes=("a note",),
        conclusion=said,
        afterwards=("files are in x", "next: wfbench evaluate x"),
    )


def shown(one: Section) -> list[str]:
    out = io.StringIO()
    show_section(one, Console(file=out, width=80, markup=False))
    return out.getvalue().splitlines()


def test_the_conclusion_comes_last_in_the_terminal() -> None:
    assert shown(section("done"))[-8:] == [
        "note: a note",
        "",
        "Conclusion",
        "  Orders differ.",
        "  All are followed <really>.",
        "",
        "files are in x",
        "next: wfbench evaluate x",
    ]


def test_what_the_headline_says_is_not_said_again() -> None:
    one = section("not finished: Orders differ.")
    assert one.concluding == ("All are followed <really>.",)
    assert sum("Orders differ." in line for line in shown(one)) == 1
    report = make_report(one)
    assert "<li>All are followed &lt;really&gt;.</li>" in render_html(report)
    assert "- All are followed" in render_markdown(report)
    assert render_markdown(report).count("Orders differ") == 1


@pytest.mark.parametrize(("orders", "crossed"), [(12, 12), (13, 7), (24, 12)])
def test_the_evaluation_of_a_joint_policy_shows_code_against_judge(
    orders: int, crossed: int
) -> None:
    names = [f"order {i}" for i in range(orders)]
    row = {"return": -1.0, "half_interval": 0.1, "choices_per_episode": 2.0, "right": 0.9}
    values = {
        "policy": "p",
        "definition": "choices@1",
        "seed": 0,
        "stress": 0,
        "mean_return": -1.0,
        "followed": orders,
        "untested": 0,
        "orders": [{"order": name, "status": "followed", **row} for name in names],
        "judges": names,
        "right_by": [[1.0 if a == b else None for b in names] for a in names],
    }
    found = orders_section(values)
    assert found.title == "Evaluation of joint policy p by order"
    _, matrix = found.exhibits
    assert matrix.title == "Does behaviour follow the order?"
    assert len(matrix.table.rows) == crossed**2
    assert sum(cell[2] == 1.0 for cell in matrix.table.rows) == crossed
    never = {**values, "right_by": [[None] * orders] * orders, "joint": False}
    assert len(orders_section(never).exhibits) == 1
    assert orders_section(never).title == "Evaluation of p by order"
