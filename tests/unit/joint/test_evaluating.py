"""Policies of joint runs are evaluated on the orders they follow, from normal starts."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import wfbench
from wfbench.orders import format_order
from wfbench.search.job import SearchJob
from wfbench.store.policy_file import read_policy

ENV = "synthetic-batch:obs_size=6,num_actions=6,episode_length=10"
HELD = f"{ENV},orders=3;50,hold=1-9,hold_share=0.5"
EPISODES = 24


@pytest.fixture
def run(make_joint: Callable[..., SearchJob], begin: Callable[..., Any], tmp_path: Path) -> Path:
    """A run that held blue in half of its training episodes."""
    begin(make_joint(env=HELD, free=0, seeds=1)).run()
    return tmp_path / "r"


def test_a_specialised_policy_plays_and_is_judged_by_its_own_order(run: Path) -> None:
    [file] = (run / "policies").iterdir()
    label = read_policy(file).label
    own = format_order(label.order, label.units)
    [cell] = wfbench.evaluate(file, episodes=EPISODES, horizon=10, stress=4).cells
    swept = wfbench.evaluate(file, orders=own, episodes=EPISODES, stress=4)
    normal, stress = swept.sweeps["normal"], swept.sweeps["stress"]
    assert normal.orders == (label.order,)
    assert cell.env_return == pytest.approx(normal.env_return.mean())
    assert cell.counted == pytest.approx(normal.choices.mean())
    few = EPISODES // 4
    assert cell.stress_return == pytest.approx(stress.env_return[0, :few].mean())
    assert cell.stress_counted == pytest.approx(stress.choices[0, :few].mean())


def test_a_policy_trained_on_held_episodes_is_evaluated_on_normal_ones(run: Path) -> None:
    [cell] = wfbench.evaluate(run, order="3", episodes=EPISODES, horizon=10, stress=0).cells
    swept = wfbench.evaluate(run, orders="3", episodes=EPISODES, stress=0)
    assert cell.env_return == pytest.approx(swept.sweeps["normal"].env_return.mean())
    where = f"{ENV},orders=3,hold=9"
    [held] = wfbench.evaluate(run, env=where, episodes=EPISODES, horizon=10, stress=0).cells
    assert held.counted < cell.counted  # an environment that is named plays as it is named


@pytest.mark.parametrize(("held", "played"), [(0, False), (9, True), (10, False)])
def test_stress_leaves_at_least_one_step_to_play(run: Path, held: int, *, played: bool) -> None:
    [cell] = wfbench.evaluate(run, order="3", episodes=4, horizon=10, stress=held).cells
    assert math.isfinite(cell.stress_return) == played


def test_the_policies_of_orders_are_judged_by_every_order(run: Path) -> None:
    found = wfbench.evaluate(run, orders="trained", episodes=4)
    [row] = found.crossed
    [file] = (run / "policies").iterdir()
    assert row.order == read_policy(file).label.order
    assert row.compliance.shape == (120,)
