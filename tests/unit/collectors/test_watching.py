"""Replies, deaths and exit codes as they come, in any sequence, without a worker process."""

from __future__ import annotations

import os
import pickle
import selectors
import signal
import socket
import time
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from wfbench.contract import DeadlineError, Plan, WorkerError
from wfbench_collectors import launch, supervisor, watch
from wfbench_collectors.options import ProcessOptions
from wfbench_collectors.shared import Board
from wfbench_collectors.supervisor import Supervisor
from wfbench_collectors.tasks import WorkerTask, divide, fresh_seeds
from wfbench_collectors.watch import Watch, Worker
from wfbench_collectors.wire import Kind, WorkerEnd, connect, encode

FAR = time.monotonic() + 3600


class FakeNursery:
    """Reports the exits it is given, each once."""

    def __init__(self) -> None:
        self._reports, self._bell = os.pipe()
        self.reported: dict[int, int] = {}
        self.killed: list[tuple[int, int]] = []
        self.exitcode: int | None = None

    def report(self, **exits: int) -> None:
        self.reported |= {int(worker[1:]): code for worker, code in exits.items()}
        os.write(self._bell, b"!")

    def fileno(self) -> int:
        return self._reports

    def exits(self) -> dict[int, int]:
        if os.read(self._reports, 100):
            found, self.reported = self.reported, {}
        return found

    def signal(self, worker: int, number: int) -> None:
        self.killed.append((worker, number))

    def end(self, _timeout: float) -> None:
        os.close(self._reports)
        os.close(self._bell)


class Watched:
    """A watch of three workers, of which this process has the other ends."""

    def __init__(self) -> None:
        self.nursery = FakeNursery()
        self.watch = Watch.__new__(Watch)
        self.watch.nursery = self.nursery  # type: ignore[assignment]
        self.watch.workers, self.watch.traffic = [], (0, 0)
        self.watch._exited, self.watch._selector = set(), selectors.DefaultSelector()
        self.watch._selector.register(self.nursery, selectors.EVENT_READ, None)
        self.ends: list[WorkerEnd] = []
        self._descriptors: list[tuple[int, int]] = []
        for worker in range(3):
            end, descriptors = connect()
            self.watch.workers.append(Worker(end))
            self.watch._selector.register(end, selectors.EVENT_READ, worker)
            self.ends.append(WorkerEnd(*descriptors))
            self._descriptors.append(descriptors)

    def leave(self, worker: int) -> None:
        """Close a worker's ends."""
        for descriptor in self._descriptors[worker]:
            os.close(descriptor)
        self._descriptors[worker] = ()  # type: ignore[call-overload]

    def close(self) -> None:
        for worker in range(3):
            self.leave(worker)
        self.watch.close(0.0)


@pytest.fixture
def watched() -> Iterator[Watched]:
    made = Watched()
    yield made
    made.close()


@pytest.fixture
def supervising(watched: Watched, plan_of: Callable[..., Plan]) -> Iterator[Supervisor]:
    plan, options = plan_of(n_envs=6), ProcessOptions(workers=3)
    made = Supervisor(plan, options, divide(plan, options, "a:B", default=1))
    made.watch, made.board = watched.watch, Board.create(3)
    yield made
    made.board.close()


def test_messages_and_bytes_are_counted_both_ways(watched: Watched) -> None:
    data = encode(1, Kind.STEP, b"12345")
    assert watched.watch.send(2, data, FAR)
    assert watched.watch.traffic == (1, len(data))
    watched.ends[0].send(5, Kind.DONE, b"1")
    [(worker, message)], died = watched.watch.poll(FAR)
    assert (worker, message, died) == (0, (5, Kind.DONE, b"1"), set())
    assert watched.watch.traffic == (2, len(data) + message.size)
    assert not watched.watch.send(1, bytes(1 << 20), 0.0)
    assert watched.watch.traffic[0] == 2, "what was not taken does not count"


def test_a_failure_is_raised_by_whoever_reads_it(watched: Watched) -> None:
    failure = WorkerError("it broke", worker=1, env=3)
    watched.ends[1].send(5, Kind.FAILED, pickle.dumps(failure))
    with pytest.raises(WorkerError, match="worker 1, env 3: it broke"):
        watched.watch.read([0, 1])
    assert watched.watch.poll(0.0) == ([], set())


def test_a_worker_dies_once_whether_its_stream_ends_or_its_exit_is_told_first(
    watched: Watched,
) -> None:
    watched.ends[0].send(5, Kind.DONE)
    watched.leave(0)
    assert [worker for worker, _ in watched.watch.poll(FAR)[0]] == [0]
    assert watched.watch.poll(FAR) == ([], {0})
    assert watched.watch.alive() == [1, 2]
    watched.nursery.report(w1=-9)
    assert watched.watch.poll(FAR) == ([], {1})
    assert watched.watch.alive() == [2]
    assert [worker.exitcode for worker in watched.watch.workers] == [None, -9, None]
    watched.nursery.report(w0=3)
    assert watched.watch.poll(FAR) == ([], {0})
    assert watched.watch.workers[0].exitcode == 3
    assert watched.watch.poll(0.0) == ([], set())


