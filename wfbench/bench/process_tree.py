"""What a process and all its descendants use."""

from __future__ import annotations

import ctypes
import ctypes.util
import os
import time

import psutil


def tree() -> list[psutil.Process]:
    """This process and its descendants."""
    me = psutil.Process()
    return [me, *me.children(recursive=True)]


def cpu_seconds(processes: list[psutil.Process]) -> float:
    """CPU time of processes, ended threads included, as exact as the system counts it."""
    total = time.process_time()
    for process in processes:
        if process.pid != os.getpid():
            total += _cpu_of(process)
    return total


def memory_bytes(processes: list[psutil.Process]) -> int:
    """Memory of processes; pages they share are counted once where the system can tell."""
    total = 0
    for process in processes:
        try:
            full = process.memory_full_info()
        except psutil.Error:
            continue
        total += int(getattr(full, "pss", 0) or full.uss)
    return total


def _cpu_of(process: psutil.Process) -> float:
    clock = _clock(process.pid)
    if clock is not None:
        try:
            return time.clock_gettime(clock)
        except OSError:
            return 0.0
    try:
        times = process.cpu_times()
    except psutil.Error:
        return 0.0
    return float(times.user + times.system)


def _clock(pid: int) -> int | None:
    """The CPU-time clock of another process.

    It counts nanoseconds, where the process table counts hundredths of a second: with 200 workers
    the difference is whole seconds.
    """
    if _LIBC is None:
        return None
    number = ctypes.c_int()
    return number.value if _LIBC.clock_getcpuclockid(pid, ctypes.byref(number)) == 0 else None


def _load_libc() -> ctypes.CDLL | None:
    try:
        library = ctypes.CDLL(None)
    except (OSError, TypeError):
        return None
    return library if hasattr(library, "clock_getcpuclockid") else None


_LIBC = _load_libc()
