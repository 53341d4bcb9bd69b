"""Promises about everything else in the machine: the process, its workers, its parent."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from wfbench.contract import EnvRef
from wfbench.isolated import end_session, ended, python_command, python_environment
from wfbench.policies import NetworkPolicy
from wfbench.testing import traces
from wfbench.testing.ground import Ground
from wfbench.testing.probe import FEATURES, THREAD_VARIABLES
from wfbench.testing.verdict import BrokenPromiseError, DoesNotApply, expect
from wfbench.testing.victim import Victim

from .catalogue import COLLECTOR

GONE_WITHIN = 10.0
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD, signal.SIGALRM)


@COLLECTOR.promise()
def nothing_global(ground: Ground) -> None:
    """Nothing global is changed: start method, signal handlers, environment."""
    before = _globals()
    ground.collect(ground.plan())
    for (name, was), now in zip(before.items(), _globals().values(), strict=True):
        expect(now == was, f"the {name} changed: {_short(was)} became {_short(now)}")


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def _globals() -> dict[str, object]:
    return {
        "start method": multiprocessing.get_start_method(allow_none=True),
        "signal handlers": tuple(signal.getsignal(number) for number in _SIGNALS),
        "environment": dict(os.environ),
        "working directory": Path.cwd(),
        "state of numpy's global generator": _numpy_state(),
    }


def _numpy_state() -> bytes:
    state = np.random.get_state(legacy=False)  # noqa: NPY002 (watched, not used)
    key: bytes = state["state"]["key"].tobytes()
    return key


@COLLECTOR.promise(needs=("workers",))
def modest_workers(ground: Ground) -> None:
    """A worker uses one thread and never loads torch."""
    if "batched-only" in ground.spec.capabilities:
        raise DoesNotApply("the probe is a scalar environment")
    plan = ground.plan(EnvRef("probe", "wfbench.testing.probe:ProbeEnv"))
    policy = NetworkPolicy.initial(len(FEATURES), 2, 0, hidden=(4,))
    rows = ground.collect(plan, policy, (3,))[0].obs.reshape(-1, len(FEATURES))
    elsewhere = rows[rows[:, 0] != os.getpid()]
    expect(len(elsewhere), "no environment runs in another process")
    expect(not elsewhere[:, 1].any(), "torch is loaded in a worker")
    for offset, name in enumerate(THREAD_VARIABLES, start=2):
        values = set(elsewhere[:, offset].tolist())
        expect(values == {1.0}, f"{name} is {values} in a worker, not 1")


@contextmanager
def _victim(ground: Ground, step_seconds: float) -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
    """Another process that collects with the subject until it is stopped from outside."""
    plan = ground.plan(ground.env(step=step_seconds, busy=False))
    with tempfile.TemporaryDirectory() as folder:
        ready, errors = Path(folder) / "ready", Path(folder) / "stderr"
        request = Path(folder) / "request"
        Victim(ground.spec, dict(ground.options), plan, ready).write(request)
        with errors.open("wb") as sink:
            process = subprocess.Popen(  # noqa: S603 (our own code)
                python_command("wfbench.testing.victim", str(request)),
                stderr=sink,
                start_new_session=True,
                env=python_environment(),
            )
            try:
                if not traces.wait_for(lambda: ready.exists() or ended(process) is not None, 40):
                    raise BrokenPromiseError("it did not collect anything within 40 s")
                expect(ended(process) is None, f"it ended early: {errors.read_text()[-300:]}")
                yield process, errors
            finally:
                end_session(process.pid)
                process.wait()


@COLLECTOR.promise(needs=("workers",), limit=100.0)
def parent_killed(ground: Ground) -> None:
    """After SIGKILL of the parent no worker lives on and the next run finds shared memory clean."""
    for step_seconds in (0.0, 5.0):
        with _victim(ground, step_seconds) as (process, _):
            family = traces.family(process.pid)
            workers = family - {process.pid}
            used = traces.segments(family)
            process.kill()
            ended(process, wait=True)
            gone = traces.wait_for(lambda: not traces.alive(workers), GONE_WITHIN)  # noqa: B023 (called at once)
            state = "in a step" if step_seconds else "idle"
            expect(
                gone,
                f"workers that were {state} live on {GONE_WITHIN:g} s after their parent was "
                f"killed: {traces.alive(workers)}",
            )
        ground.collect(ground.plan())
        stay = sorted(path for path in used if Path(path).exists())
        expect(not stay, f"shared memory outlives its dead owner and the next run: {stay}")


@COLLECTOR.promise(needs=("workers",))
def interrupted(ground: Ground) -> None:
    """Ctrl-C ends everything without noise from workers."""
    with _victim(ground, 0.001) as (process, errors):
        workers = traces.family(process.pid) - {process.pid}
        started = time.monotonic()
        os.killpg(process.pid, signal.SIGINT)
        expect(
            traces.wait_for(lambda: ended(process) is not None, 15),
            "the program is still there 15 s after Ctrl-C",
        )
        gone = traces.wait_for(lambda: not traces.alive(workers), GONE_WITHIN)
        expect(gone, f"workers are still there {time.monotonic() - started:.0f} s after Ctrl-C")
        noise = errors.read_text(errors="replace")
        expect(
            "Traceback" not in noise, f"a worker printed a traceback: ...{noise[-300:].strip()!r}"
        )
