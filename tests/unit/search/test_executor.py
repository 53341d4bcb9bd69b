"""Searches on executors: the same result wherever orders are trained, and however often."""

from __future__ import annotations

import json
import math
import os
import signal
import time
from collections.abc import Callable
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from wfbench.contract import Call, CollectError, ExecutorError, News, PluginError, UsageError
from wfbench.orders import kendall
from wfbench.search.engine import RETRIES, run_searches
from wfbench.search.launching import started
from wfbench.search.planning import plan_jobs
from wfbench.settings.selection import select
from wfbench.testing.harness import footprint
from wfbench_executors.local import LocalExecutor
from wfbench_executors.plugin import ProcessesOptions
from wfbench_executors.processes import ProcessesExecutor

Make = Callable[..., Any]
Begin = Callable[..., Any]


class Shuffled(LocalExecutor):
    """In this process, but several at a time, the latest first, and some lose their worker."""

    in_process = False

    def __init__(self, width: int, losses: int = 0, *, silent: bool = False) -> None:
        super().__init__()
        self.width, self._losses, self._silent = width, losses, silent
        self.patience = 1e9
        self.most = 0
        self._said: dict[int, int] = {}

    def cancel(self, key: int) -> None:
        super().cancel(key)
        self.patience = 1e9

    def wait(self, seconds: float) -> list[News]:  # noqa: ARG002 - it never waits
        self.most = max(self.most, len(self._calls))
        key, values = list(self._calls.items())[-1]
        self._said[key] = self._said.get(key, 0) + 1
        if self._losses and self._said[key] == 3:
            self._losses -= 1
            if self._silent:
                self.patience = -1.0
                return []
            self.cancel(key)
            return [News(key, "lost", "its worker was lost on purpose")]
        for value in values:
            return [News(key, "value", value)]
        del self._calls[key]
        return [News(key, "ended")]


def _told(search: Any) -> list[Any]:
    lines = (search.store.path / "events.jsonl").read_text().splitlines()
    events = [json.loads(line) for line in lines]
    return [{k: v for k, v in event.items() if k not in {"time", "run"}} for event in events]


def _files(search: Any) -> dict[str, bytes]:
    folder: Path = search.store.path
    return {path.name: path.read_bytes() for path in (folder / "checkpoints").iterdir()}


def _batched(make_job: Make, **settings: Any) -> Any:
    return make_job(**{"searcher": "gp-ucb", "workflows": 7, "batch": 3, **settings})


@pytest.mark.parametrize("losses", [0, 2])
@pytest.mark.parametrize("inherit", ["nearest", "previous"])
def test_whoever_ends_first_and_whatever_is_lost_the_events_are_the_same(
    make_job: Make, begin: Begin, inherit: str, losses: int
) -> None:
    seen: list[Any] = []
    one = begin(_batched(make_job, inherit=inherit), "r")
    one.run()
    told, files = _told(one), _files(one)
    one.store.close()
    one.store.path.rename(one.store.path.with_name("first"))
    executor = Shuffled(3, losses)
    other = begin(_batched(make_job, inherit=inherit), "r", seen.append)
    other.run_on(executor)
    assert executor.most == 3
    assert _told(other) == told
    assert _files(other) == files
    assert [e["event"] for e in seen].count("worker-lost") == losses


def test_worker_processes_give_the_same_events_as_this_process(
    make_job: Make, begin: Begin
) -> None:
    one = begin(_batched(make_job), "r")
    one.run_on(LocalExecutor())
    told, files = _told(one), _files(one)
    one.store.close()
    one.store.path.rename(one.store.path.with_name("first"))
    other = begin(_batched(make_job), "r")
    other.run_on(ProcessesExecutor(workers=2))
    assert _told(other) == told
    assert _files(other) == files
    assert other.recorded().env_steps == one.recorded().env_steps


