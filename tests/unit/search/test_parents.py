"""A training that repeats an order starts where the order's first training started."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from wfbench.search.task_making import parent
from wfbench.store.events import WorkflowResult, WorkflowStarted

A, B, C = (0, 1, 2), (0, 2, 1), (2, 1, 0)


def _result(
    workflow: int, order: tuple[int, ...], inherited: int | None = None, reason: str = "episodes"
) -> WorkflowResult:
    return WorkflowResult(
        workflow=workflow,
        order=order,
        seed=workflow,
        inherited_from=inherited,
        status="budget",
        reason=reason,
        score=-10.0,
        score_sd=1.0,
        score_episodes=4,
        score_source="last-episodes:3",
        compliance=0.5,
        secondary_compliance=0.4,
        fixes=1.0,
        counted=1.0,
        wasted=0.0,
        compliant=False,
        steps_to_compliance=None,
        updates=3,
        env_steps=100,
        evaluation_steps=0,
        episodes=4,
    )


@pytest.mark.parametrize("how", ["nearest", "previous"])
def test_a_repeat_starts_where_the_first_training_of_its_order_started(how: str) -> None:
    done = [_result(0, C), _result(1, A, inherited=0), _result(2, B, inherited=1)]
    assert parent(how, A, done) is done[0]
    again = [*done, _result(3, A, inherited=0)]
    assert parent(how, A, again) is done[0]
    assert parent(how, B, again) is done[1]


@pytest.mark.parametrize("how", ["nearest", "previous"])
def test_a_repeat_of_what_began_from_scratch_begins_from_scratch(how: str) -> None:
    done = [_result(0, A), _result(1, B, inherited=0)]
    assert parent(how, A, done) is None


@pytest.mark.parametrize("reason", ["not-finite", "collapsed"])
def test_a_training_that_broke_down_is_not_inherited(reason: str) -> None:
    done = [_result(0, C), _result(1, B, reason=reason)]
    assert parent("nearest", A, done) is done[0]
    assert parent("previous", A, done) is done[0]


def test_repeats_of_gp_ucb_never_inherit_from_their_own_order(
    make_job: Callable[..., Any], begin: Callable[..., Any]
) -> None:
    job = make_job(
        training="per-order", searcher="gp-ucb:replicate=0.6", workflows=9, inherit="nearest"
    )
    search = begin(job)
    search.run()
    first: dict[Any, WorkflowStarted] = {}
    repeats = []
    for event in search.recorded().events(WorkflowStarted):
        known = first.setdefault(event.order, event)
        if known is not event:
            repeats.append(event)
            assert event.seed != known.seed
            assert event.inherited_from == known.inherited_from
    assert len(repeats) >= 2
    assert any(event.inherited_from is not None for event in first.values())
