"""One collector serves a whole search, wherever orders are trained."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from typing import Any

import psutil
import pytest

from wfbench.collecting.keeping import keep_open
from wfbench.contract import PluginError
from wfbench.search.engine import run_searches
from wfbench.search.planning import KINDS
from wfbench.search.preparing import prepare
from wfbench.testing.harness import footprint
from wfbench_executors.local import LocalExecutor
from wfbench_executors.processes import ProcessesExecutor

_SHM = "shm:workers=1"
_EACH = 2
"""Its processes: the worker, and the one that it was forked from."""


class Seen:
    """Sees the processes of collectors whenever something happens."""

    def __init__(self) -> None:
        self.pids: set[int] = set()
        self.finished = 0

    def __call__(self, event: Any) -> None:
        self.finished += event["event"] == "workflow-finished"
        for process in psutil.Process().children(recursive=True):
            if any("wfbench_collectors.nursery" in word for word in process.cmdline()):
                self.pids.add(process.pid)


@pytest.fixture
def processes() -> Seen:
    return Seen()


@pytest.mark.parametrize("score", ["last-episodes:1", "evaluate:4"])
def test_all_orders_share_a_collector(
    make_job: Callable[..., Any], begin: Callable[..., Any], processes: Seen, score: str
) -> None:
    begin(make_job(collector=_SHM, score=score, workflows=4), "r", processes).run()
    assert processes.finished == 4
    assert len(processes.pids) == _EACH
    assert not footprint.children()


def test_a_joint_search_shares_one_too(
    make_job: Callable[..., Any], begin: Callable[..., Any], processes: Seen
) -> None:
    job = make_job(
        env="synthetic-batch:obs_size=6,num_actions=8,episode_length=10",
        collector=_SHM,
        training="joint",
        definition="choices",
        joint_episodes=2,
        eval_episodes=4,
        specialise=2,
        max_episodes=2,
    )
    begin(job, "r", processes).run()
    assert processes.finished >= 3
    assert len(processes.pids) == _EACH


def test_a_worker_process_keeps_its_collector(
    make_job: Callable[..., Any], begin: Callable[..., Any], processes: Seen
) -> None:
    job = make_job(collector=_SHM, workflows=6, batch=2, searcher="random")
    begin(job, "r", processes).run_on(ProcessesExecutor(workers=2))
    assert processes.finished == 6
    assert _EACH <= len(processes.pids) <= 2 * _EACH
    assert not any(psutil.pid_exists(pid) for pid in processes.pids)


@pytest.mark.parametrize(
    ("executor", "early"), [(LocalExecutor(), 1), (ProcessesExecutor(workers=2), 2)]
)
def test_trainings_take_over_the_processes_that_were_prepared(
    make_job: Callable[..., Any],
    begin: Callable[..., Any],
    processes: Seen,
    executor: Any,
    early: int,
) -> None:
    job = make_job(collector=_SHM, workflows=4, batch=2, searcher="random")
    with closing(executor), keep_open():
        prepare(executor, job.config, {kind: (getattr(job, kind),) for kind in KINDS})
        deadline = time.monotonic() + 60
        while len(processes.pids) < early:
            assert time.monotonic() < deadline
            processes({"event": "prepared"})
        prepared = set(processes.pids)
        run_searches([begin(job, "r", processes)], executor)
        assert len(processes.pids) == early * _EACH
    assert len(prepared) == early
    assert not footprint.children()


def test_what_was_prepared_and_is_broken_is_told_by_the_training(
    make_job: Callable[..., Any], begin: Callable[..., Any], capfd: pytest.CaptureFixture[str]
) -> None:
    job = make_job(collector=_SHM, batch=1)
    broken = replace(job.trainer, spec=replace(job.trainer.spec, factory="no.such:Trainer"))
    job = replace(job, trainer=broken)
    with closing(ProcessesExecutor(workers=1)) as executor:
        prepare(executor, job.config, {kind: (getattr(job, kind),) for kind in KINDS})
        with pytest.raises(PluginError, match=r"no\.such"):
            run_searches([begin(job, "r")], executor)
    assert capfd.readouterr().err == ""


def test_a_learner_that_breaks_leaves_no_collector(
    make_job: Callable[..., Any], begin: Callable[..., Any], processes: Seen
) -> None:
    search = begin(make_job(collector=_SHM, trainer="lab:fail=2"), "r", processes)
    with pytest.raises(PluginError, match="the learner broke"):
        search.run()
    assert processes.pids
    assert not footprint.children()
