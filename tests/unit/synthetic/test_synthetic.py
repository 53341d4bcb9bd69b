from __future__ import annotations

import hashlib
import pickle
import subprocess
import sys
import time

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from wfbench.contract import OWNER_VARIABLE, EnvRef, StepArrays
from wfbench_synthetic.batch import SyntheticBatch
from wfbench_synthetic.costs import Costs, slowed
from wfbench_synthetic.env import SyntheticEnv, free_env
from wfbench_synthetic.options import STEP_FAULTS, SyntheticOptions, parse_fault


def episode_trace(env: SyntheticEnv, seed: int, steps: int, action_seed: int = 0) -> list[tuple]:
    actions = np.random.default_rng(action_seed).integers(0, env.action_space.n, steps)
    trace = [env.reset(seed=seed)[0].tobytes()]
    for action in actions:
        obs, reward, terminated, truncated, info = env.step(action)
        trace.append((obs.tobytes(), reward, terminated, truncated, tuple(info.values())))
        if terminated or truncated:
            trace.append(env.reset()[0].tobytes())
    return trace


def test_gymnasium_accepts_it():
    check_env(SyntheticEnv(episode_length=5), skip_render_check=True)


def test_same_seed_same_episodes_other_seed_or_actions_others():
    trace = episode_trace(SyntheticEnv(episode_length=7), 5, 40)
    assert trace == episode_trace(SyntheticEnv(episode_length=7), 5, 40)
    assert trace != episode_trace(SyntheticEnv(episode_length=7), 6, 40)
    assert trace[0] == episode_trace(SyntheticEnv(episode_length=7), 5, 40, action_seed=1)[0]
    assert trace[1:] != episode_trace(SyntheticEnv(episode_length=7), 5, 40, action_seed=1)[1:]


@pytest.mark.parametrize(
    ("shape", "digest"),
    [
        ({}, "f851b11bf93ce3ea"),
        ({"obs_dtype": "float32"}, "dfb294842f1d12d1"),
        ({"obs_size": 70, "num_actions": 2}, "8b71d97a9dce2bdd"),
        ({"distinct": 9}, "5fd14568fcc1b9cb"),
    ],
)
def test_episodes_are_the_same_in_every_version(shape, digest):
    trace = episode_trace(free_env(episode_length=8, **shape), 5, 40)
    assert hashlib.sha256(repr(trace).encode()).hexdigest().startswith(digest)


def test_everything_varies_and_both_ends_occur():
    env = SyntheticEnv(episode_length=10)
    steps = [entry for entry in episode_trace(env, 1, 200) if isinstance(entry, tuple)]
    assert len({entry[0] for entry in steps}) == 200
    assert len({entry[1] for entry in steps}) > 50
    assert len({entry[4][0] for entry in steps}) > 100
    assert sum(entry[2] for entry in steps) == sum(entry[3] for entry in steps) == 10
    assert any(entry[4][1] for entry in steps)


@pytest.mark.parametrize(
    "shape",
    [{}, {"obs_dtype": "float32"}, {"obs_size": 70, "num_actions": 2}, {"distinct": 9}],
)
def test_the_batched_form_has_the_same_episodes(shape):
    n, steps = 6, 25
    shape = {"episode_length": 8, **shape}
    seeds = np.random.default_rng(3).integers(0, 2**64, n, dtype=np.uint64)
    batch = SyntheticBatch(n, **shape)
    dtype, size = np.dtype(batch.info.obs_dtype), batch.info.obs_shape[0]
    obs = np.empty((n, size), dtype)
    batch.reset(seeds, obs)
    envs = [free_env(**shape) for _ in range(n)]
    for env, seed, row in zip(envs, seeds.tolist(), obs, strict=True):
        assert np.array_equal(env.reset(seed=seed)[0], row)
    assert batch.info.workflow == envs[0].workflow
    actions = np.random.default_rng(4).integers(0, min(20, batch.info.num_actions), (steps, n))
    for row in actions:
        out = StepArrays(
            obs,
            np.empty(n, np.float32),
            np.empty(n, bool),
            np.empty(n, bool),
            np.full((n, size), 7, dtype),
            np.empty(n, np.uint32),
            np.empty(n, bool),
        )
        batch.step(row, out)
        for i, env in enumerate(envs):
            seen, reward, terminated, truncated, info = env.step(row[i])
            assert (reward, terminated, truncated) == (
                out.rewards[i],
                out.terminated[i],
                out.truncated[i],
            )
            assert info["compromised_hosts"] == out.compromised[i]
            assert info["ended_session"] == out.ended_session[i]
            if terminated or truncated:
                assert np.array_equal(seen, out.final_obs[i])
                seen = env.reset()[0]
            assert np.array_equal(seen, out.obs[i])
    batch.close()


