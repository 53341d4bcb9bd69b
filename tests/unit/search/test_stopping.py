"""When the training of an order ends, at the very step where it may."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from wfbench.contract import Cadence, UpdateStats
from wfbench.search.budget import (
    Pace,
    RunBudget,
    WorkflowBudget,
    granted_episodes,
    time_for,
    workflow_budget,
)
from wfbench.search.episodes import Summary
from wfbench.search.stopping import StopRule
from wfbench.settings.config import RunConfig

BUDGET = WorkflowBudget(n_envs=2, steps=10, max_steps=1000, min_steps=100, per_episode=20)
MANY: Any = SimpleNamespace(actions=np.array([[0, 1]]))
ONE: Any = SimpleNamespace(actions=np.array([[3, 3]]))


def rule(**changed: Any) -> StopRule:
    return StopRule(RunConfig(**{"training": "per-order", "threshold": 0.9, **changed}), BUDGET)


def judged(compliance: float, episodes: int = 2) -> Summary:
    return Summary(episodes, 0.0, 0.0, compliance, 0.0, 0.0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("compliance", "episodes", "used", "reason", "reached"),
    [
        (0.9, 2, 100, "threshold", 100),
        (0.9, 2, 99, None, 99),
        (0.9, 1, 100, None, None),
        (0.89, 2, 100, None, None),
        (0.5, 2, 980, None, None),
        (0.5, 2, 998, None, None),
        (0.5, 2, 999, "episodes", None),
    ],
)
def test_an_order_ends_when_it_is_followed_or_its_budget_is_spent(
    compliance: float, episodes: int, used: int, reason: str | None, reached: int | None
) -> None:
    stop = rule()
    ending = stop.after_rollout(MANY, judged(compliance, episodes), used)
    assert (ending.reason if ending else None) == reason
    assert stop.reached_at == reached


def test_the_first_time_counts_and_budget_or_joint_training_goes_on() -> None:
    for stop in (rule(stop="budget"), rule(training="joint")):
        assert stop.after_rollout(MANY, judged(1.0), 200) is None
        assert stop.after_rollout(MANY, judged(1.0), 300) is None
        assert stop.reached_at == 200


def test_three_rollouts_of_one_action_are_a_collapse() -> None:
    stop = rule()
    rollouts = [ONE, ONE, MANY, ONE, ONE, ONE]
    endings = [stop.after_rollout(one, judged(0.0), 100) for one in rollouts]
    assert endings[:5] == [None] * 5
    assert (endings[5].status, endings[5].reason) == ("hopeless", "collapsed")  # type: ignore[union-attr]
    single: Any = SimpleNamespace(actions=np.array([[3]]))
    small = rule()
    assert [small.after_rollout(single, judged(0.0), 100) for _ in range(3)][2] == endings[5]
    early = rule()
    assert [early.after_rollout(ONE, judged(0.0), 99) for _ in range(4)] == [None] * 4


@pytest.mark.parametrize(
    ("compliances", "ends_at"),
    [
        ([0.1, 0.1, 0.1], 220),
        ([0.1, 0.109, 0.109], 220),
        ([0.1, 0.11, 0.11, 0.11], 240),
        ([0.1, math.nan, 0.1], 220),
    ],
)
def test_patience_counts_episodes_since_compliance_rose(
    compliances: list[float], ends_at: int
) -> None:
    stop = rule(patience=2)
    for place, compliance in enumerate(compliances):
        used = 180 + 20 * place
        ending = stop.after_rollout(MANY, judged(compliance), used)
        assert (ending is not None) == (used == ends_at)
    assert ending is not None
    assert ending.reason == "no-progress"


def test_patience_waits_for_the_minimum_and_joint_training_needs_none() -> None:
    for stop in (rule(patience=1), rule(training="joint", patience=1)):
        found = [stop.after_rollout(MANY, judged(0.1), used) for used in (20, 40, 60, 99)]
        assert found == [None] * 4
    assert rule().after_rollout(MANY, judged(0.1), 900) is None
    waiting = rule(patience=1)
    found = [waiting.after_rollout(MANY, judged(0.1), used) for used in (20, 100)]
    assert [ending and ending.reason for ending in found] == [None, "no-progress"]


@pytest.mark.parametrize(
    ("loss", "weight", "reason"),
    [(1.0, 1.0, None), (math.nan, 1.0, "not-finite"), (1.0, math.inf, "not-finite")],
)
def test_numbers_that_are_none_end_a_training(loss: float, weight: float, reason: str) -> None:
    arrays = {"w": np.array([0.0, weight]), "n": np.array([1])}
    policy: Any = SimpleNamespace(snapshot=lambda: SimpleNamespace(arrays=arrays))
    ending = rule().after_update(UpdateStats(0.0, 1, {"loss": loss}), policy)
    assert (ending.reason if ending else None) == reason


@pytest.mark.parametrize(("used", "steps"), [(0, 10), (980, 10), (982, 9), (999, 0), (1000, 0)])
def test_no_rollout_exceeds_the_budget(used: int, steps: int) -> None:
    assert BUDGET.next_steps(used) == steps


@pytest.mark.parametrize(("most", "rollouts"), [(1000, 50), (1001, 50), (1002, 51), (20, 1)])
def test_rollouts_that_fit_are_counted(most: int, rollouts: int) -> None:
    assert WorkflowBudget(2, 10, most, 0, 20).rollouts == rollouts


@pytest.mark.parametrize(
    ("left", "most", "limit"),
    [(None, 600, "episodes"), (600, 600, "episodes"), (599, 599, "total-episodes")],
)
def test_what_the_run_has_left_limits_a_training(left: int | None, most: int, limit: str) -> None:
    config = RunConfig(n_envs=3, update_every=7, min_episodes=4)
    budget = workflow_budget(config, Cadence(), 20, 10, left)
    assert budget == WorkflowBudget(3, 7, most, 240, 60, limit)
    own = workflow_budget(config, Cadence(n_envs=1, steps=11), 20, 2, left)
    assert (own.n_envs, own.steps, own.max_steps, own.min_steps) == (1, 11, 120, 120)


def test_shares_of_a_budget_are_whole_episodes() -> None:
    assert [granted_episodes(10, share) for share in (0.0, 0.04, 0.26, 1.0, 3.0)] == [
        1,
        1,
        3,
        10,
        10,
    ]


def test_time_and_steps_that_are_left() -> None:
    assert [time_for(2.0, left) for left in (None, 5.0, 4.9)] == [True, True, False]
    assert Pace(1.0, 2.0, 4.0).to_begin() == 7.0
    assert RunBudget().steps_left(5) is RunBudget().seconds_left(5.0) is None
    budget = RunBudget(10, 4.0)
    assert (budget.steps_left(4), budget.steps_left(11), budget.seconds_left(1.0)) == (6, 0, 3.0)
