from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from contextlib import closing
from threading import Thread
from typing import Any

import psutil
import pytest

from wfbench.contract import Call, ExecutorError
from wfbench_executors.processes import ProcessesExecutor
from wfbench_ray.executor import RayExecutor

Run = Callable[..., Any]


def _tasks() -> list[psutil.Process]:
    """The worker processes in which one of our tasks runs."""
    return [
        process
        for process in psutil.process_iter(["cmdline"])
        if any("ray::_stream" in word for word in process.info["cmdline"] or ())
    ]


class Trouble:
    """An observer that does something once, while two orders are being trained."""

    def __init__(self, act: Callable[[], None]) -> None:
        self._thread = Thread(target=self._run, args=(act,))
        self.seen: list[str] = []

    def __call__(self, event: Any) -> None:
        self.seen.append(event["event"])
        if event["event"] == "workflow-started" and event["workflow"] == 4:
            self._thread.start()

    def _run(self, act: Callable[[], None]) -> None:
        deadline = time.monotonic() + 60
        while len(_tasks()) < 2:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        act()

    def join(self) -> None:
        """Wait until it is done."""
        self._thread.join(60)


@pytest.fixture(scope="module")
def expected(run_in: Run, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The same search in two processes."""
    folder = tmp_path_factory.mktemp("expected")
    return run_in(folder, "processes", ProcessesExecutor(workers=2))


def test_a_cluster_gives_the_events_of_processes(cluster: Any, run: Run, expected: Any) -> None:
    found = run("ray", RayExecutor(address=cluster.address))
    assert found.events == expected.events
    assert found.files == expected.files


def test_a_killed_worker_costs_nothing_but_time(cluster: Any, run: Run, expected: Any) -> None:
    trouble = Trouble(lambda: os.kill(_tasks()[0].pid, signal.SIGKILL))
    found = run("killed", RayExecutor(address=cluster.address), trouble)
    trouble.join()
    assert trouble.seen.count("worker-lost") == 1
    assert found.events == expected.events
    assert found.files == expected.files


def test_a_lost_node_costs_nothing_but_time(cluster: Any, run: Run, expected: Any) -> None:
    trouble = Trouble(cluster.remove)
    try:
        found = run("node", RayExecutor(address=cluster.address), trouble)
    finally:
        trouble.join()
        cluster.add()
    assert trouble.seen.count("worker-lost") == 1
    assert found.events == expected.events
    assert found.files == expected.files


def test_a_run_that_stopped_on_a_cluster_goes_on_anywhere(
    cluster: Any, run: Run, expected: Any
) -> None:
    def stop(event: Any) -> None:
        if event["event"] == "workflow-finished" and event["workflow"] == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run("stopped", RayExecutor(address=cluster.address), stop)
    found = run("stopped", ProcessesExecutor(workers=2))
    assert found.events == expected.events
    assert found.files == expected.files


def test_what_is_cancelled_frees_its_core(cluster: Any) -> None:
    with closing(RayExecutor(address=cluster.address)) as executor:
        assert executor.width == 2
        for key in (1, 2):
            executor.submit(key, Call("itertools:count", 0))
            executor.wait(60)
            executor.cancel(key)
        executor.submit(3, Call("builtins:range", 2))
        heard = []
        while not heard or heard[-1].kind != "ended":
            heard += executor.wait(60)
        assert [(news.key, news.value) for news in heard] == [(3, 0), (3, 1), (3, None)]


def test_no_cluster_is_one_line() -> None:
    with pytest.raises(ExecutorError, match="there is no Ray cluster at"):
        RayExecutor(address="127.0.0.1:1")
