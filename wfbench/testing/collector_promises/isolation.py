"""Promises about the rest of the machine: what a collector changes, outlives or leaves there."""

from __future__ import annotations

import gc
import logging
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from logging.handlers import BufferingHandler
from pathlib import Path
from reprlib import repr as shortly

import numpy as np

from wfbench.contract import EnvRef, WfbenchError, load_object
from wfbench.policies import NetworkPolicy
from wfbench.processes import usage
from wfbench.processes.children import Child, exit_code
from wfbench.processes.limits import BLAS_VARIABLES
from wfbench.testing.harness import footprint
from wfbench.testing.harness.subject import COLLECTOR, POLICY, STEPS, CollectorUnderTest
from wfbench.testing.harness.watched_envs import FEATURES, unclosed
from wfbench.testing.promise import BrokenPromiseError, DoesNotApply, expect

_CYCLES = 8
_GROWTH = 16 << 20
"""Bytes that ten thousand episodes may add: the allocator's habits, not a leak."""
_GONE_WITHIN = 10.0
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD, signal.SIGALRM)


@COLLECTOR.add(
    "Nothing global is changed: signal handlers, environment, random generators and the like",
    fresh=True,
)
def _nothing_global(subject: CollectorUnderTest) -> None:
    # What importing it changes is its libraries' doing.
    load_object(subject.spec.factory)
    # A state nobody can have seeded before, so that seeding it once more shows.
    random.seed()
    np.random.set_state(np.random.RandomState().get_state())  # noqa: NPY002 (watched, not used)
    before = _globals()
    with subject.opened() as collector:
        _expect_unchanged(before, "open")
        collector.collect(POLICY, STEPS)
        _expect_unchanged(before, "collect")
    _expect_unchanged(before, "close")


def _expect_unchanged(before: dict[str, object], call: str) -> None:
    for (name, was), now in zip(before.items(), _globals().values(), strict=True):
        expect(now == was, f"{call} changed the {name}: {shortly(was)} became {shortly(now)}")


def _globals() -> dict[str, object]:
    state = np.random.get_state(legacy=False)["state"]  # noqa: NPY002 (watched, not used)
    [default, *_] = multiprocessing.get_all_start_methods()
    return {
        "start method": multiprocessing.get_start_method(allow_none=True) or default,
        "signal handlers": tuple(signal.getsignal(number) for number in _SIGNALS),
        "environment": dict(os.environ),
        "working directory": Path.cwd(),
        "search path of modules": tuple(sys.path),
        "hooks for exceptions": (sys.excepthook, threading.excepthook),
        "handlers of the root logger": tuple(logging.root.handlers),
        "levels of logging": (logging.root.level, logging.root.manager.disable),
        "garbage collection": (gc.isenabled(), gc.get_threshold()),
        "limits of the interpreter": (sys.getswitchinterval(), sys.getrecursionlimit()),
        "cores and priority": (os.sched_getaffinity(0), os.getpriority(os.PRIO_PROCESS, 0)),
        "mask of new files": _umask(),
        "errors that numpy ignores": np.geterr(),
        "state of numpy's global generator": (state["key"].tobytes(), state["pos"]),
        "state of Python's global generator": random.getstate(),
    }


def _umask() -> int:
    mask = os.umask(0o77)
    os.umask(mask)
    return mask


@COLLECTOR.add("Nothing is printed on standard output")
def _silent(subject: CollectorUnderTest) -> None:
    with tempfile.TemporaryFile() as sink:
        sys.stdout.flush()
        before = os.dup(1)
        os.dup2(sink.fileno(), 1)
        try:
            subject.collect(subject.plan())
        finally:
            sys.stdout.flush()
            os.dup2(before, 1)
            os.close(before)
        sink.seek(0)
        printed = sink.read().decode(errors="replace").strip()
    expect(not printed, f"it printed {shortly(printed)}")


