"""What the synthetic environment shows, costs and spoils, in numbers written down."""

from __future__ import annotations

import time
from contextlib import closing

import gymnasium
import numpy as np
import pytest

from wfbench.contract import OWNER_VARIABLE, EnvInfo, WorkflowModel
from wfbench_synthetic.batch import SyntheticBatch
from wfbench_synthetic.costs import PRESETS, Costs, TrueState, slowed
from wfbench_synthetic.dynamics import UNITS, Observer, workflow_model
from wfbench_synthetic.env import SyntheticEnv
from wfbench_synthetic.options import Fault, SyntheticOptions, parse_fault

HOSTS = tuple(f"host-{number}" for number in range(13))


def test_the_first_actions_fix_a_host_each_and_the_others_none():
    units = (0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 0, 1, 2)
    fixes = (-1, *range(13), -1, -1)
    assert workflow_model(16) == WorkflowModel(UNITS, HOSTS, units, fixes, idle=0)
    assert workflow_model(3) == WorkflowModel(UNITS, HOSTS[:2], (0, 1), (-1, 0, 1), idle=0)


def test_the_spaces_hold_what_is_shown():
    env = SyntheticEnv(obs_size=9, num_actions=4)
    assert env.observation_space == gymnasium.spaces.Box(0, 1, (9,), np.uint8)
    assert env.action_space == gymnasium.spaces.Discrete(4)
    info = EnvInfo((9,), "|u1", 4, workflow=workflow_model(4), batched=True)
    assert SyntheticBatch(2, obs_size=9, num_actions=4).info == info


@pytest.mark.parametrize("size", [1, 8, 9, 63, 64, 65, 128, 129])
@pytest.mark.parametrize("dtype", ["uint8", "float32"])
def test_an_observation_has_as_many_features_as_asked_for(size, dtype):
    observer = Observer(size, dtype, 0)
    states = np.array([3, 2**64 - 1], dtype=np.uint64)
    rows = observer.many(states)
    assert rows.shape == (2, size)
    assert np.array_equal(rows, [observer.one(state) for state in states.tolist()])


def test_a_seed_counts_by_its_last_64_bits():
    shown = [SyntheticEnv().reset(seed=seed)[0].tobytes() for seed in (5, 2**64 + 5, 2**64 + 4)]
    assert shown[0] == shown[1] != shown[2]


def test_without_a_preset_nothing_costs_anything():
    assert vars(SyntheticOptions().resolved_costs) == {
        "construct": 0.0,
        "reset": 0.0,
        "step": 0.0,
        "true_state": 0.0,
        "true_state_bytes": 0,
    }


def test_the_simulator_costs_what_was_measured():
    assert PRESETS["cyborg"] == Costs(0.245, 0.017, 0.003, 0.0018, 13_000)
    assert PRESETS["none"] == Costs()


def test_a_cost_of_0_replaces_that_of_the_preset():
    costs = SyntheticOptions(costs="cyborg", step=0.0, true_state_bytes=0).resolved_costs
    assert (costs.step, costs.true_state_bytes, costs.reset) == (0.0, 0, 0.017)


def test_workers_may_be_made_faster_but_not_timeless(tmp_path, monkeypatch):
    monkeypatch.setenv(OWNER_VARIABLE, "1")
    file = tmp_path / "factor"
    file.write_text("0.5")
    assert slowed(Costs(step=3.0), str(file)) == Costs(step=1.5)
    file.write_text("0")
    with pytest.raises(ValueError, match="holds 0; a factor must be positive"):
        slowed(Costs(step=3.0), str(file))


def test_a_true_state_lists_the_processes_of_each_host():
    state = TrueState(("a", "b"), 153)
    assert state.of(0b10) == {
        "a": {
            "compromised": False,
            "processes": [
                {"pid": 1000, "user": "user-0", "ports": [4000]},
                {"pid": 1002, "user": "user-2", "ports": [4002]},
            ],
        },
        "b": {
            "compromised": True,
            "processes": [{"pid": 1001, "user": "user-1", "ports": [4001]}],
        },
    }


