"""What the promises about the rest of the machine say of collectors that break them."""

from __future__ import annotations

import logging
import multiprocessing
import os
import random
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from simulated_collector import Good

from wfbench.contract import EnvInfo, Plan, Policy, Rollout
from wfbench.processes.segments import segment_dir
from wfbench.testing.collector_promises import isolation

WORKERS = ("deterministic", "workers")


@pytest.fixture
def threads(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The threads that the promises see; pytest may have some of its own."""
    seen = [threading.main_thread()]
    stub = SimpleNamespace(
        active_count=lambda: len(seen),
        enumerate=lambda: seen,
        main_thread=threading.main_thread,
    )
    monkeypatch.setattr(isolation, "threading", stub)
    return seen


def test_the_start_method_stays_unset(judge: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(multiprocessing.get_context(None), "_actual_context", None, raising=False)
    context: Any = multiprocessing.context._default_context  # type: ignore[attr-defined]
    monkeypatch.setattr(context, "_actual_context", None)
    assert judge(Good, "nothing-global").kept is True
    assert multiprocessing.get_start_method(allow_none=True) is None


@pytest.fixture
def restored() -> Iterator[None]:
    """Put back what the collectors of a test change."""
    kept = random.getstate(), np.random.get_state(), Path.cwd()  # noqa: NPY002 (as found)
    handlers = {number: signal.getsignal(number) for number in isolation._SIGNALS}
    yield
    random.setstate(kept[0])
    np.random.set_state(kept[1])  # noqa: NPY002 (as above)
    os.chdir(kept[2])
    os.environ.pop("WFBENCH_TEST_ODD", None)
    for number, handler in handlers.items():
        signal.signal(number, handler)


@pytest.mark.usefixtures("restored")
@pytest.mark.parametrize("call", ["open", "collect", "close"])
@pytest.mark.parametrize(
    ("change", "name"),
    [
        (lambda: signal.signal(signal.SIGALRM, signal.SIG_IGN), "signal handlers"),
        (lambda: os.environ.update(WFBENCH_TEST_ODD="1"), "environment"),
        (lambda: os.chdir("/"), "working directory"),
        (np.random.random, "state of numpy's global generator"),
        (lambda: np.random.seed(3), "state of numpy's global generator"),  # noqa: NPY002
        (random.random, "state of Python's global generator"),
    ],
)
def test_the_call_that_changes_something_global_is_named(
    call: str, change: Callable[[], Any], name: str, judge: Any
) -> None:
    def changed(self: Any, *given: Any) -> Any:
        found = getattr(super(broken, self), call)(*given)
        change()
        return found

    broken = type("Broken", (Good,), {call: changed})
    assert judge(broken, "nothing-global").detail.startswith(f"{call} changed the {name}: ")


PROBE = [[1, 0, 1, 1, 1], [2, 0, 1, 1, 1]]


@pytest.mark.parametrize(
    ("rows", "detail"),
    [
        (PROBE, ""),
        ([[os.getpid(), 1, 4, 4, 4], *PROBE], ""),
        ([[os.getpid(), 0, 1, 1, 1]], "no environment runs in another process"),
        ([*PROBE, [2, 1, 1, 1, 1]], "torch is loaded in a worker"),
        ([*PROBE, [2, 0, 2, 1, 1]], "OMP_NUM_THREADS is {1.0, 2.0} in a worker, not 1"),
        ([[2, 0, 1, -1, 1]], "OPENBLAS_NUM_THREADS is {-1.0} in a worker, not 1"),
        ([*PROBE, [2, 0, 1, 1, 3]], "MKL_NUM_THREADS is {1.0, 3.0} in a worker, not 1"),
    ],
)
def test_workers_are_asked_for_their_threads(
    rows: list[list[int]], detail: str, judge: Any
) -> None:
    class Probed(Good):
        def deliver(self, policy: Policy, steps: int) -> Rollout:
            rollout = super().deliver(policy, steps)
            return replace(rollout, obs=np.array([rows], dtype=np.float64))

    Good.log.clear()
    found = judge(Probed, "modest-workers", *WORKERS)
    assert (found.kept, found.detail) == (not detail, detail)
    assert Good.log[1].startswith("open 5 x probe (scalar), seed ")
    assert Good.log[2] == "collect 3 by NetworkPolicy 0 [5.119, 1.845]"


class Played:
    """A child process that sleeps instead of collecting, and a channel that says so."""

    script = "exec sleep 100"
    fails: BaseException | None = None
    noise = b""
    seen: list[Any]

    def __init__(self, module: str, variables: Any, *, stderr: Any) -> None:
        assert (module, variables) == ("wfbench.testing.harness.collecting_child", {})
        stderr.write(self.noise)
        stderr.flush()
        self.process = subprocess.Popen(
            ["/bin/sh", "-c", self.script],
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        assert self.process.stdout is not None
        if "echo" in self.script:
            self.process.stdout.readline()
        self.channel = self

    def send(self, message: Any, seconds: float) -> None:
        _, plan = message
        self.seen.append((plan.env.options["step"], plan.env.options["busy"], seconds))

    def recv(self, seconds: float) -> None:
        self.seen.append(seconds)
        if self.fails is not None:
            raise self.fails

    def end(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[Any]]:
    def play(**changed: Any) -> list[Any]:
        seen: list[Any] = []
        child = type("Child", (Played,), {**changed, "seen": seen})
        monkeypatch.setattr(isolation, "Child", child)
        return seen

    return play


WORKER = "trap '' INT; sleep 100 & echo; wait"


def test_workers_must_not_outlive_their_parent(judge: Any, played: Any, clock: Any) -> None:
    seen = played()
    assert judge(Good, "parent-killed", *WORKERS).kept is True
    assert seen == [(0.0, False, 40), 40, (5.0, False, 40), 40]
    played(script=WORKER)
    found = judge(Good, "parent-killed", *WORKERS)
    said = "workers that were idle live on 10 s after their parent was killed: ["
    assert found.detail.startswith(said)
    assert sum(clock.slept) >= 10


def test_workers_in_a_step_must_not_outlive_their_parent(
    judge: Any, played: Any, clock: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    del clock
    played()
    good = isolation.Child
    seen: list[Any] = []
    bad = type("Bad", (Played,), {"script": WORKER, "seen": seen})
    children = iter([good, bad])
    monkeypatch.setattr(isolation, "Child", lambda *given, **named: next(children)(*given, **named))  # noqa: PLW0108 (one per call)
    found = judge(Good, "parent-killed", *WORKERS)
    said = "workers that were in a step live on 10 s after their parent was killed: ["
    assert found.detail.startswith(said)


def test_shared_memory_must_not_outlive_parent_and_next_run(judge: Any, played: Any) -> None:
    left = segment_dir() / f"kitleft_{os.getpid()}"
    played(script=f"exec 9>{left}; echo; exec sleep 100")
    try:
        found = judge(Good, "parent-killed", *WORKERS)
        assert found.detail == f"shared memory outlives its dead owner and the next run: ['{left}']"
    finally:
        left.unlink()


@pytest.mark.parametrize(
    ("changed", "detail"),
    [
        ({}, ""),
        ({"script": WORKER}, "the program is still there 15 s after Ctrl-C"),
        ({"noise": b"Traceback of worker 3\n"}, "a worker printed a traceback: ...'Traceback of "),
        ({"fails": TimeoutError()}, "it did not collect anything within 40 s"),
        ({"fails": EOFError(), "noise": b"no luck"}, "it ended early: no luck"),
        ({"fails": OSError(), "noise": 299 * b"x" + b"yz"}, f"it ended early: {298 * 'x'}yz"),
    ],
)
def test_what_ctrl_c_leaves_is_told(
    changed: dict[str, Any], detail: str, judge: Any, played: Any, clock: Any
) -> None:
    if "script" not in changed:
        # The real time: a process needs some of it to end.
        clock.sleep = lambda seconds: (threading.Event().wait(seconds), clock.slept.append(0.0))
    seen = played(**changed)
    found = judge(Good, "interrupted", *WORKERS)
    assert (found.kept, found.detail[: len(detail)]) == (not detail, detail)
    assert seen[0] == (0.001, False, 40)
    if "noise" in changed and "fails" in changed:
        assert found.detail == detail


def test_noise_is_cut_to_its_end(judge: Any, played: Any) -> None:
    played(noise=b"Traceback" + 300 * b"z")
    found = judge(Good, "interrupted", *WORKERS)
    assert found.detail == f"a worker printed a traceback: ...'{300 * 'z'}'"


def test_workers_that_outlive_ctrl_c_are_told(
    judge: Any, played: Any, clock: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    played(script="setsid sh -c \"trap '' INT; echo; exec sleep 100\" & wait")
    waits = []

    def wait_for(condition: Callable[[], bool], seconds: float) -> bool:
        waits.append(seconds)
        if len(waits) > 1:
            clock.now += 10
            return condition()
        while not condition():
            threading.Event().wait(0.005)
        return True

    monkeypatch.setattr(isolation.footprint, "wait_for", wait_for)
    found = judge(Good, "interrupted", *WORKERS)
    assert found.detail == "workers are still there 10 s after Ctrl-C"
    assert waits == [15, 10.0]


def test_the_descriptors_of_all_cycles_are_counted(judge: Any, threads: Any, clock: Any) -> None:
    del threads, clock
    opened: list[Any] = []

    class Leaks(Good):
        def open(self, plan: Plan) -> EnvInfo:
            opened.append(Path(os.devnull).open())  # noqa: SIM115 (the leak)
            return super().open(plan)

    try:
        found = judge(Leaks, "clean-close")
        assert found.detail == "8 cycles left 8 descriptors open"
    finally:
        for file in opened:
            file.close()


def test_threads_that_outlive_close_are_named(judge: Any, threads: list[Any], clock: Any) -> None:
    assert judge(Good, "clean-close").kept is True
    assert clock.slept == []
    threads += [SimpleNamespace(name=name) for name in ("one", "two", "three", "four")]
    found = judge(Good, "clean-close")
    assert found.detail == "4 threads outlive close: one, two, three"
    assert sum(clock.slept) == pytest.approx(2.0, abs=0.05)


def test_what_outlives_close_is_told(judge: Any, threads: Any, clock: Any) -> None:
    del threads
    path = segment_dir() / f"kitleft_{os.getpid()}"
    held: list[Any] = []

    class LeaksMemory(Good):
        def open(self, plan: Plan) -> EnvInfo:
            held.append(path.open("w"))
            return super().open(plan)

        def close(self) -> None:
            super().close()
            held.pop().close()

    try:
        found = judge(LeaksMemory, "clean-close")
        assert found.detail == f"shared memory that outlives close: {path}"
    finally:
        path.unlink()

    class LeaksProcess(Good):
        def open(self, plan: Plan) -> EnvInfo:
            held.append(subprocess.Popen(["/bin/sleep", "100"]))
            return super().open(plan)

    assert clock.slept == []
    try:
        found = judge(LeaksProcess, "clean-close")
        assert found.detail == f"processes that outlive close: [{held[0].pid}]"
        assert sum(clock.slept) == pytest.approx(2.0, abs=0.05)
    finally:
        for process in held:
            process.kill()
            process.wait()


def test_every_environment_must_be_closed(judge: Any) -> None:
    class Forgets(Good):
        def _close(self, plan: Plan) -> None:
            del plan

    found = judge(Forgets, "closed-environments")
    assert found.detail.endswith("environments were never closed")
    assert found.detail.startswith("5 of 5 ")


def test_a_worker_killed_at_close_must_be_reported(judge: Any) -> None:
    class Silent(Good):
        def close(self) -> None:
            logging.disable(logging.WARNING)
            try:
                super().close()
            finally:
                logging.disable(logging.NOTSET)

    class Early(Good):
        def happen(self) -> None:
            """Let nothing happen."""

    before = list(logging.getLogger().handlers)
    found = judge(Silent, "reported-kill", *WORKERS)
    said = "a worker whose environment hung in close was ended without a warning"
    assert found.detail == said
    found = judge(Early, "reported-kill", *WORKERS)
    assert found.detail == "environment 2 never got to its fault close-hang"
    assert logging.getLogger().handlers == before


def test_a_failed_open_must_leave_nothing(judge: Any, clock: Any) -> None:
    del clock
    opened: list[Any] = []

    class Leaks(Good):
        def open(self, plan: Plan) -> EnvInfo:
            opened.append(Path(os.devnull).open())  # noqa: SIM115 (the leak)
            return super().open(plan)

    try:
        found = judge(Leaks, "clean-failed-open")
        assert found.detail == "two failed opens left 2 descriptors open"
    finally:
        for file in opened:
            file.close()


@pytest.mark.parametrize(
    ("grown", "detail"),
    [
        (16 << 20, ""),
        (-(16 << 20), ""),
        ((16 << 20) + 1, "memory grew by 16 MiB over 10,000 episodes"),
        (100 << 20, "memory grew by 100 MiB over 10,000 episodes"),
    ],
)
def test_memory_may_grow_by_so_much(
    grown: int, detail: str, judge: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Idle(Good):
        def deliver(self, policy: Policy, steps: int) -> Rollout:
            return super().deliver(policy, min(steps, 1))

    read = iter([1 << 30, (1 << 30) + grown])
    monkeypatch.setattr(isolation.usage, "memory_bytes", lambda _: next(read))
    found = judge(Idle, "flat-memory")
    assert (found.kept, found.detail) == (not detail, detail)
