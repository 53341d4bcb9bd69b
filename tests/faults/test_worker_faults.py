"""A worker that fails is an error with its name on it, soon, and never a hang."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from wfbench.contract import CollectError, DeadlineError, Plan, UsageError, WorkerError
from wfbench.policies import RandomPolicy

POLICY = RandomPolicy(4)
VICTIM = 2
REPORTED_WITHIN = 2.0
CLOSED_WITHIN = 5.0
SLACK = 8.0
"""Seconds the machine may lose by being busy with something else."""


def _until_error(collector: Any) -> CollectError:
    """An asynchronous collector may deliver what was finished before the fault."""

    def collect_on() -> None:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            collector.collect(POLICY, 8)

    with pytest.raises(CollectError) as caught:
        collect_on()
    with pytest.raises(CollectError, match="can only be closed"):
        collector.collect(POLICY, 8)
    return caught.value


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        ("raise", "ValueError"),
        ("raise-2arg", "TwoArgumentError"),
        ("raise-kwonly", "KeywordOnlyError"),
        ("raise-unpicklable", "UnpicklableError"),
        ("raise-base", "NotAnException"),
    ],
)
def test_whatever_an_env_raises_is_reported_as_text(
    build: Callable[..., Any],
    plan_of: Callable[..., Plan],
    within: Callable[[float], Any],
    fault: str,
    kind: str,
) -> None:
    plan = plan_of(fault=f"{fault}@5", fault_env=VICTIM)
    collector = build()
    collector.open(plan)
    error = _until_error(collector)
    with within(CLOSED_WITHIN):
        collector.close()
    assert isinstance(error, WorkerError)
    assert (error.env, error.seed) == (VICTIM, plan.env_seeds[VICTIM])
    assert kind in error.cause
    assert kind in error.traceback
    assert "in step" in error.traceback
    assert "\n" not in str(error)


@pytest.mark.parametrize(
    ("fault", "signal_name", "status"),
    [("kill", "SIGKILL", -9), ("segv", "SIGSEGV", -11), ("exit", None, 3)],
)
def test_a_death_is_reported_within_2_s(
    build: Callable[..., Any],
    plan_of: Callable[..., Plan],
    within: Callable[[float], Any],
    tmp_path: Path,
    fault: str,
    signal_name: str | None,
    status: int,
) -> None:
    marker = tmp_path / "died"
    plan = plan_of(fault=f"{fault}@5", fault_env=VICTIM, fault_once=str(marker))
    collector = build()
    collector.open(plan)
    error = _until_error(collector)
    reported = time.time()
    with within(CLOSED_WITHIN):
        collector.close()
    assert isinstance(error, WorkerError)
    assert (error.env, error.seed) == (VICTIM, plan.env_seeds[VICTIM])
    assert (error.exitcode, error.signal) == (status, signal_name)
    assert reported - marker.stat().st_mtime <= REPORTED_WITHIN + SLACK


@pytest.mark.parametrize("fault", ["hang", "stop", "slow"])
def test_no_wait_outlasts_its_deadline(
    build: Callable[..., Any],
    plan_of: Callable[..., Plan],
    within: Callable[[float], Any],
    fault: str,
) -> None:
    plan = plan_of(fault=f"{fault}@5", fault_env=VICTIM, step=3.0, fault_seconds=60.0)
    collector = build()
    collector.open(plan)
    with within(3.0 + SLACK):
        error = _until_error(collector)
    with within(CLOSED_WITHIN):
        collector.close()
    assert isinstance(error, DeadlineError)
    assert f"env {VICTIM}, seed {plan.env_seeds[VICTIM]}" in str(error)


@pytest.mark.parametrize(("fault", "what"), [("nan", "reward nan"), ("bad-shape", "shape (53,)")])
def test_values_that_break_the_spaces_are_refused(
    build: Callable[..., Any], plan_of: Callable[..., Plan], fault: str, what: str
) -> None:
    plan = plan_of(fault=f"{fault}@5", fault_env=VICTIM)
    with build() as collector:
        collector.open(plan)
        error = _until_error(collector)
    assert isinstance(error, WorkerError)
    assert (error.env, error.seed) == (VICTIM, plan.env_seeds[VICTIM])
    assert what in error.cause


@pytest.mark.parametrize(
    ("env", "what"), [("WrongType", "type float64, not float32"), ("ListReward", "shape (1,)")]
)
def test_values_of_the_wrong_type_are_refused(
    build: Callable[..., Any], plan_of: Callable[..., Plan], env: str, what: str
) -> None:
    plan = plan_of(env)
    with build() as collector:
        collector.open(plan)
        error = _until_error(collector)
    assert isinstance(error, WorkerError)
    assert error.env in range(plan.n_envs)
    assert what in error.cause


def test_an_env_that_cannot_be_built_is_named(
    build: Callable[..., Any], plan_of: Callable[..., Plan]
) -> None:
    plan = plan_of(fault="ctor-raise", fault_env=VICTIM)
    collector = build()
    with pytest.raises(WorkerError, match="could not be built: ValueError") as caught:
        collector.open(plan)
    assert (caught.value.env, caught.value.seed) == (VICTIM, plan.env_seeds[VICTIM])
    assert "ctor-raise" in caught.value.traceback
    collector.close()


def test_a_death_while_building_is_reported(
    build: Callable[..., Any], plan_of: Callable[..., Plan]
) -> None:
    plan = plan_of(fault="ctor-exit", fault_env=VICTIM)
    with pytest.raises(WorkerError, match="exited with status 3") as caught:
        build().open(plan)
    assert (caught.value.env, caught.value.seed) == (VICTIM, plan.env_seeds[VICTIM])


def test_an_env_that_is_never_built_ends_open_at_its_deadline(
    build: Callable[..., Any], plan_of: Callable[..., Plan], within: Callable[[float], Any]
) -> None:
    plan = plan_of(fault="ctor-hang", fault_env=VICTIM, start=6.0)
    with within(6.0 + CLOSED_WITHIN + SLACK), pytest.raises(DeadlineError, match=f"env {VICTIM}"):
        build().open(plan)


def test_a_space_that_cannot_be_collected_is_refused(
    build: Callable[..., Any], plan_of: Callable[..., Plan]
) -> None:
    with pytest.raises(WorkerError, match="a Box space is needed"):
        build().open(plan_of("DictSpace"))


def test_a_module_that_does_not_exist_is_reported(
    build: Callable[..., Any], plan_of: Callable[..., Plan]
) -> None:
    with pytest.raises(WorkerError, match="has no attribute 'NoSuchEnv'"):
        build().open(plan_of("NoSuchEnv"))


def test_options_that_cannot_cross_are_refused(
    build: Callable[..., Any], plan_of: Callable[..., Plan]
) -> None:
    with pytest.raises(UsageError, match="cannot be sent to a worker"):
        build().open(plan_of("Quiet", callback=lambda: None))


def test_the_death_of_every_worker_at_once_is_reported(
    build: Callable[..., Any], plan_of: Callable[..., Plan], within: Callable[[float], Any]
) -> None:
    """As when the process that all workers are children of is killed."""
    plan = plan_of("Quiet")
    collector = build()
    collector.open(plan)
    collector.collect(POLICY, 8)
    os.kill(collector._supervisor.watch.nursery.pid, signal.SIGKILL)
    with within(REPORTED_WITHIN + SLACK):
        error = _until_error(collector)
    assert isinstance(error, WorkerError)
    assert error.signal == "SIGKILL"
    assert error.env is not None or "; it had envs " in str(error)
    with within(CLOSED_WITHIN):
        collector.close()


@pytest.mark.usefixtures("forkable")
@pytest.mark.parametrize("start_method", ["fork", "spawn"])
def test_faults_are_reported_whatever_the_start_method(
    build: Callable[..., Any], plan_of: Callable[..., Plan], start_method: str
) -> None:
    plan = plan_of(fault="kill@5", fault_env=VICTIM)
    with build(start_method=start_method) as collector:
        collector.open(plan)
        error = _until_error(collector)
    assert isinstance(error, WorkerError)
    assert (error.env, error.signal) == (VICTIM, "SIGKILL")


@pytest.mark.usefixtures("forkable")
@pytest.mark.parametrize("start_method", ["fork", "forkserver", "spawn"])
def test_workers_use_one_thread_and_no_torch(
    build: Callable[..., Any], plan_of: Callable[..., Plan], start_method: str
) -> None:
    with build(start_method=start_method) as collector:
        collector.open(plan_of("Facts"))
        next_obs = collector.collect(POLICY, 2).next_obs
    assert next_obs.tolist() == [[1.0, 0.0]] * 4
