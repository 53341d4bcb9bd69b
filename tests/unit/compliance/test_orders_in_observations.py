"""A shaper that reads the order of each row judges as the shaper of that order would."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wfbench.collecting.seeding import make_plan
from wfbench.contract import EnvRef, PluginError, Rollout, WorkflowModel
from wfbench.contract.forms import KINDS, FormOptions, shaped_ref
from wfbench.orders import all_orders
from wfbench.orders.codes import OrderCode
from wfbench.orders.compliance import DEFINITIONS, Episodes, Shaper
from wfbench.policies import RandomPolicy
from wfbench.search.job import workflow_model
from wfbench_collectors.free_running import AsyncCollector
from wfbench_collectors.vector import VectorCollector

Make = Callable[..., Rollout]
LENGTH = 12
CAGE2 = EnvRef(
    "cage2",
    "wfbench_cage2.env:Cage2Env",
    "wfbench_cage2.batch:Cage2Batch",
    {"episode_steps": LENGTH, "actions": "reduced"},
)
REDUCED = workflow_model(CAGE2)
JUDGED = ("compliance", "secondary", "right", "counted", "fixes", "wasted", "alignment")


def drawn(make_rollout: Make, kind: str, seed: int, steps: int = 60, width: int = 4) -> Rollout:
    """Random rows of the tiny model, each episode with an order of its own."""
    rng = np.random.default_rng(seed)
    shape = (steps, width)
    rollout = make_rollout(
        rng.integers(5, size=shape),
        rng.integers(16, size=shape),
        rng.random(shape) < 0.7,
        rng.random(shape) < 0.1,
        rewards=rng.normal(scale=20, size=shape),
    )
    begun = np.vstack([np.zeros((1, width), int), np.cumsum(rollout.ended, axis=0)[:-1]])
    orders = rng.integers(6, size=(steps + 1, width))[begun, np.arange(width)]
    bits = OrderCode(kind, 3).table[orders]
    return replace(rollout, obs=np.concatenate([rollout.obs, bits], axis=2))


def one_by_one(model: WorkflowModel, rollout: Rollout, **options: Any) -> list[Episodes]:
    """The episodes of a rollout as each order judges them."""
    return [Shaper(model, o, **options).shape(rollout).episodes for o in all_orders(3)]


@pytest.mark.parametrize("definition", DEFINITIONS)
@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=15)
@given(seed=st.integers(0, 2**32))
def test_each_episode_is_judged_by_the_order_it_shows(
    tiny: WorkflowModel, make_rollout: Make, kind: str, definition: str, seed: int
) -> None:
    rollout = drawn(make_rollout, kind, seed)
    shaper = Shaper(tiny, OrderCode(kind, 3), definition=definition)
    shaped = shaper.shape(rollout)
    found, judged = shaped.episodes, one_by_one(tiny, rollout, definition=definition)
    assert shaper.orders == all_orders(3)
    for episode, order in enumerate(found.order):
        for name in JUDGED:
            wanted = getattr(judged[order], name)[episode]
            assert getattr(found, name)[episode] == wanted, name
    rewards = [Shaper(tiny, o, definition=definition).shape(rollout).rewards for o in shaper.orders]
    shown = OrderCode(kind, 3).decode(rollout.obs[:, :, 1:])
    assert np.array_equal(shaped.rewards, np.choose(shown, rewards))


@pytest.mark.parametrize("cuts", [(1,), (7, 20, 21), (59,), tuple(range(1, 60))])
def test_an_episode_keeps_its_order_from_rollout_to_rollout(
    tiny: WorkflowModel, make_rollout: Make, cuts: tuple[int, ...]
) -> None:
    rollout = drawn(make_rollout, "pairs", 1)
    whole = Shaper(tiny, OrderCode("pairs", 3)).shape(rollout)
    shaper = Shaper(tiny, OrderCode("pairs", 3))
    parts = [shaper.shape(part) for part in _pieces(rollout, cuts)]
    found = Episodes.joined([part.episodes for part in parts])
    assert np.array_equal(np.concatenate([part.rewards for part in parts]), whole.rewards)
    for name, values in vars(whole.episodes).items():
        assert np.allclose(getattr(found, name), values), name


@settings(max_examples=40)
@given(
    seed=st.integers(0, 2**32),
    cuts=st.lists(st.integers(1, 59), unique=True, max_size=6).map(sorted),
    weights=st.lists(st.floats(0, 200), min_size=7, max_size=7),
)
def test_a_weight_that_changes_between_rollouts_still_telescopes(
    tiny: WorkflowModel, make_rollout: Make, seed: int, cuts: list[int], weights: list[float]
) -> None:
    rollout = drawn(make_rollout, "pairs", seed)
    shaper = Shaper(tiny, OrderCode("pairs", 3), no_fix=0.25)
    parts, starts = [], [0, *cuts]
    for part, weight in zip(_pieces(rollout, cuts), weights, strict=False):
        shaper.weight = weight
        parts.append(shaper.shape(part))  # checks itself that the rewards add up
    rewards = np.concatenate([part.rewards for part in parts]) - rollout.rewards
    found = Episodes.joined([part.episodes for part in parts])
    number = 0
    for last, column in np.argwhere(rollout.ended).tolist():
        before = np.flatnonzero(rollout.ended[:last, column])
        first = int(before[-1]) + 1 if len(before) else 0
        begun = int(np.searchsorted(starts, first, side="right")) - 1
        wanted = weights[begun] * (found.compliance[number] - 0.25)
        assert rewards[first : last + 1, column].sum() == pytest.approx(wanted, abs=0.02)
        assert found.alignment[number] == pytest.approx(wanted, abs=1e-3)
        number += 1
    assert number == len(found)


@pytest.mark.parametrize("hold", ["", "2-9"])
def test_a_collected_rollout_is_judged_like_a_collection_of_each_order(hold: str) -> None:
    """A conditioned environment differs from the plain one in what it shows, nothing else."""
    ref = shaped_ref(CAGE2, FormOptions(orders="all", hold=hold))
    policy = RandomPolicy(len(REDUCED.fix_host))
    plan = make_plan(ref, 40, seed=2)
    with VectorCollector() as collector:
        collector.open(plan)
        rollouts = [collector.collect(policy, steps) for steps in (7, 5, 30)]
    shaper = Shaper(REDUCED, OrderCode("pairs", 5))
    found = Episodes.joined([shaper.shape(rollout).episodes for rollout in rollouts])
    assert len(found) == 40 * 3
    assert len(set(found.order.tolist())) > 50
    assert found.counted.sum() > 20
    for index in sorted(set(found.order.tolist()))[:12]:
        judge = Shaper(REDUCED, all_orders()[index])
        alone = Episodes.joined([judge.shape(rollout).episodes for rollout in rollouts])
        rows = found.order == index
        for name in (*JUDGED, "env_return", "length"):
            assert np.array_equal(getattr(found, name)[rows], getattr(alone, name)[rows]), name


def test_episodes_of_an_asynchronous_collector_are_judged_by_their_orders() -> None:
    plan = make_plan(shaped_ref(CAGE2, FormOptions(orders="all")), 6, seed=3)
    policy = RandomPolicy(len(REDUCED.fix_host))
    with AsyncCollector(workers=2) as collector:
        collector.open(plan)
        rollouts = [collector.collect(policy, 10) for _ in range(12)]
    shaper = Shaper(REDUCED, OrderCode("pairs", 5))
    found = Episodes.joined([shaper.shape(rollout).episodes for rollout in rollouts])
    longest = max(int(r.first_step.max()) + len(r.obs) for r in rollouts)
    with VectorCollector() as collector:
        collector.open(plan)
        truth = collector.collect(policy, longest)
    episodes = Shaper(REDUCED, OrderCode("pairs", 5)).shape(truth).episodes
    for env in range(6):
        mine, whole = found.env_id == env, episodes.env_id == env
        count = int(mine.sum())
        for name in (*JUDGED, "order", "env_return"):
            wanted = getattr(episodes, name)[whole][:count]
            assert np.allclose(getattr(found, name)[mine], wanted), name
    assert len(found) > 6


def test_observations_without_an_order_are_an_error(
    tiny: WorkflowModel, make_rollout: Make
) -> None:
    rollout = drawn(make_rollout, "positions", 1)
    blank = replace(rollout, obs=np.zeros_like(rollout.obs))
    with pytest.raises(PluginError, match="are not the code of an order"):
        Shaper(tiny, OrderCode("positions", 3)).shape(blank)


def _pieces(rollout: Rollout, cuts: Any) -> list[Rollout]:
    """A rollout cut before these rows."""
    cells = ("obs", "actions", "rewards", "terminated", "truncated", "compromised")
    found = []
    bounds = [0, *cuts, len(rollout.obs)]
    for start, stop in itertools.pairwise(bounds):
        names = (*cells, "ended_session", "log_probs", "values")
        rows = {name: getattr(rollout, name)[start:stop] for name in names}
        found.append(replace(rollout, **rows, first_step=rollout.first_step + start))
    return found
