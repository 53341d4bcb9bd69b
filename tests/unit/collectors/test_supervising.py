"""How work is divided among workers, and what is said of those that fail."""

from __future__ import annotations

import resource
import signal
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from wfbench.contract import Plan, UsageError, WorkerError
from wfbench_collectors.options import ProcessOptions
from wfbench_collectors.shared import Board, Note
from wfbench_collectors.supervisor import Supervisor
from wfbench_collectors.tasks import can_keep_workers, divide, fresh_seeds
from wfbench_collectors.vector import VectorCollector


@pytest.mark.parametrize(
    ("n_envs", "workers", "firsts"),
    [(5, 2, [0, 2]), (5, 9, [0, 1, 2, 3, 4]), (7, 3, [0, 2, 4]), (5, 0, [0, 1, 3]), (2, 1, [0])],
)
def test_environments_are_divided_evenly(
    plan_of: Callable[..., Plan], n_envs: int, workers: int, firsts: list[int]
) -> None:
    plan = plan_of(n_envs=n_envs)
    tasks = divide(plan, ProcessOptions(workers=workers), "a:B", default=3)
    assert [task.worker for task in tasks] == list(range(len(firsts)))
    assert [task.first for task in tasks] == firsts
    assert [env for task in tasks for env in task.envs] == list(range(n_envs))
    assert all(plan.env_seeds[task.rows] == task.seeds for task in tasks)


@pytest.mark.parametrize(
    ("form", "wanted", "allowed", "workers", "batched"),
    [
        (True, True, True, 4, True),
        (True, True, True, 5, False),
        (True, True, False, 4, False),
        (True, False, True, 4, False),
        (False, True, True, 4, False),
    ],
)
def test_the_batched_form_is_stepped_where_a_worker_has_several(
    plan_of: Callable[..., Plan],
    *,
    form: bool,
    wanted: bool,
    allowed: bool,
    workers: int,
    batched: bool,
) -> None:
    plan = plan_of(n_envs=5, batched=form)
    options = ProcessOptions(workers=workers, batched=allowed)
    tasks = divide(plan, options, "a.b:C", default=1, batched=wanted)
    assert {task.batched for task in tasks} == {batched}
    modules = ["wfbench_collectors.worker", "a.b", "wfbench_synthetic.env"]
    modules += ["wfbench_synthetic.batch"] * batched
    assert Supervisor(plan, options, tasks).modules() == modules


def test_workers_go_on_with_as_many_environments_of_the_same_code(
    plan_of: Callable[..., Plan],
) -> None:
    plan = plan_of(n_envs=3, batched=True)
    assert can_keep_workers(plan_of(n_envs=3, batched=True, num_actions=9), plan)
    assert not can_keep_workers(plan_of(n_envs=4, batched=True), plan)
    assert not can_keep_workers(plan_of(n_envs=3), plan)


def test_seeds_of_restarted_environments_are_the_same_in_every_version() -> None:
    assert fresh_seeds((5, 6), 1) == (17996766564426832300, 15660334645186488298)
    assert fresh_seeds((5,), 2) == (4160164373342109173,)


@pytest.fixture
def supervisor(plan_of: Callable[..., Plan]) -> Iterator[Supervisor]:
    """A supervisor of six workers for eleven environments, none of which was started."""
    plan = plan_of(n_envs=11)
    options = ProcessOptions(workers=6, on_worker_death="restart", restarts=2)
    made = Supervisor(plan, options, divide(plan, options, "a:B", default=1))
    made.board = Board.create(6)
    yield made
    made.board.close()


def test_three_late_workers_are_named_with_what_they_run(supervisor: Supervisor) -> None:
    seeds = supervisor._plan.env_seeds
    supervisor.board.row(2)[Note.ENV] = 1 + 4
    running = f"worker 2 (in env 4, seed {seeds[4]})"
    for late, names in (
        ([5], "worker 5"),
        ([4, 2, 0], f"worker 0, {running}, worker 4"),
        ([4, 2, 0, 5], f"worker 0, {running}, worker 4 and 1 more"),
        (range(6), f"worker 0, worker 1, {running} and 3 more"),
    ):
        assert str(supervisor.late(late)).startswith(f"no answer in time from {names}; ")