def test_distinct_bounds_the_number_of_observations():
    env = SyntheticEnv(distinct=9)
    steps = [entry[0] for entry in episode_trace(env, 1, 300) if isinstance(entry, tuple)]
    assert len(set(steps)) == 9


def test_busy_spends_cpu_time_and_sleep_does_not():
    env = SyntheticEnv(step=0.03)
    env.reset(seed=1)
    started = time.thread_time()
    env.step(0)
    assert time.thread_time() - started >= 0.03
    asleep = SyntheticEnv(step=0.2, busy=False)
    asleep.reset(seed=1)
    started, cpu = time.perf_counter(), time.thread_time()
    asleep.step(0)
    assert time.perf_counter() - started >= 0.2
    assert time.thread_time() - cpu < 0.1


def test_the_preset_has_the_measured_costs_and_slowdown_scales_them():
    costs = SyntheticOptions(costs="cyborg").resolved_costs
    assert (costs.construct, costs.reset, costs.step) == (0.245, 0.017, 0.003)
    assert (costs.true_state, costs.true_state_bytes) == (0.0018, 13_000)
    slowed = SyntheticOptions(costs="cyborg", step=0.5, slowdown=2.0).resolved_costs
    assert (slowed.construct, slowed.step, slowed.true_state_bytes) == (0.49, 1.0, 13_000)


@pytest.mark.parametrize("size", [0, 1_000, 13_000])
def test_the_true_state_is_nested_and_of_the_chosen_size(size):
    env = SyntheticEnv(true_state_bytes=size)
    env.reset(seed=1)
    state = env.true_state()
    assert set(state) == set(env.workflow.hosts)
    processes = sum(len(host["processes"]) for host in state.values())
    assert bool(processes) == bool(size)
    if size:
        assert len(pickle.dumps(state)) == pytest.approx(size, rel=0.25)
    mask = env.step(0)[4]["compromised_hosts"]
    assert mask == sum(1 << i for i, host in enumerate(state.values()) if host["compromised"])


def test_one_buffer_is_reused_on_request():
    env = SyntheticEnv(reuse_buffer=True, episode_length=1)
    first = env.reset(seed=1)[0]
    kept = first.copy()
    last = env.step(0)[0]
    assert last is first
    assert not np.array_equal(kept, first)


@pytest.mark.parametrize(
    ("fault", "name"),
    [
        ("raise@3", "ValueError"),
        ("raise-2arg@3", "TwoArgumentError"),
        ("raise-kwonly@3", "KeywordOnlyError"),
        ("raise-unpicklable@3", "UnpicklableError"),
        ("raise-base@3", "NotAnException"),
    ],
)
def test_raising_faults_fire_at_their_step(fault, name):
    env = SyntheticEnv(fault=fault)
    env.reset(seed=1)
    env.step(0)
    env.step(0)
    with pytest.raises(BaseException, match="at step 3") as caught:
        env.step(0)
    assert type(caught.value).__name__ == name
    assert isinstance(caught.value, Exception) == (name != "NotAnException")


@pytest.mark.parametrize("name", ["raise-2arg", "raise-kwonly", "raise-unpicklable"])
def test_hostile_exceptions_do_not_survive_a_pickle(name):
    env = SyntheticEnv(fault=f"{name}@1")
    env.reset(seed=1)
    with pytest.raises(Exception, match="synthetic fault") as caught:
        env.step(0)
    with pytest.raises(TypeError):
        pickle.loads(pickle.dumps(caught.value))  # noqa: S301 (our own bytes)