@pytest.mark.parametrize("stop", [1, 2, 3, 4])
def test_a_run_stopped_within_a_batch_goes_on_with_the_same_batch(
    make_job: Make, begin: Begin, stop: int
) -> None:
    job = _batched(make_job, total_episodes=130, inherit="previous")
    whole = begin(job, "r")
    whole.run()
    told, files = _told(whole), _files(whole)
    whole.store.close()
    whole.store.path.rename(whole.store.path.with_name("whole"))

    def interrupt(event: Any) -> None:
        if event["event"] == "workflow-finished" and event["workflow"] == stop:
            raise KeyboardInterrupt

    first = begin(job, "r", interrupt)
    with pytest.raises(KeyboardInterrupt):
        first.run()
    first.store.close()
    second = begin(job, "r")
    second.run_on(Shuffled(2))
    assert _told(second) == told
    assert _files(second) == files


def test_nothing_of_a_batch_is_inherited_within_it(make_job: Make, begin: Begin) -> None:
    # Random orders do not repeat; a repeat starts where the first training did.
    search = begin(_batched(make_job, searcher="random", inherit="previous"))
    search.run()
    assert [r.inherited_from for r in search.finished] == [None] * 3 + [2] * 3 + [5]


@pytest.mark.parametrize("score", ["last-episodes:3", "evaluate:5"])
@pytest.mark.parametrize("total", [25, 41, 60, 97])
def test_what_is_trained_together_does_not_overshoot_together(
    make_job: Make, begin: Begin, total: int, score: str
) -> None:
    job = _batched(make_job, total_episodes=total, score=score, workflows=50)
    search = begin(job)
    search.run_on(Shuffled(3))
    assert search.recorded().env_steps <= total * 10
    assert _told(search)[-1]["reason"] == "total-episodes"
    assert total * 10 - search.recorded().env_steps < 4 * 10 + 8 * 10


def test_wall_time_is_kept_by_worker_processes(make_job: Make, begin: Begin) -> None:
    env = "synthetic:step=0.002,busy=false,obs_size=6,num_actions=5,episode_length=10"
    job = make_job(
        env=env, collector="sequential", searcher="random", max_seconds=8.0, workflows=1000, batch=2
    )
    search = begin(job)
    search.run_on(ProcessesExecutor(workers=2))
    events = _told(search)
    assert events[-1]["reason"] == "wall-time"
    # All 1000 would take minutes: the limit ended it, and what had begun was ended and recorded.
    assert 0 < len(search.finished) < 1000
    begun = [event["workflow"] for event in events if event["event"] == "workflow-started"]
    assert begun == [one.workflow for one in search.finished]
    assert search.recorded().work_seconds > 0


def test_a_worker_that_says_nothing_is_replaced(make_job: Make, begin: Begin) -> None:
    seen: list[Any] = []
    search = begin(_batched(make_job, workflows=2), "r", seen.append)
    search.run_on(Shuffled(1, losses=1, silent=True))
    assert len(search.finished) == 2
    assert any("no news from it" in e.get("cause", "") for e in seen)


def test_what_is_lost_again_and_again_is_an_error_and_the_run_can_go_on(
    make_job: Make, begin: Begin
) -> None:
    job = _batched(make_job)
    search = begin(job, "r")
    with pytest.raises(
        ExecutorError, match=f"was lost {RETRIES + 1} times, the last time: its worker"
    ):
        search.run_on(Shuffled(1, losses=RETRIES + 1))
    assert _told(search)[-1]["event"] == "workflow-failed"
    search.store.close()
    again = begin(job, "r")
    again.run_on(Shuffled(3))
    assert len(again.finished) == 7


def test_the_error_of_an_order_is_raised_in_its_turn(make_job: Make, begin: Begin) -> None:
    fault = "fault=raise@65"
    env = f"synthetic:obs_size=6,num_actions=5,episode_length=10,{fault}"
    search = begin(_batched(make_job, env=env, collector="sequential", max_episodes=8))
    with pytest.raises(CollectError, match="synthetic fault"):
        search.run_on(ProcessesExecutor(workers=2))
    events = _told(search)
    assert events[-1]["event"] == "workflow-failed"
    assert events[-1]["workflow"] == 0


