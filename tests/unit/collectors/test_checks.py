"""What environments may give: spaces, observations and rewards."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest

from wfbench.collecting.checks import (
    first_flaw,
    flaw_of,
    info_of_spaces,
    refuse_bad_obs,
    refuse_bad_reward,
)
from wfbench.collecting.deadlines import refuse_late
from wfbench.collecting.faults import cause_of
from wfbench.collecting.seeding import make_plan
from wfbench.contract import (
    DeadlineError,
    EnvInfo,
    EnvRef,
    StepArrays,
    WorkerError,
    register_local,
)
from wfbench.policies import RandomPolicy
from wfbench_collectors.vector import VectorCollector

INFO = EnvInfo((2,), "<f4", 3)
DISCRETE = gymnasium.spaces.Discrete(3)


def box(low: float, high: float) -> gymnasium.spaces.Box:
    return gymnasium.spaces.Box(np.float32([0, low]), np.float32([1, high]))


@pytest.mark.parametrize(
    ("low", "high", "unbounded"),
    [(0, 1, False), (-np.inf, 1, True), (0, np.inf, True), (-np.inf, np.inf, True)],
)
def test_one_infinite_bound_allows_infinities(low, high, unbounded):
    info = info_of_spaces(box(low, high), DISCRETE, None)
    assert info == EnvInfo((2,), "<f4", 3, unbounded=unbounded)


@pytest.mark.parametrize(
    ("space", "actions", "message"),
    [
        (DISCRETE, DISCRETE, "a Box space is needed where the environment has Discrete"),
        (box(0, 1), box(0, 1), "a Discrete space is needed where the environment has Box"),
        (box(0, 1), gymnasium.spaces.Discrete(3, start=1), "actions start at 1"),
    ],
)
def test_spaces_that_do_not_fit_are_named(space, actions, message):
    with pytest.raises(TypeError, match=message):
        info_of_spaces(space, actions, None)


@pytest.mark.parametrize(
    ("obs", "error", "message"),
    [
        ([0.0, 1.0], TypeError, "step returned an observation of type list"),
        (np.zeros(3, np.float32), ValueError, r"of shape \(3,\), not \(2,\)"),
        (np.zeros(2), ValueError, "of type float64, not float32"),
    ],
)
def test_observations_of_another_kind_are_refused(obs, error, message):
    refuse_bad_obs(np.zeros(2, np.float32), (2,), np.dtype("<f4"), "step")
    with pytest.raises(error, match=message):
        refuse_bad_obs(obs, (2,), np.dtype("<f4"), "step")


@pytest.mark.parametrize("reward", [0, 1.5, True, np.float32(2), np.int64(3), np.array(1.0)])
def test_a_finite_number_is_a_reward(reward):
    refuse_bad_reward(reward)


@pytest.mark.parametrize(
    ("reward", "error", "message"),
    [
        (float("nan"), ValueError, "the reward nan"),
        (np.float32("inf"), ValueError, "the reward inf"),
        (np.zeros(1), ValueError, r"a reward of shape \(1,\), not a number"),
        ("1", TypeError, "a reward of type str"),
        (None, TypeError, "a reward of type NoneType"),
    ],
)
def test_anything_else_is_not(reward, error, message):
    with pytest.raises(error, match=message):
        refuse_bad_reward(reward)


@pytest.mark.parametrize(
    ("value", "bounded", "unbounded"),
    [(0.5, None, None), (np.nan, "NaN", "NaN"), (np.inf, "an infinity", None)],
)
def test_infinities_are_flaws_of_bounded_spaces_and_nan_of_all(value, bounded, unbounded):
    obs = np.float32([[0, 1], [value, -1]])
    assert flaw_of(obs, unbounded=False) == bounded
    assert flaw_of(obs, unbounded=True) == unbounded
    assert flaw_of(np.uint8([[0, 1]]), unbounded=False) is None


@pytest.mark.parametrize("end", ["terminated", "truncated"])
def test_the_first_row_with_a_flaw_is_found_in_either_observation(end):
    out = StepArrays.allocate(4, INFO)
    out.final_obs[1] = np.nan
    assert first_flaw(out, unbounded=False) is None, "no episode ended there"
    out.final_obs[0] = np.nan  # left from an earlier step, as no episode ended here either
    getattr(out, end)[[1, 3]] = True
    out.obs[2] = np.inf
    assert first_flaw(out, unbounded=False) == (1, "NaN")
    out.final_obs[1] = 0
    assert first_flaw(out, unbounded=False) == (2, "an infinity")
    assert first_flaw(out, unbounded=True) is None
    out.obs[2] = 0
    out.final_obs[3] = np.inf
    assert first_flaw(out, unbounded=False) == (3, "an infinity")
    assert first_flaw(StepArrays.allocate(2, EnvInfo((2,), "u1", 3)), unbounded=False) is None


class Spoilt:
    """A batch of which the third environment is spoilt at its fourth step."""

    def __init__(self, num_envs: int, field: str, value: float, *, unbounded: bool) -> None:
        self.num_envs = num_envs
        self.info = EnvInfo((2,), "<f4", 3, batched=True, unbounded=unbounded)
        self._spoil = field, value
        self._steps = 0

    def reset(self, _seeds, obs):
        obs[:] = np.inf if self.info.unbounded else 0

    def step(self, _actions, out):
        self._steps += 1
        for name in ("obs", "final_obs", "rewards", "terminated"):
            getattr(out, name)[:] = 0
        out.truncated[:] = self._steps == 4
        if self._steps == 4:
            field, value = self._spoil
            getattr(out, field)[2] = value

    def close(self):
        pass


@pytest.mark.parametrize(("threads", "spoilt"), [(1, {2}), (2, {2, 5})])
@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("obs", np.nan, "an observation with NaN in it"),
        ("obs", np.inf, "an observation with an infinity in it"),
        ("final_obs", np.nan, "an observation with NaN in it"),
        ("rewards", np.inf, "a reward that is not finite"),
    ],
)
def test_a_batch_is_checked_as_a_whole(field, value, message, threads, spoilt):
    path = register_local("Spoilt", Spoilt)
    options = {"field": field, "value": value, "unbounded": False}
    plan = make_plan(EnvRef("spoilt", path, path, options), 6, seed=0)
    with VectorCollector(threads=threads) as collector:
        collector.open(plan)
        collector.collect(RandomPolicy(3), 3)
        with pytest.raises(WorkerError, match=message) as raised:
            collector.collect(RandomPolicy(3), 5)
    assert raised.value.env in spoilt
    assert raised.value.seed == plan.env_seeds[raised.value.env]


def test_a_batch_may_give_infinities_that_its_space_has():
    path = register_local("Spoilt", Spoilt)
    options = {"field": "obs", "value": np.inf, "unbounded": True}
    with VectorCollector() as collector:
        collector.open(make_plan(EnvRef("spoilt", path, path, options), 5, seed=0))
        rollout = collector.collect(RandomPolicy(3), 5)
    assert np.argwhere(np.isinf(rollout.obs[1:])).tolist() == [[3, 2, 0], [3, 2, 1]]


class Speechless(Exception):  # noqa: N818 - not a name to keep
    def __str__(self) -> str:
        raise RuntimeError("no words")


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ValueError("two\n  lines"), "ValueError: two lines"),
        (ValueError("x" * 501), "ValueError: " + "x" * 500),
        (KeyError(), "KeyError"),
        (Speechless(), "Speechless: (its message cannot be printed)"),
    ],
)
def test_the_cause_of_a_fault_is_one_short_line(error: Exception, text: str) -> None:
    assert cause_of(error) == text


def test_only_what_took_longer_than_its_deadline_is_late() -> None:
    refuse_late(2.0, 2.0, "closing")
    with pytest.raises(DeadlineError, match=r"closing took 2\.1 s; its deadline is 2 s"):
        refuse_late(2.1, 2.0, "closing")
