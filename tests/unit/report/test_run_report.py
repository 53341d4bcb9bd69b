from __future__ import annotations

import io
import math
from collections.abc import Callable
from statistics import stdev
from typing import Any

import pytest
from rich.console import Console

from wfbench.report.order_summary import by_order
from wfbench.report.run_live import LiveView, ProcessTree, sparkline
from wfbench.report.sections.evaluation import published_returns
from wfbench.report.written import duration, fixed
from wfbench.search.evaluation import EvaluationCell
from wfbench.store.events import WorkflowResult
from wfbench_cage2.plugin import wfbench_envs


def _result(workflow: int, order: tuple[int, ...], score: float, **changed: Any) -> WorkflowResult:
    values: dict[str, Any] = {
        "workflow": workflow,
        "order": order,
        "seed": workflow,
        "inherited_from": None,
        "status": "budget",
        "reason": "episodes",
        "score": score,
        "score_sd": 2.0,
        "score_episodes": 100,
        "score_source": "last-episodes:3",
        "compliance": 0.5,
        "secondary_compliance": 0.4,
        "fixes": 1.0,
        "counted": 1.0,
        "wasted": 0.0,
        "compliant": True,
        "steps_to_compliance": None,
        "updates": 3,
        "env_steps": 100,
        "evaluation_steps": 0,
        "episodes": 4,
    }
    return WorkflowResult(**{**values, **changed})


def test_orders_are_ranked_compliant_first_and_then_by_mean_score() -> None:
    ranked = by_order(
        [
            _result(0, (0, 1), -1.0, compliant=False),
            _result(1, (1, 0), -20.0),
            _result(2, (1, 0), -30.0),
            _result(3, (2, 1), math.nan),
        ]
    )
    assert [order.order for order in ranked] == [(1, 0), (2, 1), (0, 1)]
    assert ranked[0].mean == -25.0


def test_an_interval_over_trainings_needs_two_and_is_wider_than_over_episodes() -> None:
    [once] = by_order([_result(0, (0, 1), -10.0)])
    assert math.isnan(once.between)
    assert once.within == pytest.approx(1.96 * 2.0 / 10)
    [twice] = by_order([_result(0, (0, 1), -10.0), _result(1, (0, 1), -14.0)])
    assert twice.between == pytest.approx(12.706 * math.sqrt(8) / math.sqrt(2), rel=1e-4)
    assert twice.between > twice.within


@pytest.mark.parametrize(("trainings", "t"), [(2, 12.706), (5, 2.776), (11, 2.228), (30, 2.045)])
def test_an_interval_over_trainings_is_by_students_t(trainings: int, t: float) -> None:
    scores = [float(number % 2) for number in range(trainings)]
    [order] = by_order([_result(n, (0, 1), score) for n, score in enumerate(scores)])
    error = stdev(scores) / math.sqrt(trainings)
    assert order.between == pytest.approx(t * error, rel=1e-3)


def test_numbers_that_are_not_there_are_a_dash() -> None:
    assert fixed(None) == fixed(math.nan) == "-"
    assert fixed(-1234.567, 1) == "-1,234.6"


def test_a_sparkline_spans_its_values() -> None:
    assert sparkline([0.0, 0.5, 1.0]) == "▁▅█"
    assert sparkline([math.nan]) == ""
    assert sparkline([3.0, 3.0]) == "▁▁"
    assert sparkline([0.5, 1.0], low=0.0)[-1] == "█"


def test_durations_are_written_as_people_say_them() -> None:
    assert duration(9.87) == "9.87 s"
    assert duration(60.4) == "1 min 0 s"
    assert duration(3725) == "1 h 2 min"


def test_the_tree_is_looked_at_once_a_second() -> None:
    tree = ProcessTree()
    tree.look()
    seen = tree.memory
    assert seen > 10 * 2**20
    tree.memory = -1
    tree.look()
    assert tree.memory == -1


def test_every_moment_of_a_run_is_drawn_as_it_was(golden: Callable[[str, str], None]) -> None:
    live = LiveView()
    panels = [live.watch("one"), live.watch("two")]
    time = {"at": 1.0, "work": 0.5, "update": 0.4, "env": 0.1}
    update = {
        "event": "update",
        "compliance": 0.4,
        "secondary_compliance": 0.3,
        "secondary": "b@1",
        "return": None,
        "env_steps": 50,
        "transitions": 50,
        "time": time,
    }
    end = {
        "event": "workflow-finished",
        "workflow": 0,
        "order": "A>B",
        "compliant": True,
        "status": "compliant",
        "reason": "threshold",
        "compliance": 1.0,
        "score": None,
        "best": True,
        "time": time,
    }
    start = {"event": "workflow-started", "workflow": 0, "order": "A>B", "time": time}
    start |= {"budget_steps": 100}
    named = {name: name for name in ("run", "env", "collector", "trainer", "searcher", "seed")}
    begun = {"event": "run-started", "workflows": 2, "time": time, **named}
    worse = {**update, "env_steps": 75, "compliance": 0.3, "return": -2.5}
    events = [begun, start, update, worse, end, start]
    kept = io.StringIO()
    for event in events:
        for panel in panels:
            panel(event)
        out = io.StringIO()
        Console(file=out, width=100).print(live.render())
        assert "workflows" in out.getvalue()
        for whole in (False, True):
            drawn = panels[0].draw(30.0, whole=whole)
            Console(file=kept, width=100, color_system=None).print(*drawn, sep="\n")
    golden("live.txt", kept.getvalue())
    assert "best so far: A>B" in out.getvalue()
    assert panels[0].share == 0.5
    assert panels[0].pace == 100


def test_published_results_need_all_their_cells() -> None:
    def cell(red: str, horizon: int) -> EvaluationCell:
        return EvaluationCell(red, horizon, 10, -1.0, 0.1, 1.0, 1.0, 1.0, 1.0, 0.0, None)

    cells = [cell(red, horizon) for red in ("bline", "meander") for horizon in (30, 50, 100)]
    [spec] = wfbench_envs()
    totals = {one.name: sum(one.returns.values()) for one in spec.published}
    assert totals == pytest.approx({"CardiffUni (winner)": -54.57, "Keeping-it-RL": -56.9})
    assert all(one.source for one in spec.published)
    ours = published_returns(cells, spec.published)
    assert ours is not None
    assert list(ours.values()) == [-1.0] * 6
    assert published_returns(cells[1:], spec.published) is None
    assert published_returns(cells, ()) is None
