from __future__ import annotations

import json
import subprocess
import sys

import pytest

from wfbench.contract import Deadlines, EnvRef, Plan, UsageError, WorkerError
from wfbench.policies import RandomPolicy
from wfbench.testing import check_env
from wfbench_gymnasium.options import AsyncOptions, RegisteredOptions
from wfbench_gymnasium.plugin import wfbench_envs
from wfbench_gymnasium.registered import make
from wfbench_gymnasium.sync import SyncCollector

[ENV] = wfbench_envs()


@pytest.mark.parametrize("name", ["CartPole-v1", "Acrobot-v1"])
def test_registered_environments_keep_the_promises_of_an_env(name):
    promises = check_env(ENV, {"id": name})
    assert [promise for promise in promises if promise.kept is False] == []
    assert sum(promise.kept is True for promise in promises) >= 6


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("NoSuch-v0", "no environment 'NoSuch-v0'"),
        ("Pendulum-v1", "only Discrete from 0"),
        ("FrozenLake-v1", "only a Box"),
    ],
)
def test_what_cannot_be_collected_is_refused(name, message):
    with pytest.raises(UsageError, match=message):
        make(name)


def test_a_collector_tells_which_environment_it_is():
    plan = Plan(EnvRef("gymnasium", ENV.factory, None, {"id": "CartPole-v1"}), 3, (1, 2, 3))
    with SyncCollector() as collector:
        info = collector.open(plan)
        rollout = collector.collect(RandomPolicy(info.num_actions), 40)
    assert (info.obs_shape, info.num_actions, info.workflow) == ((4,), 2, None)
    assert rollout.terminated.any()
    assert len(rollout.final_obs) == rollout.ended.sum()


def test_an_unknown_environment_is_an_error_of_open():
    plan = Plan(EnvRef("gymnasium", ENV.factory, None, {"id": "NoSuch-v0"}), 1, (1,), Deadlines())
    with SyncCollector() as collector, pytest.raises(WorkerError, match="NoSuch-v0"):
        collector.open(plan)


@pytest.mark.parametrize(
    ("options", "given", "message"),
    [
        (AsyncOptions, {"start_method": "thread"}, "choose from fork"),
        (RegisteredOptions, {"id": " "}, "id is empty"),
    ],
)
def test_bad_options_are_refused(options, given, message):
    with pytest.raises(ValueError, match=message):
        options(**given)


def test_peers_and_ours_do_equal_work_in_one_bench():
    command = [sys.executable, "-m", "wfbench", "bench", "--smoke", "--n-envs", "4", "--json"]
    command += ["--env", "gymnasium:CartPole-v1", "--collector", "sequential"]
    command += ["--collector", "gym-sync", "--collector", "gym-async"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert "gymnasium 1." in answer["cases"][1]["source"]
    [work] = answer["equal_work"]
    assert work["equal"]
    assert work["labels"] == ["sequential", "gym-sync", "gym-async"]