@pytest.mark.parametrize(
    ("worker", "running", "code", "cause", "env"),
    [
        (0, None, 0, "exited with status 0 in the middle of its work", 0),
        (0, None, 3, "exited with status 3 in the middle of its work", 0),
        (1, 2, -signal.SIGKILL, "SIGKILL (the out-of-memory killer, or someone)", 2),
        (1, 1, -signal.SIGSEGV, "SIGSEGV", 1),
        (1, None, -signal.SIGSEGV, "; it had envs 1 to 2 and was stepping none", None),
        (5, 10, None, "closed its connection and did not end", 10),
    ],
)
def test_a_death_is_told_with_its_cause_and_its_environment(
    supervisor: Supervisor,
    worker: int,
    running: int | None,
    code: int | None,
    cause: str,
    env: int | None,
) -> None:
    supervisor.watch = SimpleNamespace(await_exit=lambda _worker: code)  # type: ignore[assignment]
    supervisor.board.row(worker)[Note.ENV] = 0 if running is None else running + 1
    death = supervisor.death(worker)
    assert death.cause.endswith(cause)
    assert (death.worker, death.env, death.exitcode) == (worker, env, code)
    assert death.seed == (None if env is None else supervisor._plan.env_seeds[env])


def test_as_many_dead_workers_are_replaced_as_was_asked_for(supervisor: Supervisor) -> None:
    death = WorkerError("died", worker=1, env=2, seed=3, exitcode=4)
    for restarts in (0, 1):
        supervisor.restarts = restarts
        supervisor._refuse_more(death)
    supervisor.restarts = 2
    with pytest.raises(WorkerError, match="died; 2 dead workers were replaced before") as refused:
        supervisor._refuse_more(death)
    assert (refused.value.worker, refused.value.exitcode) == (1, 4)
    mortal = Supervisor(supervisor._plan, ProcessOptions(), [])
    assert mortal.restarts == 0
    with pytest.raises(WorkerError) as raised:
        mortal._refuse_more(death)
    assert raised.value is death


@pytest.mark.parametrize(
    ("limit", "fits"), [(64 + 12, True), (64 + 11, False), (resource.RLIM_INFINITY, True)]
)
def test_workers_need_two_descriptors_each_and_64_are_left_for_others(
    supervisor: Supervisor, monkeypatch: pytest.MonkeyPatch, limit: int, *, fits: bool
) -> None:
    class StartedError(Exception):
        """Raised where the workers would be started."""

    def start(*_arguments: Any) -> None:
        raise StartedError

    monkeypatch.setattr(resource, "getrlimit", lambda _kind: (limit, limit))
    monkeypatch.setattr("wfbench_collectors.supervisor.Watch", start)
    with pytest.raises(StartedError if fits else UsageError) as raised:
        supervisor.start(0.0)
    assert fits or f"6 workers need more than the {limit} descriptors" in str(raised.value)


@pytest.mark.parametrize(
    ("n_envs", "asked", "threads"),
    [(1, 0, 1), (255, 0, 1), (511, 0, 1), (512, 0, 2), (1024, 0, 3), (5, 2, 2), (5, 9, 5)],
)
def test_a_thread_of_the_vector_collector_has_256_environments(
    plan_of: Callable[..., Plan],
    monkeypatch: pytest.MonkeyPatch,
    n_envs: int,
    asked: int,
    threads: int,
) -> None:
    monkeypatch.setattr("wfbench_collectors.vector.usable_cores", lambda: 3)
    collector = VectorCollector(asked) if asked else VectorCollector()
    assert collector._thread_count(plan_of(n_envs=n_envs, batched=True)) == threads
