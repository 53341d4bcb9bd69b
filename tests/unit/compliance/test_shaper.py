"""Shaped rewards add up, whatever way the rows come in."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from wfbench.collecting.seeding import make_plan
from wfbench.contract import EnvRef, PluginError, Rollout, UsageError, WorkflowModel
from wfbench.orders.compliance import (
    DEFINITIONS,
    Episodes,
    InvariantError,
    Shaper,
    constant_warning,
)
from wfbench.policies import RandomPolicy
from wfbench_cage2.workflow import WORKFLOW
from wfbench_collectors.sequential import SequentialCollector
from wfbench_collectors.vector import VectorCollector

ABC = (0, 1, 2)
USER_FIRST = (4, 2, 1, 3, 0)
CAGE2 = EnvRef(
    "cage2", "wfbench_cage2.env:Cage2Env", "wfbench_cage2.batch:Cage2Batch", {"episode_steps": 30}
)
Make = Callable[..., Rollout]


def drawn(make_rollout: Make, seed: int = 1, steps: int = 60, width: int = 4) -> Rollout:
    rng = np.random.default_rng(seed)
    shape = (steps, width)
    return make_rollout(
        rng.integers(5, size=shape),
        rng.integers(16, size=shape),
        rng.random(shape) < 0.5,
        rng.random(shape) < 0.1,
        rewards=rng.normal(scale=20, size=shape),
    )


def rows_of(rollout: Rollout, rows: slice, columns: Any = slice(None)) -> Rollout:
    """These rows and columns of a rollout, as a rollout."""
    cells = {
        name: getattr(rollout, name)[rows, columns]
        for name in (
            *("obs", "actions", "rewards", "terminated", "truncated"),
            *("compromised", "ended_session", "log_probs", "values"),
        )
    }
    return replace(
        rollout,
        **cells,
        env_id=rollout.env_id[columns],
        first_step=rollout.first_step[columns] + rows.start,
        policy_version=rollout.policy_version[columns],
    )


def same(a: Episodes, b: Episodes) -> bool:
    """Whether two sets of episodes are the same ones, in any order."""

    def rows(episodes: Episodes) -> Any:
        table = np.stack([array.astype(np.float64) for array in vars(episodes).values()])
        return table[:, np.lexsort((episodes.env_return, episodes.env_id))]

    return len(a) == len(b) > 0 and np.allclose(rows(a), rows(b))


def joined(parts: list[Episodes]) -> Episodes:
    names = vars(parts[0])
    return Episodes(**{n: np.concatenate([getattr(p, n) for p in parts]) for n in names})


@pytest.mark.parametrize("definition", DEFINITIONS)
@pytest.mark.parametrize(("weight", "no_fix"), [(30.0, 0.5), (0.01, 0.0), (100.0, 1.0), (0.0, 0.5)])
def test_rewards_add_up(
    tiny: WorkflowModel, make_rollout: Make, definition: str, weight: float, no_fix: float
) -> None:
    rollout = drawn(make_rollout)
    shaped = Shaper(tiny, ABC, definition=definition, weight=weight, no_fix=no_fix).shape(rollout)
    assert shaped.rewards == pytest.approx(rollout.rewards + shaped.alignment, abs=1e-4)
    episodes = shaped.episodes
    assert episodes.alignment == pytest.approx(
        weight * (episodes.compliance - no_fix), abs=1e-5 * (1 + weight)
    )
    ends = np.argwhere(rollout.truncated)
    assert episodes.env_id.tolist() == ends[:, 1].tolist()
    begins = dict.fromkeys(range(4), 0)
    for number, (step, column) in enumerate(ends.tolist()):
        span = slice(begins[column], step + 1)
        begins[column] = step + 1
        assert episodes.length[number] == span.stop - span.start
        assert episodes.env_return[number] == pytest.approx(
            rollout.rewards[span, column].sum(dtype=np.float64)
        )
        assert shaped.rewards[span, column].sum(dtype=np.float64) == pytest.approx(
            episodes.env_return[number] + episodes.alignment[number], abs=1e-3
        )


def test_only_a_counted_fix_earns_alignment(tiny: WorkflowModel, make_rollout: Make) -> None:
    actions = [[4], [2], [1], [0], [4]]
    masks = [[4 | 8], [2 | 8], [2 | 8], [0], [2 | 8]]
    ended = [[True], [False], [False], [False], [True]]
    rollout = make_rollout(actions, masks, ended, [[False]] * 4 + [[True]])
    shaped = Shaper(tiny, ABC, definition="effective@1", weight=30).shape(rollout)
    assert shaped.alignment[:, 0].tolist() == [15.0, 0.0, 0.0, 0.0, -15.0]
    assert shaped.episodes.compliance.tolist() == [0.5]
    assert shaped.episodes.secondary.tolist() == [0.5]
    assert shaped.episodes.counted.tolist() == [2]


def test_an_episode_without_a_counted_fix_has_the_value_given(
    tiny: WorkflowModel, make_rollout: Make
) -> None:
    rollout = make_rollout([[0], [0]], 15, ended_session=False, ends=[[False], [True]])
    for value in (0.0, 0.5, 1.0):
        shaped = Shaper(tiny, ABC, no_fix=value).shape(rollout)
        assert shaped.episodes.compliance.tolist() == [value]
        assert not shaped.alignment.any()


@pytest.mark.parametrize("cuts", [(1,), (7, 20, 21), (59,), tuple(range(1, 60))])
def test_unfinished_episodes_carry_over(
    tiny: WorkflowModel, make_rollout: Make, cuts: tuple[int, ...]
) -> None:
    rollout = drawn(make_rollout)
    for definition in ("effective", "targeted"):
        whole = Shaper(tiny, ABC, definition=definition).shape(rollout)
        shaper = Shaper(tiny, ABC, definition=definition)
        bounds = [0, *cuts, 60]
        parts = [
            shaper.shape(rows_of(rollout, slice(start, stop)))
            for start, stop in itertools.pairwise(bounds)
        ]
        assert (np.concatenate([p.rewards for p in parts]) == whole.rewards).all()
        assert same(joined([p.episodes for p in parts]), whole.episodes)
        assert sum(p.incomplete for p in parts) == 0


def test_stretches_of_one_env_may_stand_in_any_column(
    tiny: WorkflowModel, make_rollout: Make
) -> None:
    rollout = drawn(make_rollout)
    whole = Shaper(tiny, ABC).shape(rollout)
    early, late = rows_of(rollout, slice(0, 30)), rows_of(rollout, slice(30, 60))
    both = {
        name: np.concatenate([getattr(late, name), getattr(early, name)], axis=axis)
        for axis, names in (
            (1, ("actions", "rewards", "terminated", "truncated", "compromised", "ended_session")),
            (0, ("env_id", "first_step")),
        )
        for name in names
    }
    shuffled = replace(early, **both)
    shaped = Shaper(tiny, ABC).shape(shuffled)
    assert same(shaped.episodes, whole.episodes)
    for env in range(4):
        returns = [
            e.env_return[e.env_id == env].tolist() for e in (shaped.episodes, whole.episodes)
        ]
        assert returns[0] == returns[1], "episodes come in the sequence of their steps"
    assert (shaped.rewards[:, 4:] == whole.rewards[:30]).all()
    assert (shaped.rewards[:, :4] == whole.rewards[30:]).all()


def test_an_episode_with_missing_rows_is_left_out(tiny: WorkflowModel, make_rollout: Make) -> None:
    rollout = drawn(make_rollout)
    shaper = Shaper(tiny, ABC)
    shaper.shape(rows_of(rollout, slice(0, 20)))
    after = shaper.shape(rows_of(rollout, slice(25, 60)))
    whole = Shaper(tiny, ABC).shape(rollout).episodes
    ends = np.argwhere(rollout.truncated)
    known = []
    for column in range(4):
        steps = [step for step, env in ends.tolist() if env == column and step >= 25]
        known += [(step, column) for step in steps[1:]]
    assert len(after.episodes) == len(known)
    assert after.incomplete == 4
    keep = [number for number, end in enumerate(ends.tolist()) if tuple(end) in known]
    assert after.episodes.env_return.tolist() == pytest.approx(whole.env_return[keep].tolist())


def test_a_restart_breaks_what_was_going_on(tiny: WorkflowModel, make_rollout: Make) -> None:
    shaper = Shaper(tiny, ABC)
    calm: dict[str, Any] = {"compromised": 15, "ended_session": True}
    shaper.shape(make_rollout([[1, 1]], **calm, ends=[[False, True]]))
    ending = make_rollout([[1, 1]], **calm, ends=True, first_step=1, restarts=1)
    shaped = shaper.shape(ending)
    assert shaped.episodes.env_id.tolist() == [1]
    assert shaped.incomplete == 1
    again = shaper.shape(make_rollout([[1, 1]], **calm, ends=True, first_step=2))
    assert again.episodes.env_id.tolist() == [0, 1]


def test_reset_forgets_what_was_going_on(tiny: WorkflowModel, make_rollout: Make) -> None:
    rollout = drawn(make_rollout)
    shaper = Shaper(tiny, ABC)
    shaper.shape(rows_of(rollout, slice(0, 20)))
    shaper.reset()
    again = shaper.shape(rollout)
    assert same(again.episodes, Shaper(tiny, ABC).shape(rollout).episodes)


def test_rewards_that_do_not_add_up_are_a_bug(tiny: WorkflowModel, make_rollout: Make) -> None:
    from wfbench.orders.compliance.kernel import Carry

    for column in (Carry.ALIGNMENT, Carry.TOTAL, Carry.COMPLIANT):
        shaper = Shaper(tiny, ABC)
        shaper.shape(make_rollout([[4]], 14, ended_session=True, ends=False))
        shaper._carry[0, column] += 0.25
        with pytest.raises(InvariantError, match="do not add up"):
            shaper.shape(make_rollout([[4]], 14, ended_session=True, ends=True, first_step=1))


def test_sums_may_be_off_by_roundings_and_no_more(tiny: WorkflowModel, make_rollout: Make) -> None:
    from wfbench.orders.compliance.kernel import Carry

    def off(column: Carry, by: float) -> int:
        shaper = Shaper(tiny, ABC, weight=0.0)
        shaper.shape(make_rollout([[0]], 0, ended_session=False, ends=False))
        shaper._carry[0, column] += by
        end = make_rollout([[0]], 0, ended_session=False, ends=True, first_step=1)
        return len(shaper.shape(end).episodes)

    for column in (Carry.ALIGNMENT, Carry.TOTAL):
        assert off(column, 1e-6) == 1
        with pytest.raises(InvariantError, match="do not add up"):
            off(column, 1.5e-6)


@pytest.mark.parametrize("again", [False, True])
def test_the_first_rows_of_a_shaper_begin_an_episode_at_any_step(
    tiny: WorkflowModel,
    make_rollout: Make,
    again: bool,  # noqa: FBT001
) -> None:
    shaper = Shaper(tiny, ABC)
    if again:
        shaper.shape(make_rollout([[0]], 0, ended_session=False, ends=False))
        shaper.reset()
    late = make_rollout([[0]], 0, ended_session=False, ends=True, first_step=7)
    assert shaper.shape(late).incomplete == 0


def test_nan_rewards_are_left_to_the_caller(tiny: WorkflowModel, make_rollout: Make) -> None:
    rollout = make_rollout([[4]], 12, ended_session=True, ends=True, rewards=np.nan)
    shaped = Shaper(tiny, ABC).shape(rollout)
    assert np.isnan(shaped.rewards).all()
    assert np.isnan(shaped.episodes.env_return).all()
    assert shaped.episodes.compliance.tolist() == [1.0]


@pytest.mark.parametrize("action", [-1, 5])
def test_unknown_actions_are_refused(tiny: WorkflowModel, make_rollout: Make, action: int) -> None:
    with pytest.raises(PluginError, match=f"action {action}, but the workflow model knows 5"):
        Shaper(tiny, ABC).shape(make_rollout([[action]], 0, ended_session=False, ends=True))
    later = make_rollout([[0, 0], [0, action]], 0, ended_session=False, ends=False)
    with pytest.raises(PluginError, match=f"action {action}, but"):
        Shaper(tiny, ABC).shape(later)


def test_senseless_settings_are_refused(tiny: WorkflowModel) -> None:
    for settings in ({"weight": -1.0}, {"weight": float("nan")}, {"no_fix": 1.5}):
        with pytest.raises(UsageError, match="must be"):
            Shaper(tiny, ABC, **settings)
    with pytest.raises(UsageError, match="not an order of 3 units"):
        Shaper(tiny, (0, 1, 2, 3))


@pytest.mark.parametrize("settings", [{"weight": 0.0}, {"no_fix": 0.0}, {"no_fix": 1.0}])
def test_settings_at_the_limit_are_taken(tiny: WorkflowModel, settings: dict[str, float]) -> None:
    Shaper(tiny, ABC, **settings)


def test_thirty_two_hosts_are_told_apart_and_no_more(make_rollout: Make) -> None:
    """The last host has the highest bit of a mask."""

    def model(hosts: int) -> WorkflowModel:
        names = tuple(f"h{host}" for host in range(hosts))
        return WorkflowModel(("a", "b"), names, (0,) * (hosts - 1) + (1,), tuple(range(hosts)))

    masks = np.array([[1 | 1 << 31]], dtype=np.uint32)
    for order, follows in (((1, 0), 1.0), ((0, 1), 0.0)):
        rollout = make_rollout([[31]], masks, ended_session=True, ends=True)
        assert Shaper(model(32), order).shape(rollout).episodes.compliance.tolist() == [follows]
    with pytest.raises(UsageError, match="has 33 hosts; at most 32 are supported"):
        Shaper(model(33), (0, 1))


def test_every_collector_is_judged_alike() -> None:
    plan = make_plan(CAGE2, 7, seed=3)
    episodes = []
    for collector in (SequentialCollector(), VectorCollector()):
        shaper = Shaper(WORKFLOW, USER_FIRST)
        with collector:
            collector.open(plan)
            parts = [shaper.shape(collector.collect(RandomPolicy(145), 25)) for _ in range(5)]
        episodes.append(joined([part.episodes for part in parts]))
        assert len(episodes[-1]) == 7 * 4
        assert (episodes[-1].length == 30).all()
    for name, array in vars(episodes[0]).items():
        assert (array == getattr(episodes[1], name)).all(), name


def test_a_constant_is_suspicious_and_a_changing_value_is_not() -> None:
    for value in (0.0, 1.0):
        warning = constant_warning([value] * 5, "effective@1")
        assert warning is not None
        assert f"by effective@1 was {value:.0f} in all 5 updates" in warning
    assert constant_warning([0.0, 0.0]) is not None
    for values in ([], [1.0], [0.5] * 5, [1.0, 1.0, 0.99], [0.0, 0.0, 0.1]):
        assert constant_warning(values) is None
