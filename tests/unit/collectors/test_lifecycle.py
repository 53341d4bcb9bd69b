"""Misuse is one clear line, and a collector can live again after it was closed."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from wfbench.contract import Acts, CollectError, Plan, PluginError, UsageError
from wfbench.policies import RandomPolicy
from wfbench_collectors.free_running import AsyncCollector
from wfbench_collectors.pipe import PipeCollector
from wfbench_collectors.sequential import SequentialCollector
from wfbench_collectors.shm import ShmCollector

ALL = [SequentialCollector, PipeCollector, ShmCollector, AsyncCollector]
POLICY = RandomPolicy(4)


@pytest.mark.parametrize("kind", ALL)
def test_out_of_order_calls_are_refused(kind: Any, plan_of: Callable[..., Plan]) -> None:
    collector = kind()
    with pytest.raises(UsageError, match="is not open"):
        collector.collect(POLICY, 1)
    collector.open(plan_of())
    with pytest.raises(UsageError, match="is already open"):
        collector.open(plan_of())
    with pytest.raises(UsageError, match="steps is 0"):
        collector.collect(POLICY, 0)
    assert collector.collect(POLICY, 2).transitions == 10
    collector.close()
    collector.close()
    with pytest.raises(UsageError, match="is not open"):
        collector.collect(POLICY, 1)
    collector.open(plan_of())
    assert collector.collect(POLICY, 2).first_step.tolist().count(0) >= 1
    collector.close()


@pytest.mark.parametrize("kind", [SequentialCollector, PipeCollector, ShmCollector])
@pytest.mark.parametrize(
    ("actions", "what"),
    [
        (np.zeros(99, np.int64), "each must be"),
        (lambda rows: np.zeros(rows, np.float32), "not integers"),
        (lambda rows: np.full(rows, 4), "actions 0 to 3"),
        (lambda rows: np.full(rows, -1), "chose action -1"),
    ],
)
def test_a_policy_that_answers_nonsense_is_refused(
    kind: Any, plan_of: Callable[..., Plan], actions: Any, what: str
) -> None:
    def act(_: Any, draws: Any) -> Acts:
        rows = len(draws)
        chosen = actions(rows) if callable(actions) else actions
        zeros = np.zeros(rows, np.float32)
        return Acts(chosen, zeros, zeros)

    with kind() as collector:
        collector.open(plan_of())
        with pytest.raises(PluginError, match=what):
            collector.collect(SimpleNamespace(version=0, act=act), 3)
        with pytest.raises(CollectError, match=f"can only be closed: .*{what}"):
            collector.collect(POLICY, 3)


@pytest.mark.parametrize("kind", [PipeCollector, ShmCollector, AsyncCollector])
@pytest.mark.parametrize(
    "options",
    [
        {"workers": -1},
        {"start_method": "thread"},
        {"on_worker_death": "shrug"},
        {"restarts": -1},
    ],
)
def test_options_that_make_no_sense_are_refused(kind: Any, options: dict[str, Any]) -> None:
    (name,) = options
    with pytest.raises(UsageError, match=name):
        kind(**options)


def test_more_options_that_make_no_sense() -> None:
    for kind in (PipeCollector, ShmCollector):
        with pytest.raises(UsageError, match="payload"):
            kind(payload="everything")
    with pytest.raises(UsageError, match="max_lag"):
        AsyncCollector(max_lag=-1)


@pytest.mark.parametrize("kind", [PipeCollector, ShmCollector])
def test_a_true_state_that_does_not_exist_is_refused(
    kind: Any, plan_of: Callable[..., Plan], monkeypatch: pytest.MonkeyPatch
) -> None:
    from wfbench_synthetic.env import SyntheticEnv

    monkeypatch.delattr(SyntheticEnv, "true_state")
    with pytest.raises(UsageError, match=r"has no true_state\(\); use payload=mask"):
        kind(payload="true-state", start_method="fork").open(plan_of())


def test_fork_is_refused_while_other_threads_run(plan_of: Callable[..., Plan]) -> None:
    done = threading.Event()
    thread = threading.Thread(target=done.wait, name="other")
    thread.start()
    try:
        with pytest.raises(UsageError, match=r"other threads are running \(other\).*forkserver"):
            ShmCollector(start_method="fork").open(plan_of())
    finally:
        done.set()
        thread.join()


def test_fork_is_refused_once_torch_is_loaded(
    plan_of: Callable[..., Plan], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "torch", SimpleNamespace())
    with pytest.raises(UsageError, match="torch is loaded"):
        ShmCollector(start_method="fork").open(plan_of())


def test_there_is_never_more_than_one_worker_per_env(plan_of: Callable[..., Plan]) -> None:
    with ShmCollector(workers=50) as collector:
        collector.open(plan_of(n_envs=3))
        assert len(collector._supervisor.watch.workers) == 3


def test_too_many_workers_for_the_descriptor_limit(
    plan_of: Callable[..., Plan], monkeypatch: pytest.MonkeyPatch
) -> None:
    import resource

    monkeypatch.setattr(resource, "getrlimit", lambda _: (70, 70))
    with pytest.raises(UsageError, match="ulimit -n"):
        PipeCollector().open(plan_of(n_envs=20))
