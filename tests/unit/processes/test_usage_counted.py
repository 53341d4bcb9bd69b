"""What is counted of processes and of the machine, and what others are said to have taken."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

from wfbench.processes import usage
from wfbench.processes.usage import MachineTimes, Snapshot, Used, taken

ME = SimpleNamespace(pid=os.getpid())


@pytest.mark.parametrize(
    ("busy", "idle", "own", "limit", "others"),
    [
        (10.0, 0.0, 4.0, 99.0, 6.0),
        (10.0, 2.0, 4.0, 99.0, 4.0),
        (10.0, 6.0, 4.0, 99.0, 0.0),
        (10.0, 7.0, 4.0, 99.0, 0.0),
        (10.0, 0.5, 4.0, 5.0, 5.0),
    ],
)
def test_what_others_took(
    busy: float, idle: float, own: float, limit: float, others: float
) -> None:
    assert taken(busy=busy, idle=idle, own=own, limit=limit) == others


class Times(SimpleNamespace):
    def _asdict(self) -> dict[str, float]:
        return vars(self)


CORES = [
    Times(user=1.0, system=2.0, idle=10.0, iowait=20.0, guest=400.0, guest_nice=800.0),
    Times(user=100.0, system=200.0, idle=1000.0, iowait=2000.0, guest=0.0, guest_nice=0.0),
    Times(user=0.5, idle=0.25),
]


@pytest.mark.parametrize(
    ("allowed", "busy", "idle"),
    [({0}, 3.0, 30.0), ({0, 2}, 3.5, 30.25), ({1}, 300.0, 3000.0), ({7}, 303.5, 3030.25)],
)
def test_only_cores_that_may_be_used_are_counted(
    allowed: set[int], busy: float, idle: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []

    def cpu_times(*, percpu: bool) -> list[Times] | Times:
        return CORES if percpu else CORES[0]

    def affinity(pid: int) -> set[int]:
        asked.append(pid)
        return allowed

    monkeypatch.setattr(psutil, "cpu_times", cpu_times)
    monkeypatch.setattr(os, "sched_getaffinity", affinity, raising=False)
    assert usage.machine_times() == MachineTimes(busy, idle)
    assert asked == [0]


@pytest.mark.parametrize("error", [OSError, RuntimeError])
def test_a_machine_that_does_not_tell_is_unknown(
    error: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    def cpu_times(**_: Any) -> None:
        raise error

    monkeypatch.setattr(psutil, "cpu_times", cpu_times)
    assert usage.machine_times() is None


@pytest.fixture
def counters(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What each counter says."""
    said: dict[str, Any] = {
        "cpu_seconds": 7.0,
        "machine_times": MachineTimes(110.0, 203.0),
        "context_switches": (15, 9),
        "cpu_quota": None,
        "usable_cores": 4,
        "monotonic": 1000.0,
        "load": (0.5, 1.5, 2.5),
    }

    def reading(name: str) -> Callable[..., Any]:
        return lambda *_: said[name]

    for name in ("cpu_seconds", "machine_times", "context_switches", "cpu_quota", "usable_cores"):
        monkeypatch.setattr(usage, name, reading(name))
    monkeypatch.setattr(usage, "time", SimpleNamespace(monotonic=reading("monotonic")))
    monkeypatch.setattr(os, "getloadavg", reading("load"), raising=False)
    return said


def before(**changed: Any) -> Snapshot:
    values = {
        "processes": [],
        "cpu": 5.0,
        "machine": MachineTimes(100.0, 200.0),
        "switches": (10, 10),
        "load": None,
        "at": 998.0,
    }
    return Snapshot(**{**values, **changed})


def test_a_snapshot_has_every_counter(counters: dict[str, Any]) -> None:
    assert usage.snapshot([]) == Snapshot([], 7.0, counters["machine_times"], (15, 9), 0.5, 1000.0)


def test_what_was_used_is_the_difference(counters: dict[str, Any]) -> None:
    assert usage.used_since(before()) == Used(2.0, 5.0, 5, 0)
    counters["context_switches"] = (10, 11)
    assert usage.used_since(before()) == Used(2.0, 5.0, 0, 1)


@pytest.mark.parametrize(("quota", "others"), [(None, 8.0), (1.5, 3.0), (0.25, 0.5)])
def test_others_can_take_no_more_than_the_tree_may_use(
    quota: float | None, others: float, counters: dict[str, Any]
) -> None:
    counters["machine_times"] = MachineTimes(900.0, 200.0)
    counters["cpu_quota"] = quota
    assert usage.used_since(before()).foreign_cpu == others


@pytest.mark.parametrize("now", [None, (15, 9)])
@pytest.mark.parametrize("then", [None, (10, 10)])
def test_switches_that_are_unknown_at_one_end_are_unknown(
    now: Any, then: Any, counters: dict[str, Any]
) -> None:
    counters["context_switches"] = now
    used = usage.used_since(before(switches=then))
    known = (5, 0) if now and then else (None, None)
    assert (used.voluntary_switches, used.involuntary_switches) == known
    assert (used.cpu, used.foreign_cpu) == (2.0, 5.0)


@pytest.mark.parametrize("now", [None, MachineTimes(110.0, 203.0)])
@pytest.mark.parametrize("then", [None, MachineTimes(100.0, 200.0)])
def test_others_are_unknown_where_the_machine_is_at_one_end(
    now: Any, then: Any, counters: dict[str, Any]
) -> None:
    counters["machine_times"] = now
    used = usage.used_since(before(machine=then))
    assert used == Used(2.0, 5.0 if now and then else None, 5, 0)