@COLLECTOR.add("A worker uses one thread and never loads torch", needs=("workers",))
def _modest_workers(subject: CollectorUnderTest) -> None:
    if subject.batched_only:
        raise DoesNotApply("the probe is a scalar environment")
    plan = subject.plan(EnvRef("probe", "wfbench.testing.harness.watched_envs:ProbeEnv"))
    policy = NetworkPolicy.initial(len(FEATURES), 2, 0, hidden=(4,))
    rows = subject.collect(plan, policy, (3,))[0].obs.reshape(-1, len(FEATURES))
    elsewhere = rows[rows[:, 0] != os.getpid()]
    expect(len(elsewhere), "no environment runs in another process")
    expect(not elsewhere[:, 1].any(), "torch is loaded in a worker")
    for offset, name in enumerate(BLAS_VARIABLES, start=2):
        values = set(elsewhere[:, offset].tolist())
        expect(values == {1.0}, f"{name} is {values} in a worker, not 1")


@contextmanager
def _collecting(
    subject: CollectorUnderTest, step_seconds: float
) -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
    """Yield another process that collects with the subject, and the file of its errors."""
    plan = subject.plan(subject.env(step=step_seconds, busy=False))
    with tempfile.NamedTemporaryFile() as sink:
        errors = Path(sink.name)
        child = Child("wfbench.testing.harness.collecting_child", {}, stderr=sink.file)
        try:
            try:
                child.channel.send((subject.ref, plan), 40)
                child.channel.recv(40)
            except TimeoutError:
                raise BrokenPromiseError("it did not collect anything within 40 s") from None
            except (EOFError, OSError):
                raise BrokenPromiseError(f"it ended early: {errors.read_text()[-300:]}") from None
            yield child.process, errors
        finally:
            child.end()


@COLLECTOR.add(
    "After SIGKILL of the parent no worker lives on and the next run finds shared memory clean",
    needs=("workers",),
    limit=100.0,
)
def _parent_killed(subject: CollectorUnderTest) -> None:
    for step_seconds in (0.0, 5.0):
        with _collecting(subject, step_seconds) as (process, _):
            family = footprint.tree(process.pid)
            workers = family - {process.pid}
            used = footprint.segments(family)
            process.kill()
            exit_code(process, wait=True)
            gone = footprint.wait_for(lambda: not footprint.living(workers), _GONE_WITHIN)  # noqa: B023 (called at once)
            was = f"workers that were {'in a step' if step_seconds else 'idle'}"
            when = f"{_GONE_WITHIN:g} s after their parent was killed"
            expect(gone, f"{was} live on {when}: {sorted(footprint.living(workers))}")
        subject.collect(subject.plan())
        stay = sorted(path for path in used if Path(path).exists())
        expect(not stay, f"shared memory outlives its dead owner and the next run: {stay}")


@COLLECTOR.add("Ctrl-C ends everything, without noise from workers")
def _interrupted(subject: CollectorUnderTest) -> None:
    if subject.batched_only:
        raise DoesNotApply("a batched environment has no slow steps")
    with _collecting(subject, 0.001) as (process, errors):
        workers = footprint.tree(process.pid) - {process.pid}
        started = time.monotonic()
        os.killpg(process.pid, signal.SIGINT)
        ended = footprint.wait_for(lambda: exit_code(process) is not None, 15)
        expect(ended, "the program is still there 15 s after Ctrl-C")
        gone = footprint.wait_for(lambda: not footprint.living(workers), _GONE_WITHIN)
        expect(gone, f"workers are still there {time.monotonic() - started:.0f} s after Ctrl-C")
        noise = errors.read_text(errors="replace")
        quiet = "Traceback" not in noise
        expect(quiet, f"a worker printed a traceback: ...{noise[-300:].strip()!r}")


@contextmanager
def _temporary_files_in(folder: Path) -> Iterator[None]:
    before, tempfile.tempdir = tempfile.tempdir, str(folder)
    try:
        yield
    finally:
        tempfile.tempdir = before


