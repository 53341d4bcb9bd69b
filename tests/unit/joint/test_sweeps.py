"""A policy under every order on the same env seeds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from wfbench.collecting.in_process import InProcessCollector
from wfbench.collecting.keeping import KeptCollector
from wfbench.collecting.seeding import Purpose, make_plan
from wfbench.contract import CollectError, EnvRef
from wfbench.contract.forms import FormOptions, shaped_ref
from wfbench.host.manager import PluginSettings, load_plugins
from wfbench.orders import all_orders, format_order
from wfbench.orders.compliance import Shaper
from wfbench.orders.forms import conditioned
from wfbench.policies import NetworkPolicy
from wfbench.search.collectors import sweep_collector
from wfbench.search.job import SearchJob, workflow_model
from wfbench.search.sweep import SweepPlan
from wfbench.settings.selection import select
from wfbench.store.sweeps import right_by
from wfbench_collectors.sequential import SequentialCollector
from wfbench_collectors.shm import ShmCollector
from wfbench_collectors.vector import VectorCollector

LENGTH = 15
CAGE2 = EnvRef(
    "cage2",
    "wfbench_cage2.env:Cage2Env",
    "wfbench_cage2.batch:Cage2Batch",
    {"episode_steps": LENGTH, "actions": "reduced"},
)
MODEL = workflow_model(CAGE2)
ORDERS = all_orders()[:120:17]


def plan_of(ref: EnvRef = CAGE2, **changed: Any) -> SweepPlan:
    return replace(SweepPlan(ref, MODEL, "choices@1", 9, LENGTH, seed=5), **changed)


def policy_of(ref: EnvRef = CAGE2) -> NetworkPolicy:
    env = conditioned(ref).make()
    env.close()
    return NetworkPolicy.initial(env.observation_space.shape[0], len(MODEL.fix_host), 2)


def test_each_order_plays_the_first_episode_of_the_same_seeds() -> None:
    sweep, episodes = plan_of().run(policy_of(), ORDERS)
    assert sweep.env_return.shape == (len(ORDERS), 9)
    assert len(episodes) == len(ORDERS) * 9
    for row, order in enumerate(ORDERS):
        ref = shaped_ref(CAGE2, FormOptions(orders=format_order(order)))
        plan = make_plan(ref, 9, 5, purpose=Purpose.EVALUATION)
        with VectorCollector() as collector:
            collector.open(plan)
            shaped = Shaper(MODEL, order).shape(collector.collect(policy_of(), LENGTH))
        assert np.array_equal(shaped.episodes.env_return, sweep.env_return[row])
        assert np.array_equal(shaped.episodes.counted, sweep.choices[row])
        assert np.array_equal(shaped.episodes.right, sweep.right[row])


@pytest.mark.parametrize(
    "collector",
    [SequentialCollector, lambda: ShmCollector(workers=2)],
    ids=["sequential", "shm"],
)
@pytest.mark.parametrize("hold", [0, 4])
def test_any_synchronous_collector_gives_the_same_sweep(
    collector: Callable[[], Any], hold: int
) -> None:
    truth, _ = plan_of(hold=hold).run(policy_of(), ORDERS[:3])
    scalar = plan_of(replace(CAGE2, batched=None), hold=hold, collector=collector)
    found, _ = scalar.run(policy_of(), ORDERS[:3])
    for name in ("env_return", "choices", "right", "met"):
        assert np.array_equal(getattr(found, name), getattr(truth, name)), name


def test_a_sweep_is_never_left_to_a_collector_without_a_step_barrier() -> None:
    chosen = select(load_plugins(PluginSettings()), {"collector": ["async", "shm"]})["collector"]
    scalar = replace(CAGE2, batched=None)
    assert sweep_collector(scalar, chosen[0]) is InProcessCollector
    assert isinstance(sweep_collector(scalar, chosen[1])(), KeptCollector)
    assert sweep_collector(CAGE2, chosen[1]) is InProcessCollector


def test_choices_met_add_up_and_judge_like_the_shaper() -> None:
    sweep, _ = plan_of(episodes=200, hold=5).run(policy_of(), ORDERS)
    assert sweep.met.sum(axis=(1, 2)).tolist() == sweep.choices.sum(axis=1).tolist()
    shares = right_by(sweep, ORDERS)
    own = sweep.right.sum(axis=1) / sweep.choices.sum(axis=1)
    assert np.diag(shares) == pytest.approx(own)
    reverse = right_by(sweep, [tuple(reversed(order)) for order in ORDERS])
    assert (np.diag(reverse) + own <= 1 + 1e-9).all()


def test_stress_holds_blue_in_every_episode_however_it_was_trained() -> None:
    trained = shaped_ref(CAGE2, FormOptions(orders="SEUHD", hold="1-9", hold_share=0.5))
    for hold in (0, 6):
        plain, _ = plan_of(hold=hold).run(policy_of(), ORDERS[:2])
        found, _ = plan_of(trained, hold=hold).run(policy_of(), ORDERS[:2])
        assert np.array_equal(found.env_return, plain.env_return)
        assert np.array_equal(found.met, plain.met)


def test_the_code_is_the_one_that_was_trained() -> None:
    ref = shaped_ref(CAGE2, FormOptions(orders="all", order_code="positions"))
    sweep, _ = plan_of(ref).run(policy_of(ref), ORDERS[:2])
    assert sweep.env_return.shape == (2, 9)


def test_episodes_that_are_longer_than_said_are_an_error() -> None:
    with pytest.raises(CollectError, match="9 of 9 episodes did not end within 12 steps"):
        plan_of(episode_steps=3).run(policy_of(), ORDERS[:1])


def test_joint_trainings_are_evaluated_on_seeds_of_their_own(
    make_joint: Callable[..., SearchJob],
) -> None:
    job = make_joint()
    seeds = [job.sweep_plans(number)["normal"].seed for number in range(3)]
    assert len(set(seeds)) == 3
    assert {plan.seed for plan in job.sweep_plans(1).values()} == {seeds[1]}


def test_a_specialised_training_shows_its_order_alone(make_joint: Callable[..., SearchJob]) -> None:
    env = "cage2:actions=reduced,orders=SEUHD;USEHD,hold=1-9,hold_share=0.5"
    job = make_joint(env=env)
    order = all_orders()[7]
    assert job.training_ref(()).form["orders"] == "SEUHD;USEHD"
    assert job.training_ref(order).form["orders"] == format_order(order)
    assert job.training_ref(order).form["hold"] == "1-9"
    assert job.trained_options(order)["orders"] == format_order(order)
    assert job.trained_options(())["orders"] == "SEUHD;USEHD"
    assert len(job.drawn_orders) == 2
    assert make_joint(training="per-order").trained_options(order)["orders"] == ""