def test_a_bug_in_a_worker_keeps_its_traceback(make_job: Make, begin: Begin) -> None:
    search = begin(make_job(trainer="lab:fail=2", batch=1))
    with pytest.raises(PluginError, match="the learner broke"):
        search.run_on(ProcessesExecutor(workers=1))
    with closing(ProcessesExecutor(workers=1)) as executor:
        executor.submit(1, Call("wfbench.search.training:train", (None, None)))
        failure = _values(executor, 1)[0][0].error
    assert "Traceback" in str(failure)
    assert "training.py" in str(failure)


def test_searches_run_beside_each_other(make_job: Make, begin: Begin) -> None:
    jobs = [make_job(collector=name, searcher="random") for name in ("vector", "sequential")]
    searches = [begin(job, f"r{i}") for i, job in enumerate(jobs)]
    executor = Shuffled(2)
    run_searches(searches, executor)
    assert executor.most == 2
    skip = {"collector"}
    told = [[{k: v for k, v in e.items() if k not in skip} for e in _told(s)] for s in searches]
    assert told[0] == told[1]
    assert all(search.store.finished for search in searches)


def test_searches_share_out_the_width_of_the_executor(
    host: Any, make_job: Make, tmp_path: Path
) -> None:
    job = make_job(searcher="gp-ucb", seeds=3)
    chosen = {
        kind: (getattr(job, kind),) for kind in ("env", "collector", "trainer", "searcher")
    } | select(host, {"executor": ["processes:8"]})
    jobs = plan_jobs(job.config, chosen)
    assert [one.config.seed for one in jobs] == [0, 1, 2]
    with started(jobs, tmp_path, "r", lambda _job, _store: (), smoke=True, width=8) as searches:
        assert {search.job.batch for search in searches} == {3}
        assert {search.store.config.settings["batch"] for search in searches} == {3}
    one_at_a_time = chosen | {"searcher": (make_job().searcher,)}
    assert {one.batch for one in plan_jobs(job.config, one_at_a_time)} == {1}
    asked = make_job(batch=2).config
    with pytest.raises(UsageError, match="asks for one order at a time"):
        plan_jobs(asked, one_at_a_time)


def test_directories_of_searches_have_short_names(make_job: Make, tmp_path: Path) -> None:
    trainer = "lab:nan_stat=98,nan_weight=99"
    names = ("shm:workers=2,on_worker_death=restart", "sequential")
    jobs = [make_job(collector=name, trainer=trainer) for name in names]
    with started(jobs, tmp_path, "r", lambda _job, _store: (), smoke=True, width=1) as searches:
        long, short = (search.store.path.name for search in searches)
    assert long.startswith("00-shm-workers-2-on-worker-death-restart-lab-nan-stat-98")
    assert len(long) == len("00-") + 60
    assert short == "01-sequential-lab-nan-stat-98-nan-weight-99"