def test_values_are_spoilt():
    env = SyntheticEnv(fault="nan@1", obs_dtype="float32")
    env.reset(seed=1)
    obs, reward, *_ = env.step(0)
    assert np.isnan(reward)
    assert np.isnan(obs[0])
    env = SyntheticEnv(fault="bad-shape@2")
    env.reset(seed=1)
    assert env.step(0)[0].shape == (52,)
    assert env.step(0)[0].shape == (53,)


def test_slow_is_slow_once():
    env = SyntheticEnv(fault="slow@1", fault_seconds=0.3)
    env.reset(seed=1)
    started = time.perf_counter()
    env.step(0)
    assert time.perf_counter() - started >= 0.3


@pytest.mark.parametrize(
    ("fault", "code"), [("exit@2", 3), ("kill@2", -9), ("segv@2", -11), ("ctor-exit", 3)]
)
def test_deadly_faults_end_the_process(fault, code):
    script = (
        "from wfbench_synthetic.env import SyntheticEnv\n"
        f"env = SyntheticEnv(fault={fault!r})\n"
        "env.reset(seed=1)\n"
        "env.step(0)\n"
        "print('first step', flush=True)\n"
        "env.step(0)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], check=False, capture_output=True, timeout=60
    )
    assert done.returncode == code
    assert done.stdout == (b"" if fault.startswith("ctor") else b"first step\n")


def test_only_the_chosen_env_has_the_fault():
    ref = EnvRef(
        "synthetic",
        "wfbench_synthetic.env:SyntheticEnv",
        options=vars(SyntheticOptions(fault="ctor-raise", fault_env=3)),
    )
    ref.make(2).close()
    with pytest.raises(ValueError, match="ctor-raise"):
        ref.make(3)


def test_a_fault_marked_once_happens_once(tmp_path):
    marker = tmp_path / "happened"
    for expected in (True, False):
        env = SyntheticEnv(fault="raise@1", fault_once=str(marker))
        env.reset(seed=1)
        if expected:
            with pytest.raises(ValueError, match="synthetic fault"):
                env.step(0)
        else:
            env.step(0)


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"fault": "explode@3"}, "fault 'explode@3' is not known; choose from raise@k"),
        ({"fault": "raise@0"}, "k of at least 1"),
        ({"fault": "raise"}, "is not known"),
        ({"costs": "cheap"}, "choose from none, cyborg"),
        ({"episode_length": 0}, "must be at least 1"),
        ({"obs_dtype": "int8"}, "choose from uint8, float32"),
        ({"slowdown": 0.0}, "must be positive"),
    ],
)
def test_bad_options_are_named(option, message):
    with pytest.raises(ValueError, match=message):
        SyntheticOptions(**option)


def test_every_step_fault_can_be_asked_for():
    assert [parse_fault(f"{name}@4").name for name in STEP_FAULTS] == list(STEP_FAULTS)


def test_stepping_past_the_end_is_refused():
    env = SyntheticEnv(episode_length=1)
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(0)
    env.reset(seed=1)
    env.step(0)
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(0)


def test_only_workers_are_slowed_down_and_only_while_the_file_is_there(tmp_path, monkeypatch):
    file = tmp_path / "slow"
    costs = Costs(step=0.5, reset=0.25)
    monkeypatch.delenv(OWNER_VARIABLE, raising=False)
    file.write_text("1.3\n")
    assert slowed(costs, str(file)) == costs
    monkeypatch.setenv(OWNER_VARIABLE, "1")
    assert slowed(costs, str(file)) == Costs(step=0.5 * 1.3, reset=0.25)
    assert slowed(costs, "") == costs
    file.write_text("-1")
    with pytest.raises(ValueError, match="a factor must be positive"):
        slowed(costs, str(file))
    file.unlink()
    assert slowed(costs, str(file)) == costs
