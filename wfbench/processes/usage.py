"""Measure what a process tree uses, and what everybody else does."""

from __future__ import annotations

import ctypes
import os
import re
import resource
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from wfbench.processes.limits import cpu_quota, usable_cores

_LIBC = ctypes.CDLL(None)
_SWITCHES = re.compile(r"voluntary_ctxt_switches:\s*(\d+)")
"""Matches twice in the status of a thread: voluntary ones, then the others."""
_IDLE = {"idle", "iowait", "guest", "guest_nice"}
"""Fields of the system's CPU times that are not work, or are part of another field."""


@dataclass(frozen=True)
class MachineTimes:
    """CPU seconds of the cores this process may run on, whoever used them."""

    busy: float
    idle: float


@dataclass(frozen=True)
class Snapshot:
    """The counters of a process tree and of the machine at one moment."""

    processes: list[psutil.Process]
    cpu: float
    machine: MachineTimes | None
    switches: tuple[int, int] | None
    load: float | None
    at: float
    """Reading of the monotonic clock."""


@dataclass(frozen=True)
class Used:
    """What was used between a snapshot and now."""

    cpu: float
    foreign_cpu: float | None
    """CPU seconds that processes outside the tree took where no idle core was left for them."""
    voluntary_switches: int | None
    involuntary_switches: int | None


def snapshot(processes: list[psutil.Process]) -> Snapshot:
    """Read all counters; the exact one last, so that reading the others is not part of it."""
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    switches = context_switches(processes)
    machine = machine_times()
    at = time.monotonic()
    return Snapshot(processes, cpu_seconds(processes), machine, switches, load, at)


def used_since(before: Snapshot) -> Used:
    """Return what the tree and the others used; the exact counter is read first."""
    cpu = cpu_seconds(before.processes) - before.cpu
    machine = machine_times()
    foreign = None
    if machine is not None and before.machine is not None:
        wall = time.monotonic() - before.at
        foreign = taken(
            busy=machine.busy - before.machine.busy,
            idle=machine.idle - before.machine.idle,
            own=cpu,
            limit=wall * (cpu_quota() or usable_cores()),
        )
    switches = context_switches(before.processes)
    if switches is None or before.switches is None:
        return Used(cpu, foreign, None, None)
    voluntary, involuntary = (
        max(0, now - then) for now, then in zip(switches, before.switches, strict=True)
    )
    return Used(cpu, foreign, voluntary, involuntary)


def tree() -> list[psutil.Process]:
    """Return this process and its descendants."""
    me = psutil.Process()
    return [me, *me.children(recursive=True)]


def cpu_seconds(processes: list[psutil.Process]) -> float:
    """Return the CPU time of processes, ended threads included, as exact as it is counted."""
    others = (_cpu_of(process) for process in processes if process.pid != os.getpid())
    return time.process_time() + sum(others)


def memory_bytes(processes: list[psutil.Process]) -> int:
    """Return the memory of processes; shared pages count once where the system can tell."""
    total = 0
    for process in processes:
        try:
            full = process.memory_full_info()
        except psutil.Error:
            continue
        total += int(getattr(full, "pss", 0) or full.uss)
    return total


def shared_bytes(processes: list[psutil.Process], others: int) -> int:
    """Return the bytes that `memory_bytes` leaves to so many others with the same libraries.

    Of a page that n processes map, each counts one nth. Where others live beside these only for
    the sake of a comparison, n is too large.
    """
    total = 0.0
    for process in processes if others else ():
        with suppress(OSError):
            folder = Path(f"/proc/{process.pid}")
            counted = _kilobytes(folder / "smaps_rollup", "Pss_File")
            whole = _kilobytes(folder / "status", "RssFile")
            if whole > counted > 0:
                total += whole / max(1.0, whole / counted - others) - counted
    return int(1024 * total)


def _kilobytes(file: Path, name: str) -> int:
    found = re.search(rf"^{name}:\s*(\d+)", file.read_text(encoding="ascii"), re.MULTILINE)
    return int(found[1]) if found else 0


def taken(*, busy: float, idle: float, own: float, limit: float) -> float:
    """Return the CPU seconds that others took from a process tree that used `own`.

    In a container the system counts what the whole host does. Work of others for which there was
    an idle core takes nothing from the tree, nor can they take more than it may use (`limit`).
    """
    return min(max(0.0, busy - own - idle), limit)


def machine_times() -> MachineTimes | None:
    """Return the CPU seconds of the cores this process may use, counted in hundredths."""
    try:
        cores = psutil.cpu_times(percpu=True)
    except (OSError, RuntimeError):
        return None
    if hasattr(os, "sched_getaffinity"):
        allowed = os.sched_getaffinity(0)
        cores = [times for core, times in enumerate(cores) if core in allowed] or cores
    counted = [times._asdict() for times in cores]
    busy = sum(v for times in counted for name, v in times.items() if name not in _IDLE)
    idle = sum(times.get(name, 0.0) for times in counted for name in ("idle", "iowait"))
    return MachineTimes(float(busy), float(idle))


def context_switches(processes: list[psutil.Process]) -> tuple[int, int] | None:
    """Return voluntary and involuntary context switches of all threads; None if unknown."""
    own = resource.getrusage(resource.RUSAGE_SELF)
    voluntary, involuntary = own.ru_nvcsw, own.ru_nivcsw
    others = [process.pid for process in processes if process.pid != os.getpid()]
    try:
        for pid in others:
            # Thread by thread: the process table counts only the first thread's.
            for thread in list(Path(f"/proc/{pid}/task").iterdir()):
                found = _SWITCHES.findall((thread / "status").read_text(encoding="utf-8"))
                voluntary += int(found[0])
                involuntary += int(found[1])
    except (OSError, IndexError):
        return None
    return voluntary, involuntary


def _cpu_of(process: psutil.Process) -> float:
    """Return the CPU time of another process.

    Its clock counts nanoseconds, where the process table counts hundredths of a second: with 200
    workers the difference is whole seconds.
    """
    clock = ctypes.c_int()
    with suppress(OSError, psutil.Error):
        known = hasattr(_LIBC, "clock_getcpuclockid")
        if known and _LIBC.clock_getcpuclockid(process.pid, ctypes.byref(clock)) == 0:
            return time.clock_gettime(clock.value)
        times = process.cpu_times()
        return float(times.user + times.system)
    return 0.0