def test_an_exit_that_is_known_is_told_without_waiting(watched: Watched) -> None:
    watched.nursery.report(w1=4)
    assert watched.watch.await_exit(1) == 4
    assert watched.watch.poll(FAR) == ([], {1})


def test_with_the_nursery_all_workers_are_lost(watched: Watched) -> None:
    watched.nursery.exitcode = -9
    watched.nursery.report(w2=7)
    assert watched.watch.poll(FAR) == ([], {0, 1, 2})
    assert [worker.exitcode for worker in watched.watch.workers] == [-9, -9, 7]
    assert watched.watch.alive() == []
    assert watched.nursery not in watched.watch._selector.get_map()


@pytest.mark.parametrize("exits", [True, False])
def test_an_exit_code_is_waited_for_only_so_long(
    watched: Watched, monkeypatch: pytest.MonkeyPatch, *, exits: bool
) -> None:
    monkeypatch.setattr(watch, "_EXIT_GRACE", 60.0 if exits else 0.05)
    if exits:
        watched.nursery.report(w0=1)
        waits = iter([False, True])
        monkeypatch.setattr(watch, "ready", lambda *_: next(waits, True))
        assert watched.watch.await_exit(2) is None, "nobody has news"
        watched.nursery.report(w2=-15)
    assert watched.watch.await_exit(2) == (-15 if exits else None)


def test_a_worker_is_retired_once_it_is_gone(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "_EXIT_GRACE", 0.01)
    watched.nursery.report(w0=-9)
    watched.watch.poll(FAR)
    assert watched.watch.retire(0)
    assert watched.nursery.killed == []
    assert not watched.watch.retire(1), "it is asked to end and does not"
    assert watched.nursery.killed == [(1, signal.SIGKILL)]
    assert watched.watch.alive() == [1, 2]
    watched.nursery.report(w1=-9)
    assert watched.watch.retire(1)
    assert watched.watch.alive() == [2]
    assert watched.watch.poll(0.0) == ([], set()), "there is no more news of it"


def test_replies_that_are_there_are_read_at_once_and_older_ones_left_out(
    watched: Watched, supervising: Supervisor, monkeypatch: pytest.MonkeyPatch
) -> None:
    naps: list[float] = []
    monkeypatch.setattr(supervisor, "ready", lambda _end, seconds: naps.append(seconds))
    poll = watched.watch.poll
    monkeypatch.setattr(watched.watch, "poll", lambda _until: pytest.fail("nothing is missing"))
    for worker, end in enumerate(watched.ends):
        end.send(4, Kind.DONE, b"older")
        end.send(0, Kind.STRETCH, b"unasked")
        end.send(5, Kind.DONE, bytes([worker]))
    replies, deaths = supervising.gather(5, [0, 1, 2], FAR, survive=True)
    assert (replies, deaths) == ({0: b"\0", 1: b"\1", 2: b"\2"}, [])
    monkeypatch.setattr(watched.watch, "poll", poll)
    kept, died = supervising.poll(FAR)
    assert [(worker, message.body) for worker, message in kept] == [
        (worker, b"unasked") for worker in range(3)
    ]
    assert not died
    watched.ends[0].send(5, Kind.DONE, b"older")
    with pytest.raises(DeadlineError, match="no answer in time from worker 0, worker 2;"):
        supervising.gather(6, [2, 0], 0.0, survive=True)
    assert naps == [supervisor._NAP, 0.0]
    assert supervising._told_late == {0, 2}


def test_a_death_is_raised_or_survived_and_that_of_others_kept(
    watched: Watched, supervising: Supervisor
) -> None:
    for worker in (0, 1):
        watched.leave(worker)
    watched.nursery.report(w0=-9, w1=3)
    watched.ends[2].send(5, Kind.DONE, b"alive")
    replies, deaths = supervising.gather(5, [0, 2], FAR, survive=True)
    assert replies == {2: b"alive"}
    assert [(death.worker, death.exitcode) for death in deaths] == [(0, -9)]
    assert supervising.gather(6, [], FAR, survive=True) == ({}, [])
    supervising._unseen |= {1}
    assert 1 in supervising.poll(FAR)[1]
    with pytest.raises(WorkerError, match="worker 1: exited with status 3"):
        supervising.gather(7, [1], FAR, survive=False)
    watched.nursery.report(w2=-11)
    with pytest.raises(WorkerError, match="worker 2: was killed by SIGSEGV"):
        supervising.gather(8, [2], FAR, survive=False)
    with pytest.raises(WorkerError, match="worker 0: was killed by SIGKILL"):
        supervising.ask(Kind.STEP, {0: b""}, FAR)


