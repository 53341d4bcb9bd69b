"""The kit names the earliest difference, and only counts what follows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from wfbench.collecting.seeding import make_plan
from wfbench.contract import EnvRef, Rollout
from wfbench.policies import RandomPolicy
from wfbench.testing.difference import difference, stretch_difference
from wfbench_collectors.sequential import SequentialCollector


@pytest.fixture(scope="module")
def rollouts() -> list[Rollout]:
    """Steps 0 to 5 and 6 to 11 of three environments whose episodes have four steps."""
    options = {"num_actions": 4, "episode_length": 4}
    plan = make_plan(EnvRef("synthetic", "wfbench_synthetic.env:SyntheticEnv", None, options), 3, 1)
    with SequentialCollector() as collector:
        collector.open(plan)
        return [collector.collect(RandomPolicy(4), 6) for _ in range(2)]


def spoilt(rollout: Rollout, **places: tuple[int, ...]) -> Rollout:
    """Return it with one value changed in each named field."""
    arrays = {name: getattr(rollout, name).copy() for name in places}
    for name, place in places.items():
        value = arrays[name][place]
        arrays[name][place] = not value if arrays[name].dtype == bool else value + 1
    return replace(rollout, **arrays)


def test_equal_rollouts_have_none(rollouts):
    assert difference(rollouts[1], spoilt(rollouts[1])) is None


@pytest.mark.parametrize(
    ("places", "says"),
    [
        ({"rewards": (2, 1)}, "rewards of env 1 at step 8 is "),
        ({"obs": (3, 2, 7)}, "obs[7] of env 2 at step 9 is "),
        ({"next_obs": (1, 0)}, "next_obs[0] of env 1 at step 12 is "),
        ({"final_obs": (3, 5)}, "final_obs[5] of env 0 at step 11 is "),
        ({"final_obs": (2, 5)}, "final_obs[5] of env 2 at step 7 is "),
        ({"env_id": (1,)}, "env_id of column 1 is 2, not 1"),
        ({"policy_version": (2,)}, "policy_version of column 2 is 1, not 0"),
    ],
)
def test_a_difference_has_field_env_and_step(rollouts, places, says):
    assert difference(spoilt(rollouts[1], **places), rollouts[1]).startswith(says)


def test_got_comes_before_expected(rollouts):
    found = difference(spoilt(rollouts[0], truncated=(3, 1)), rollouts[0])
    assert found == "truncated of env 1 at step 3 is False, not True"


def test_the_earliest_comes_first_and_the_rest_is_counted(rollouts):
    bad = spoilt(rollouts[0], obs=(4, 0, 0), rewards=(2, 2), values=(5, 1), actions=(2, 2))
    found = difference(bad, rollouts[0])
    assert found.startswith("actions of env 2 at step 2 is ")
    assert found.endswith("; 3 other fields differ from there on")


def test_shapes_types_and_counts_come_before_values(rollouts):
    whole = rollouts[0]
    assert (
        difference(replace(whole, obs=whole.obs[1:]), whole)
        == "obs has the shape (5, 3, 52), not (6, 3, 52)"
    )
    assert difference(replace(whole, obs=whole.obs.astype(float)), whole) == (
        "obs is of type float64, not uint8"
    )
    assert difference(replace(whole, final_obs=whole.final_obs[1:]), whole) == (
        "final_obs has 2 rows, not 3"
    )


def test_a_stretch_is_compared_where_it_was_made(rollouts):
    first, later = rollouts
    truth = replace(
        first,
        **{
            name: np.concatenate([getattr(first, name), getattr(later, name)])
            for name in (
                "obs",
                "actions",
                "rewards",
                "terminated",
                "truncated",
                "compromised",
                "ended_session",
                "log_probs",
                "values",
            )
        },
    )
    assert [stretch_difference(later, column, truth) for column in range(3)] == [None] * 3
    found = stretch_difference(spoilt(later, compromised=(1, 2)), 2, truth)
    assert found.startswith("compromised of env 2 at step 7 is ")
