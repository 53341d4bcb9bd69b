"""Environments that draw an order per episode give the same transitions through every collector."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from wfbench.collecting.in_process import InProcessCollector
from wfbench.collecting.seeding import make_plan
from wfbench.contract import EnvRef, Plan, Rollout
from wfbench.contract.forms import FormOptions, shaped_ref
from wfbench.orders.codes import OrderCode
from wfbench.orders.forms import EpisodeDraws
from wfbench.policies import NetworkPolicy
from wfbench_cage2.workflow import WORKFLOW
from wfbench_collectors.free_running import AsyncCollector
from wfbench_collectors.pipe import PipeCollector
from wfbench_collectors.sequential import SequentialCollector
from wfbench_collectors.shm import ShmCollector
from wfbench_collectors.vector import VectorCollector

CALLS = (4, 1, 17)
LENGTH = 7
CAGE2 = EnvRef(
    "cage2",
    "wfbench_cage2.env:Cage2Env",
    "wfbench_cage2.batch:Cage2Batch",
    {"episode_steps": LENGTH, "memory": True, "actions": "reduced"},
)
FORMS = {
    "conditioned": FormOptions(orders="all"),
    "named": FormOptions(orders="3;77", order_code="positions"),
    "held": FormOptions(hold="2-9", hold_share=0.6),
    "both": FormOptions(orders="all", hold="4"),
}
SYNCHRONOUS: dict[str, Callable[[], Any]] = {
    "pipe": lambda: PipeCollector(workers=2),
    "pipe, scalar": lambda: PipeCollector(workers=2, batched=False),
    "shm": lambda: ShmCollector(workers=2),
    "shm, scalar": lambda: ShmCollector(workers=2, batched=False),
    "vector": VectorCollector,
    "vector, threads": lambda: VectorCollector(threads=2),
    "in process": InProcessCollector,
}


def _plan(form: str, env: EnvRef = CAGE2) -> Plan:
    return make_plan(shaped_ref(env, FORMS[form]), 5, seed=4)


def _policy(info: Any) -> NetworkPolicy:
    """A policy whose actions depend on every feature, the order's bits included."""
    return NetworkPolicy.initial(int(np.prod(info.obs_shape)), info.num_actions, 8)


def _collected(collector: Any, plan: Plan, calls: tuple[int, ...] = CALLS) -> list[Rollout]:
    with collector:
        policy = _policy(collector.open(plan))
        return [collector.collect(policy, steps) for steps in calls]


@pytest.mark.parametrize("name", SYNCHRONOUS)
@pytest.mark.parametrize("form", FORMS)
def test_every_synchronous_collector_gives_the_same_hash(form: str, name: str) -> None:
    plan = _plan(form)
    truth = _collected(SequentialCollector(), plan)
    assert sum(len(rollout.final_obs) for rollout in truth) == 5 * (sum(CALLS) // LENGTH)
    for rollout, wanted in zip(_collected(SYNCHRONOUS[name](), plan), truth, strict=True):
        assert rollout.transition_hash() == wanted.transition_hash()
        for part in ("final_obs", "next_obs", "compromised", "ended_session", "obs", "actions"):
            assert np.array_equal(getattr(rollout, part), getattr(wanted, part)), part


@pytest.mark.parametrize("name", ["pipe, scalar", "shm, scalar"])
def test_an_environment_without_a_batched_form(name: str) -> None:
    plan = _plan("both", replace(CAGE2, batched=None))
    truth = _collected(SequentialCollector(), plan)
    found = _collected(SYNCHRONOUS[name](), plan)
    assert [r.transition_hash() for r in found] == [r.transition_hash() for r in truth]


def test_the_order_of_every_row_is_the_one_drawn_for_its_episode() -> None:
    plan = _plan("conditioned")
    [rollout] = _collected(VectorCollector(), plan, (30,))
    _expect_drawn(rollout, plan)


@pytest.mark.parametrize("workers", [1, 2])
def test_rows_of_the_asynchronous_collector_have_the_right_order(workers: int) -> None:
    plan = _plan("both")
    found = _collected(AsyncCollector(workers=workers), plan, (8, 8, 8, 8))
    assert sum(int(rollout.ended.sum()) for rollout in found) > 5
    for rollout in found:
        _expect_drawn(rollout, plan)
    last = max(int(rollout.first_step.max()) + len(rollout.obs) for rollout in found)
    [truth] = _collected(SequentialCollector(), plan, (last,))
    for rollout in found:
        for column, env in enumerate(rollout.env_id):
            rows = slice(rollout.first_step[column], rollout.first_step[column] + len(rollout.obs))
            for part in ("obs", "actions", "rewards", "truncated", "compromised"):
                wanted = getattr(truth, part)[rows, env]
                assert np.array_equal(getattr(rollout, part)[:, column], wanted), part


def _expect_drawn(rollout: Rollout, plan: Plan) -> None:
    """Expect the order that seed and number of the episode give, in each row and last state."""
    code = OrderCode("pairs", len(WORKFLOW.units))
    draws = EpisodeDraws(WORKFLOW, FormOptions(**plan.env.form))
    seeds = np.array(plan.env_seeds, dtype=np.uint64)[rollout.env_id]
    for step in range(len(rollout.obs)):
        episodes = (rollout.first_step + step) // LENGTH
        wanted = draws.bits(seeds, episodes.astype(np.uint64))
        assert np.array_equal(rollout.obs[step, :, -code.size :], wanted)
    ends = np.argwhere(rollout.ended)
    shown = rollout.obs[ends[:, 0], ends[:, 1], -code.size :]
    assert np.array_equal(rollout.final_obs[:, -code.size :], shown)