@pytest.mark.parametrize(("size", "processes"), [(0, 0), (50, 0), (13_000, 431), (10**6, 33_906)])
def test_a_true_state_has_as_many_processes_as_fit_its_size(size, processes):
    hosts = TrueState(HOSTS, size).of(0).values()
    assert sum(len(host["processes"]) for host in hosts) == processes
    assert TrueState((), size).of(0) == {}


def stepped(fault, dtype):
    """What the step with the fault returns: observation and reward."""
    env = SyntheticEnv(fault=f"{fault}@1", obs_dtype=dtype)
    env.reset(seed=1)
    obs, reward, *_ = env.step(0)
    return obs, reward


def unspoilt(dtype):
    """What the same step returns without a fault."""
    env = SyntheticEnv(obs_dtype=dtype)
    env.reset(seed=1)
    obs, reward, *_ = env.step(0)
    return obs, reward


@pytest.mark.parametrize("dtype", ["uint8", "float32"])
@pytest.mark.parametrize(
    ("fault", "first", "reward"),
    [
        ("nan", np.nan, np.nan),
        ("nan-obs", np.nan, None),
        ("inf-obs", np.inf, None),
        ("inf-reward", None, np.inf),
    ],
)
def test_what_is_spoilt_is_the_first_feature_or_the_reward(fault, first, reward, dtype):
    """Bits have no way to be spoilt, so observations of bits stay as they are."""
    clean, paid = unspoilt(dtype)
    wanted = clean.copy()
    if first is not None and dtype == "float32":
        wanted[0] = first
    obs, got = stepped(fault, dtype)
    np.testing.assert_array_equal(obs, wanted)
    np.testing.assert_equal(got, paid if reward is None else reward)


@pytest.mark.parametrize(("dtype", "spoilt"), [("uint8", np.int64), ("float32", np.float64)])
def test_a_bad_type_holds_the_same_numbers(dtype, spoilt):
    obs, reward = stepped("bad-dtype", dtype)
    clean, paid = unspoilt(dtype)
    assert obs.dtype == spoilt
    assert np.array_equal(obs, clean)
    assert reward == paid


def test_only_the_reset_after_the_fault_is_spoilt():
    env = SyntheticEnv(fault="nan-reset@2", obs_dtype="float32")
    assert not np.isnan(env.reset(seed=1)[0]).any()
    assert not np.isnan(env.step(0)[0]).any()
    assert not np.isnan(env.reset(seed=1)[0]).any()
    assert not np.isnan(env.step(0)[0]).any()
    assert np.flatnonzero(np.isnan(env.reset(seed=1)[0])).tolist() == [0]
    assert not np.isnan(env.reset(seed=1)[0]).any()


class SleptError(Exception):
    """Raised instead of sleeping for the third time."""


@pytest.mark.parametrize(
    ("fault", "steps"), [("ctor-hang", None), ("hang@1", 0), ("hang@3", 2), ("close-hang", 4)]
)
def test_what_hangs_goes_on_hanging_where_it_was_asked_to(fault, steps, monkeypatch):
    slept, made = [], []

    def sleep(seconds):
        slept.append(seconds)
        if len(slept) == 3:
            raise SleptError

    def use():
        with closing(SyntheticEnv(fault=fault)) as env:
            env.reset(seed=1)
            for step in range(4):
                made.append(step)
                env.step(0)
            made.append(4)

    monkeypatch.setattr(time, "sleep", sleep)
    with pytest.raises(SleptError):
        use()
    assert slept == [3600] * 3
    assert made == ([] if steps is None else list(range(steps + 1)))


def test_where_a_fault_happens():
    assert parse_fault("") is None
    assert parse_fault("ctor-exit") == Fault("ctor-exit", 0)
    assert parse_fault("close-hang") == Fault("close-hang", -1)
    assert parse_fault("slow@12") == Fault("slow", 12)
    with pytest.raises(ValueError, match="is not known"):
        parse_fault("ctor-exit@1")