class TestProcesses:
    def test_values_come_in_their_order_and_workers_are_used_again(self) -> None:
        with closing(ProcessesExecutor(workers=2)) as executor:
            for first in (0, 10):
                for key in (first, first + 1):
                    executor.submit(key, Call("builtins:range", 3 + key))
                found = _values(executor, first, first + 1)
                assert found == [list(range(3 + first)), list(range(4 + first))]
            assert len(executor._idle) == 2

    def test_prepared_workers_run_a_first_call_of_which_nobody_hears(self) -> None:
        with closing(ProcessesExecutor(workers=2)) as executor:
            executor.prepare(Call("builtins:range", 5))
            early = footprint.children()
            assert len(early) == 2
            for key in (1, 2):
                executor.submit(key, Call("builtins:range", key))
            assert _values(executor, 1, 2) == [[0], [0, 1]]
            assert footprint.children() == early
        assert not footprint.children()

    @pytest.mark.parametrize(
        ("workers", "given", "share"), [(2, "", "4"), (3, "", "2"), (9, "", "1"), (2, "2", "1")]
    )
    def test_workers_share_out_the_threads(
        self, workers: int, given: str, share: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)))
        monkeypatch.setenv("OMP_NUM_THREADS", given)
        with closing(ProcessesExecutor(workers=workers)) as executor:
            executor.submit(1, Call("os:getenv", "OMP_NUM_THREADS"))
            executor.submit(2, Call("os:getenv", "OPENBLAS_NUM_THREADS"))
            assert _values(executor, 1, 2) == [[share], [share]]

    def test_a_killed_worker_is_told_with_its_signal(self) -> None:
        with closing(ProcessesExecutor(workers=1)) as executor:
            executor.submit(1, Call("itertools:count", 0))
            assert executor.wait(60)[0].value == 0
            os.kill(executor._busy[1].process.pid, signal.SIGKILL)
            while (news := executor.wait(60)[-1]).kind == "value":
                pass
            assert news == News(1, "lost", "its worker process was killed by SIGKILL")

    def test_a_worker_that_died_idle_is_replaced(self) -> None:
        with closing(ProcessesExecutor(workers=1)) as executor:
            assert not executor.in_process
            executor.prepare(Call("builtins:range", 0))
            executor._idle[0].process.kill()
            executor._idle[0].process.wait(60)
            executor.submit(1, Call("builtins:range", 2))
            assert _values(executor, 1) == [[0, 1]]

    def test_only_workers_that_are_missing_are_prepared(self) -> None:
        with closing(ProcessesExecutor(workers=2)) as executor:
            executor.submit(1, Call("time:sleep", 100))
            for _ in range(2):
                executor.prepare(Call("builtins:range", 0))
                assert len(footprint.children()) == 2

    def test_what_a_call_prints_is_no_answer(self, capfd: pytest.CaptureFixture[str]) -> None:
        with closing(ProcessesExecutor(workers=1)) as executor:
            executor.submit(1, Call("builtins:print", "told"))
            assert executor.wait(60)[0].kind == "lost", "nothing was returned to iterate over"
        said = capfd.readouterr()
        assert "told\n" in said.err
        assert not said.out

    @pytest.mark.parametrize(
        "options", [{"workers": -1}, {"patience": 0.0}, {"patience": -1.0}, {"patience": math.inf}]
    )
    def test_options_that_make_no_sense_are_refused(self, options: dict[str, Any]) -> None:
        assert ProcessesOptions(workers=0, patience=0.5).patience == 0.5
        [name] = options
        with pytest.raises(ValueError, match=f"{name} is {options[name]}; it must be"):
            ProcessesOptions(**options)

    def test_a_call_that_is_cancelled_is_not_heard_of_again(self) -> None:
        with closing(ProcessesExecutor(workers=1)) as executor:
            executor.submit(1, Call("itertools:count", 0))
            executor.cancel(1)
            executor.submit(2, Call("builtins:range", 2))
            assert _values(executor, 2) == [[0, 1]]

    def test_waiting_ends_in_time(self) -> None:
        with closing(ProcessesExecutor(workers=1)) as executor:
            executor.submit(1, Call("time:sleep", 100))
            began = time.monotonic()
            assert executor.wait(0.2) == []
            assert time.monotonic() - began < 20

    def test_a_large_message_arrives_whole(self) -> None:
        with closing(ProcessesExecutor(workers=1)) as executor:
            executor.submit(1, Call("builtins:iter", [b"x" * 5_000_000]))
            assert _values(executor, 1) == [[b"x" * 5_000_000]]


def test_orders_asked_together_lie_apart(host: Any) -> None:
    from wfbench.contract import SearcherSetup

    [choice] = select(host, {"searcher": ["gp-ucb"]})["searcher"]
    first = choice.build(SearcherSetup(5, 3)).ask_batch(3)
    assert all(kendall(a, b) >= 0.3 for a, b in pairwise(first))


def _values(executor: ProcessesExecutor, *keys: int) -> list[list[Any]]:
    """What each of these calls yields until all have ended."""
    values: dict[int, list[Any]] = {key: [] for key in keys}
    ended: set[int] = set()
    deadline = time.monotonic() + 60
    while len(ended) < len(keys):
        assert time.monotonic() < deadline
        for news in executor.wait(1):
            if news.kind == "value":
                values[news.key].append(news.value)
            else:
                assert news.kind == "ended", news
                ended.add(news.key)
    return list(values.values())