@COLLECTOR.add("Close leaves no process, no thread, no descriptor, no file and no shared memory")
def _clean_close(subject: CollectorUnderTest) -> None:
    with _temporary_files_in(subject.scratch):
        _cycle(subject)
        before, files = footprint.descriptors(), set(subject.scratch.iterdir())
        for _ in range(_CYCLES):
            _cycle(subject)
    left = sorted(path.name for path in set(subject.scratch.iterdir()) - files)
    expect(not left, f"{_CYCLES} cycles left {len(left)} temporary files: {', '.join(left[:3])}")
    after = footprint.descriptors()
    expect(after <= before, f"{_CYCLES} cycles left {after - before} descriptors open")
    footprint.wait_for(lambda: threading.active_count() == 1, 2.0)
    left = [thread.name for thread in threading.enumerate() if thread != threading.main_thread()]
    expect(not left, f"{len(left)} threads outlive close: {', '.join(left[:3])}")


@COLLECTOR.add("Close closes every environment, also where one of them fails to")
def _closed_environments(subject: CollectorUnderTest) -> None:
    for batched in (True, False):
        subject.collect(subject.noting_plan(batched=batched))
        made, left = unclosed(subject.scratch)
        expect(made, "no environment was made")
        expect(not left, f"{left} of {made} environments were never closed")


@COLLECTOR.add("A worker that had to be killed at close is reported", needs=("workers",))
def _reported_kill(subject: CollectorUnderTest) -> None:
    fault, heard = subject.faulty("close-hang"), BufferingHandler(sys.maxsize)
    heard.setLevel(logging.WARNING)
    logging.getLogger().addHandler(heard)
    try:
        with subject.closed_in_time("with an environment that hangs in it") as collector:
            collector.open(fault.plan)
            collector.collect(POLICY, STEPS)
    finally:
        logging.getLogger().removeHandler(heard)
    fault.happened()
    expect(heard.buffer, "a worker whose environment hung in close was ended without a warning")


def _cycle(subject: CollectorUnderTest) -> None:
    with subject.closed_in_time("after collect") as collector:
        collector.open(subject.plan())
        collector.collect(POLICY, STEPS)
        used = footprint.segments(footprint.tree())
    _expect_gone(used, "close")


def _expect_gone(used: set[str], what: str) -> None:
    footprint.wait_for(lambda: not footprint.children(), 2.0)
    left = footprint.children()
    expect(not left, f"processes that outlive {what}: {sorted(left)}")
    stay = sorted(path for path in used if Path(path).exists())
    expect(not stay, f"shared memory that outlives {what}: {', '.join(stay)}")


@COLLECTOR.add("A failed open leaves no process, no descriptor and no shared memory")
def _clean_failed_open(subject: CollectorUnderTest) -> None:
    plan = subject.faulty("ctor-raise").plan
    before = 0
    for number in range(3):
        with subject.closed_in_time("after a failed open") as collector, suppress(WfbenchError):
            collector.open(plan)
        _expect_gone(footprint.segments(footprint.tree()), "a failed open")
        if number == 0:
            before = footprint.descriptors()
    after = footprint.descriptors()
    expect(after <= before, f"two failed opens left {after - before} descriptors open")


@COLLECTOR.add("Ten thousand episodes take no more memory than a few", limit=100.0)
def _flat_memory(subject: CollectorUnderTest) -> None:
    large = subject.env(episode_length=1, obs_size=2000)
    with subject.opened(subject.plan(large)) as collector:
        for _ in range(5):
            collector.collect(POLICY, 200)
        before = usage.memory_bytes(usage.tree())
        for _ in range(10):
            collector.collect(POLICY, 200)
        grown = usage.memory_bytes(usage.tree()) - before
    expect(grown <= _GROWTH, f"memory grew by {grown / 2**20:.0f} MiB over 10,000 episodes")