def test_a_dead_worker_is_replaced_until_one_lives(
    supervising: Supervisor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        supervising, "_options", ProcessOptions(on_worker_death="restart", restarts=3)
    )
    retired: list[int] = []
    spawned: list[int] = []
    watch = SimpleNamespace(
        retire=lambda worker: retired.append(worker) or len(retired) < 4,
        spawn=lambda worker, until: spawned.append(worker) or time.monotonic() < until,
    )
    monkeypatch.setattr(supervising, "watch", watch)
    monkeypatch.setattr(supervising, "_build", lambda *_: None)
    deaths = [WorkerError(f"death {number}", worker=1, exitcode=-9) for number in range(4)]
    prepared = []

    def prepare(task: WorkerTask, until: float) -> None:
        assert until > time.monotonic(), "it has time to start"
        prepared.append(task)
        if len(prepared) == 1:
            raise deaths[1]

    supervising.assign(supervising._plan, list(supervising.tasks))
    assert supervising.revive(deaths[0], prepare).endswith("after worker 1: death 0")
    assert (supervising.restarts, retired, spawned) == (2, [1, 1], [1, 1])
    seeds = supervising._plan.env_seeds[2:4]
    assert [task.seeds for task in prepared] == [fresh_seeds(seeds, 1), fresh_seeds(seeds, 2)]
    assert supervising.tasks[1] == prepared[1]
    broken = WorkerError("raised", worker=1)
    with pytest.raises(WorkerError, match="raised"):
        supervising.revive(deaths[2], lambda *_: (_ for _ in ()).throw(broken))
    with pytest.raises(WorkerError, match="death 3; 3 dead workers were replaced before"):
        supervising.revive(deaths[3], prepare)
    supervising.assign(supervising._plan, list(supervising.tasks))
    assert supervising.restarts == 0
    with pytest.raises(DeadlineError, match="no answer in time from worker 1;"):
        supervising.revive(deaths[3], prepare)


def test_a_full_connection_makes_a_worker_late(supervising: Supervisor) -> None:
    with pytest.raises(DeadlineError, match="no answer in time from worker 1;"):
        supervising.post(1, bytes(1 << 20), 0.0)


@pytest.fixture
def silent() -> Iterator[Any]:
    """A nursery that never answers, and the other end of its control stream."""
    ours, theirs = socket.socketpair()
    nursery = launch.Nursery.__new__(launch.Nursery)
    nursery._control, nursery._reports = ours, launch.Channel(ours)
    yield nursery
    ours.close()
    theirs.close()


def test_no_wait_for_a_nursery_outlasts_its_deadline(silent: Any) -> None:
    with pytest.raises(DeadlineError, match="not imported within the start deadline"):
        silent._greet(time.monotonic() + 0.01)
    with pytest.raises(DeadlineError, match="worker 0 could not be started in time"):  # noqa: PT012
        for _ in range(100_000):
            silent.spawn(0, (0, 1), time.monotonic() + 0.01)


def test_a_nursery_that_goes_on_is_given_up_at_the_instant(
    silent: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    silent._process, silent.exitcode = SimpleNamespace(poll=lambda: None), None
    monkeypatch.setattr(launch, "monotonic", lambda: 5.0)
    monkeypatch.setattr(launch, "sleep", lambda _: pytest.fail("there is no time left"))
    assert not silent._wait(0.0)
    silent._process = SimpleNamespace(poll=lambda: 3)
    assert silent._wait(0.0)
    assert silent.exitcode == 3


def test_an_exit_code_that_comes_after_the_grace_is_not_looked_for(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "_EXIT_GRACE", 0.0)
    monkeypatch.setattr(watch, "monotonic", lambda: 5.0)
    watched.nursery.report(w2=-15)
    assert watched.watch.await_exit(2) is None


class Clock:
    """Stands still but while a supervisor polls for news, of which there are none."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1000.0
        self.said: list[Any] = []
        monkeypatch.setattr(supervisor, "monotonic", lambda: self.now)
        monkeypatch.setattr(supervisor, "ready", lambda *_: False)

    def poll(self, until: float) -> tuple[list[Any], set[int]]:
        assert len(self.said) < 20, "it polls in a loop"
        self.said.append(until)
        self.now = max(self.now, until)
        return [], set()


def test_a_reply_that_is_not_there_at_its_deadline_is_late(
    supervising: Supervisor, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock(monkeypatch)
    monkeypatch.setattr(supervising.watch, "poll", clock.poll)
    with pytest.raises(DeadlineError, match="from worker 1;"):
        supervising.gather(1, [1], 1007.0, survive=True)
    assert clock.said == [1007.0]


def test_a_close_asks_then_terminates_then_kills(
    supervising: Supervisor, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    clock = Clock(monkeypatch)
    said = clock.said
    nursery = SimpleNamespace(signal=lambda worker, number: said.append((worker, number)))
    fake = SimpleNamespace(
        alive=lambda: [0, 2],
        send=lambda worker, data, until: said.append((worker, data[12], until)),
        poll=clock.poll,
        nursery=nursery,
    )
    monkeypatch.setattr(supervising, "watch", fake)
    supervising.late([0])
    supervising._descend(100.0)
    asked = [(worker, Kind.CLOSE, 0.0) for worker in (0, 2)]
    terminated, killed = (
        [(worker, number) for worker in (0, 2)] for number in (signal.SIGTERM, signal.SIGKILL)
    )
    assert said == [*asked, 1030.0, *terminated, 1050.0, *killed, 1070.0]
    [warning] = caplog.messages
    assert warning.startswith("worker 2 did not end within 30.0 s of being asked to")