class Process(SimpleNamespace):
    """Another process: what it says of itself."""

    def cpu_times(self) -> Any:
        return self.times

    def memory_full_info(self) -> Any:
        if self.memory is None:
            raise psutil.NoSuchProcess(self.pid)
        return SimpleNamespace(**self.memory)


def test_cpu_time_of_a_tree_counts_this_process_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(usage, "_LIBC", SimpleNamespace())
    monkeypatch.setattr(time, "process_time", lambda: 1.0)
    times = SimpleNamespace(user=10.0, system=20.0)
    others = [Process(pid=-1, times=times), Process(pid=-2, times=times)]
    assert usage.cpu_seconds([]) == 1.0
    assert usage.cpu_seconds([ME, *others]) == 61.0  # type: ignore[list-item]


@pytest.mark.parametrize(("failed", "seconds"), [(0, 123.5), (3, 30.0)])
def test_the_clock_of_a_process_is_read_where_it_has_one(
    failed: int, seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []

    def clock_of(pid: int, _: Any) -> int:
        asked.append(pid)
        return failed

    monkeypatch.setattr(usage, "_LIBC", SimpleNamespace(clock_getcpuclockid=clock_of))
    monkeypatch.setattr(time, "clock_gettime", lambda _: 123.5)
    monkeypatch.setattr(time, "process_time", lambda: 0.0)
    process = Process(pid=-5, times=SimpleNamespace(user=10.0, system=20.0))
    assert usage.cpu_seconds([process]) == seconds  # type: ignore[list-item]
    assert asked == [-5]


def test_a_process_that_is_gone_used_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    class Gone(Process):
        def cpu_times(self) -> Any:
            raise psutil.NoSuchProcess(self.pid)

    monkeypatch.setattr(usage, "_LIBC", SimpleNamespace())
    monkeypatch.setattr(time, "process_time", lambda: 1.0)
    assert usage.cpu_seconds([Gone(pid=-1)]) == 1.0  # type: ignore[list-item]


def test_memory_is_shared_out_where_the_system_can_tell() -> None:
    told = [{"pss": 100, "uss": 7}, {"pss": 0, "uss": 20}, {"uss": 3}, None]
    processes = [Process(pid=-n, memory=memory) for n, memory in enumerate(told)]
    assert usage.memory_bytes(processes) == 123  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("whole", "counted", "others", "given_back"),
    [
        (1000, 500, 1, 500),
        (1000, 250, 1, 1000 / 3 - 250),
        (1000, 250, 3, 750),
        (1000, 250, 9, 750),
        (1000, 1000, 1, 0),
        (1000, 0, 1, 0),
        (400, 500, 1, 0),
        (1000, 500, 0, 0),
        (1000, None, 1, 0),
    ],
)
def test_pages_that_others_map_are_given_back(
    whole: int,
    counted: int | None,
    others: int,
    given_back: float,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for pid in (11, 12):
        (tmp_path / str(pid)).mkdir()
        (tmp_path / f"{pid}/status").write_text(f"VmRSS:\t 9 kB\nRssFile:\t  {whole} kB\n")
        text = "Rss: 8 kB\n" + ("" if counted is None else f"Pss_File:     {counted} kB\n")
        (tmp_path / f"{pid}/smaps_rollup").write_text(text)
    monkeypatch.setattr(usage, "Path", lambda path: tmp_path / path.removeprefix("/proc/"))
    processes: Any = [SimpleNamespace(pid=pid) for pid in (11, 12, 13)]
    assert usage.shared_bytes(processes, others) == int(2 * 1024 * given_back)


def test_switches_of_all_threads_of_other_processes_are_added(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for thread, (voluntary, involuntary) in enumerate([(10, 1), (200, 30)]):
        folder = tmp_path / f"77/task/{thread}"
        folder.mkdir(parents=True)
        text = (
            f"voluntary_ctxt_switches:\t{voluntary}\nnonvoluntary_ctxt_switches:\t{involuntary}\n"
        )
        folder.joinpath("status").write_text(f"Name:\tx\n{text}")
    own = SimpleNamespace(ru_nvcsw=4000, ru_nivcsw=500)
    monkeypatch.setattr(usage.resource, "getrusage", lambda _: own)
    monkeypatch.setattr(usage, "Path", lambda path: tmp_path / path.removeprefix("/proc/"))
    other: Any = SimpleNamespace(pid=77)
    gone: Any = SimpleNamespace(pid=78)
    me: Any = ME
    assert usage.context_switches([me]) == (4000, 500)
    assert usage.context_switches([me, other]) == (4210, 531)
    assert usage.context_switches([other, gone]) is None
    folder.joinpath("status").write_text("Name:\tx\n")
    assert usage.context_switches([other]) is None


def test_a_tree_has_this_process_first_and_all_below_it(monkeypatch: pytest.MonkeyPatch) -> None:
    below = [SimpleNamespace(pid=2), SimpleNamespace(pid=3)]

    class Me:
        def children(self, *, recursive: bool) -> list[Any]:
            return below if recursive else below[:1]

    monkeypatch.setattr(psutil, "Process", Me)
    me, *others = usage.tree()
    assert isinstance(me, Me)
    assert others == below
