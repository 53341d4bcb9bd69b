"""The processes in which collectors are tested, and what they see there."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import gymnasium
import numpy as np
import psutil
import pytest
from simulated_collector import Good

from wfbench.contract import (
    CollectorSpec,
    EnvRef,
    PluginError,
    StepArrays,
    UsageError,
)
from wfbench.processes.isolated import IsolationError
from wfbench.processes.segments import SHM
from wfbench.testing import (
    CollectorConformance,
    Promise,
    PromiseResult,
    check_collector,
    collector_kit,
)
from wfbench.testing.collector_promises import COLLECTOR
from wfbench.testing.harness import checker, collecting_child, footprint, subject
from wfbench.testing.harness.checker import SubjectProcess
from wfbench.testing.harness.subject import SubjectRef
from wfbench.testing.harness.watched_envs import (
    NotingBatch,
    NotingEnv,
    ProbeEnv,
    UnevenEnv,
    unclosed,
)


def test_a_tree_is_a_process_and_all_below_it() -> None:
    process = subprocess.Popen(["/bin/sh", "-c", "sleep 100 & echo; wait"], stdout=subprocess.PIPE)
    with process:
        assert process.stdout is not None
        process.stdout.readline()
        [below] = psutil.Process(process.pid).children()
        assert footprint.tree(process.pid) == {process.pid, below.pid}
        assert {os.getpid(), process.pid, below.pid} <= footprint.tree()
        assert {process.pid, below.pid} <= footprint.children()
        assert os.getpid() not in footprint.children()
        assert footprint.living([process.pid, below.pid]) == {process.pid, below.pid}
        below.kill()
        process.kill()
    assert footprint.living([process.pid]) == set()


def test_shared_memory_is_seen_mapped_or_open_until_it_is_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mapped = [f"{SHM}/one", f"{SHM}/with a blank", f"{SHM}/gone (deleted)", "/usr/lib/some.so"]
    lines = [f"7f00-7f01 rw-s 00000000 00:1a 1234567      {path}" for path in mapped]
    opened = [f"{SHM}/open", f"{SHM}/closed (deleted)", f"{SHM}-not/x", "/dev/null"]
    process = tmp_path / "44"
    (process / "fd").mkdir(parents=True)
    (process / "maps").write_text("\n".join([*lines, "7f02-7f03 rw-p 00000000 00:00 0", ""]))
    for number, path in enumerate(opened):
        (process / f"fd/{number}").symlink_to(path)
    (process / "fd/9").touch()
    (tmp_path / "45").mkdir()
    monkeypatch.setattr(footprint, "Path", lambda path: tmp_path / path.removeprefix("/proc/"))
    wanted = {f"{SHM}/one", f"{SHM}/with a blank", f"{SHM}/open"}
    assert footprint.segments([44, 45, 46]) == wanted


def test_descriptors_are_counted() -> None:
    before = footprint.descriptors()
    with Path(os.devnull).open():
        assert footprint.descriptors() == before + 1


@pytest.mark.parametrize(("true_at", "found"), [(0, True), (100, True), (101, True), (102, False)])
def test_a_condition_is_waited_for(true_at: int, found: object, clock: Any) -> None:
    """A hundred waits of 0.02 s are two seconds; the last look is behind them."""
    looks = iter(range(1000))
    clock.sleep = lambda _: setattr(clock, "now", clock.now + 1 / 64)
    assert footprint.wait_for(lambda: next(looks) >= true_at, 100 / 64) is found


def test_a_probe_sees_its_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "5")
    monkeypatch.delenv("MKL_NUM_THREADS", raising=False)
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    env = ProbeEnv()
    seen = [os.getpid(), 0, 3, 5, -1]
    assert env.reset()[0].tolist() == seen
    assert (env.action_space.n, env.observation_space.shape) == (2, (5,))
    obs, *rest = env.step(0)
    assert (obs.tolist(), rest) == (seen, [0.0, False, True, {}])
    assert env.true_state() == {}
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace())  # type: ignore[arg-type]
    assert env.reset()[0][1] == 1


def test_environments_note_when_they_are_closed(tmp_path: Path) -> None:
    envs = [NotingEnv(str(tmp_path), index) for index in range(3)]
    assert unclosed(tmp_path) == (3, 3)
    for _ in range(2):
        assert envs[1].reset()[0].tolist() == [np.inf] * 2
        steps = [envs[1].step(0) for _ in range(3)]
        assert [step[0].tolist() for step in steps] == [[-np.inf] * 2] * 3
        assert [step[1:4] for step in steps] == [(0.0, False, False)] * 2 + [(0.0, False, True)]
    assert (envs[1].action_space.n, envs[1].observation_space.shape) == (6, (2,))
    envs[1].close()
    assert unclosed(tmp_path) == (3, 2)
    with pytest.raises(RuntimeError, match="fails when it is closed"):
        envs[0].close()
    assert unclosed(tmp_path) == (3, 1)


def test_a_batch_notes_when_it_is_closed(tmp_path: Path) -> None:
    batch = NotingBatch(3, str(tmp_path), 0)
    about = batch.info
    assert (batch.num_envs, about.obs_shape, about.num_actions) == (3, (2,), 6)
    assert (about.batched, about.unbounded) == (True, True)
    out = StepArrays.allocate(3, about)
    batch.reset(np.zeros(3, np.uint64), out.obs)
    assert (out.obs == np.inf).all()
    out.rewards[:], out.terminated[:], out.truncated[:] = 7, True, True
    batch.step(np.zeros(3, np.int64), out)
    assert (out.obs == -np.inf).all()
    assert not out.rewards.any()
    assert not out.terminated.any()
    assert not out.truncated.any()
    assert unclosed(tmp_path) == (1, 1)
    batch.close()
    assert unclosed(tmp_path) == (1, 0)


def test_uneven_environments_differ_in_their_delays(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    monkeypatch.setattr(time, "sleep", slept.append)
    inner = EnvRef("cartpole", "gymnasium.envs.classic_control:CartPoleEnv")
    for index in (0, 3):
        env: gymnasium.Env[Any, Any] = UnevenEnv(inner, index)
        env.reset(seed=1)
        for _ in range(2):
            env.step(0)
    wanted = [random.Random(index) for index in (0, 3)]  # noqa: S311 (delays)
    assert slept == [draws.random() * 1e-3 for draws in wanted for _ in range(2)]


class Connection:
    """The end of a channel at which a testing process sits."""

    def __init__(self, *messages: Any) -> None:
        self.messages, self.sent = list(messages), []  # type: ignore[var-annotated]

    def recv(self) -> Any:
        if not self.messages:
            raise EOFError
        return self.messages.pop(0)

    def send(self, message: Any) -> None:
        self.sent.append(message)


def ask(question: str, found: Any) -> Any:
    """Answer as a function that is asked for by its path."""
    return question, str(found.scratch), found.spec.name


def test_the_testing_process_answers_until_it_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    path = "wfbench_unit_questions"
    monkeypatch.setitem(sys.modules, path, SimpleNamespace(ask=ask))  # type: ignore[arg-type]
    asked = [(f"{path}:ask", "one", "/a"), (f"{path}:ask", "two", "/b")]
    connection = Connection(SubjectRef("sequential", {}), *asked)
    monkeypatch.setattr(checker, "parent_channel", lambda _: connection)
    checker.main("3")
    assert connection.sent == [{}, ("one", "/a", "sequential"), ("two", "/b", "sequential")]


def spec(**cannot: str) -> CollectorSpec:
    names = {name.replace("_", "-"): why for name, why in cannot.items()}
    path = "wfbench_collectors.sequential:SequentialCollector"
    return CollectorSpec(name="mine", summary="x", factory=path, cannot=names)


def test_the_testing_process_says_what_cannot_be_kept_or_tested(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told = []
    for one in (spec(own_seeds="none"), spec(own_seeds="none", zeal="no", speed="slow")):
        connection = Connection(SubjectRef(one, {}))
        monkeypatch.setattr(checker, "parent_channel", lambda _, end=connection: end)
        checker.main("3")
        told += connection.sent
    assert told[0] == {"own-seeds": "none"}
    assert isinstance(told[1], PluginError)
    said = "collector 'mine' declares that it cannot keep 'speed', but there is no such promise"
    assert str(told[1]) == said
    assert len(told) == 2


@pytest.mark.parametrize("calls", [1, 3])
def test_a_collecting_child_goes_on_until_it_is_interrupted(
    calls: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Interrupted(Good):
        def collect(self, policy: Any, steps: int) -> Any:
            asked.append(steps)
            if len(asked) == calls:
                raise KeyboardInterrupt
            return super().collect(policy, steps)

    asked: list[int] = []
    module = SimpleNamespace(Interrupted=Interrupted)
    monkeypatch.setitem(sys.modules, "wfbench_unit_collects", module)  # type: ignore[arg-type]
    one = CollectorSpec(name="mine", summary="x", factory="wfbench_unit_collects:Interrupted")
    env = EnvRef("synthetic", "wfbench_synthetic.env:SyntheticEnv", None, {"fault_env": -1})
    plan = subject.make_plan(env, 2, 1)
    connection = Connection((SubjectRef(one, {}), plan))
    monkeypatch.setattr(collecting_child, "parent_channel", lambda _: connection)
    kept = signal.getsignal(signal.SIGINT)
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        collecting_child.main("3")
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, kept)
    assert asked == [1] * calls
    assert connection.sent == ["ready"]


class Isolated:
    """A process whose answers are made up."""

    answers: list[Any]
    told: list[Any]

    def __init__(self, module: str) -> None:
        self.told.append(module)

    def ask(self, question: Any, limit: float) -> Any:
        self.told.append((question, limit))
        answer = self.answers.pop(0)
        if isinstance(answer, IsolationError):
            raise answer
        return answer

    def close(self) -> None:
        self.told.append("closed")


REF = SubjectRef("sequential", {})
SLUG = "own-seeds"
PROMISE: Promise[Any] = COLLECTOR.by_slug[SLUG]


@pytest.fixture
def process(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """A testing process that answers so, and what it was told."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    def made(*answers: Any) -> tuple[SubjectProcess, list[Any]]:
        told: list[Any] = []
        fake = type("Fake", (Isolated,), {"answers": list(answers), "told": told})
        monkeypatch.setattr(checker, "Isolated", fake)
        return SubjectProcess(REF), told

    return made


KEPT = PromiseResult(PROMISE.name, True, "", SLUG)  # noqa: FBT003 (what became of it)


def test_a_testing_process_is_started_once_and_closed_once(process: Any, tmp_path: Path) -> None:
    one, told = process({SLUG: "it has one"}, KEPT, KEPT, KEPT)
    assert one.test(PROMISE).excuse == "it has one"
    assert one.test(PROMISE, 7.0).kept is True
    assert one.test(PROMISE, 700.0).kept is True
    one.close()
    one.close()
    assert told[:2] == [checker.__name__, (REF, 60.0)]
    assert told[-1] == "closed"
    questions = [(q[0], q[1], limit) for q, limit in told[2:-1]]
    function = f"{checker.__name__}:try_promise"
    assert questions == [(function, SLUG, limit) for limit in (60.0, 7.0, 60.0)]
    assert list(tmp_path.iterdir()) == []


def test_a_testing_process_that_hangs_is_replaced(process: Any) -> None:
    one, told = process({}, IsolationError("hung: x"), {SLUG: "late"}, KEPT)
    found = one.test(PROMISE)
    assert (found.kept, found.detail, found.excuse, found.slug) == (False, "hung: x", "", SLUG)
    assert told[-1] == "closed"
    found = one.test(PROMISE)
    assert (found.kept, found.excuse) == (True, "late")
    assert [part for part in told if part == checker.__name__] == [checker.__name__] * 2


def test_a_directory_that_cannot_be_removed_does_no_harm(
    process: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, _ = process({}, KEPT)
    real = Isolated.ask

    def ask(self: Isolated, question: Any, limit: float) -> Any:
        if isinstance(question, tuple):
            Path(question[2]).rmdir()
            Path(question[2]).touch()
        return real(self, question, limit)

    monkeypatch.setattr(Isolated, "ask", ask)
    assert one.test(PROMISE).kept is True


@pytest.mark.parametrize(
    ("answer", "error", "message"),
    [
        (IsolationError("dead"), PluginError, "the conformance kit could not start: dead"),
        (UsageError("no such"), UsageError, "no such"),
    ],
)
def test_what_keeps_a_testing_process_from_starting_is_told(
    answer: Any, error: type[Exception], message: str, process: Any
) -> None:
    one, told = process(answer)
    with pytest.raises(error, match=message):
        one.start()
    assert told[-1] == "closed"
    one.close()
    assert told.count("closed") == 1


def test_a_subject_is_found_by_name_descriptor_or_class(tmp_path: Path) -> None:
    class Mine(Good):
        """Mine."""

    assert SubjectRef("sequential", {}).load(tmp_path).spec.name == "sequential"
    one = spec()
    ref = SubjectRef.of(one, {})
    assert (ref.collector, ref.shipment) == (one, None)
    assert ref.load(tmp_path).spec is one
    assert SubjectRef.of("shm", {"workers": 3}) == SubjectRef("shm", {"workers": 3})
    with pytest.raises(UsageError, match="no option 'workers'"):
        SubjectRef("sequential", {"workers": 3}).load(tmp_path)
    with pytest.raises(UsageError, match="no collector 'none'"):
        SubjectRef("none", {}).load(tmp_path)
    declared = SubjectRef.of(Mine, {}).collector
    assert isinstance(declared, CollectorSpec | str)


def test_a_class_of_a_script_is_sent_along(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed = []
    shipment: Any = SimpleNamespace(install=lambda: installed.append(1))
    monkeypatch.setattr(subject, "ship_local", lambda _: shipment)
    ref = SubjectRef.of(spec(), {"a": 1})
    assert ref.collector == "wfbench_collectors.sequential:SequentialCollector"
    assert (ref.options, ref.shipment) == ({"a": 1}, shipment)
    loaded = SubjectRef(ref.collector, {}, shipment).load(tmp_path)
    assert loaded.spec.name == "sequential"
    assert installed == [1]


@pytest.fixture
def results(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A testing process with these results by slug, and what it was asked."""

    def made(results: dict[str, PromiseResult], **cannot: str) -> list[Any]:
        asked: list[Any] = []

        class Process:
            def __init__(self, ref: SubjectRef) -> None:
                asked.append(ref)
                self.cannot = {name.replace("_", "-"): why for name, why in cannot.items()}

            def start(self) -> None:
                asked.append("started")

            def test(self, promise: Promise[Any], limit: float | None = None) -> PromiseResult:
                asked.append((promise.slug, limit))
                return results.get(promise.slug, KEPT)

            def close(self) -> None:
                asked.append("closed")

        monkeypatch.setattr(collector_kit, "SubjectProcess", Process)
        return asked

    return made


def test_the_kit_asks_for_all_promises_or_some(results: Any) -> None:
    asked = results({})
    assert len(check_collector("sequential")) == len(COLLECTOR.by_slug)
    every = [(slug, None) for slug in COLLECTOR.by_slug]
    assert asked == [SubjectRef("sequential", {}), *every, "closed"]
    asked.clear()
    told: list[Any] = []
    found = check_collector(
        "shm", {"workers": 2}, only=["killed", SLUG], limit=3.0, progress=told.append
    )
    assert found == told == [KEPT, KEPT]
    ref = SubjectRef("shm", {"workers": 2})
    assert asked == [ref, (SLUG, 3.0), ("killed", 3.0), "closed"]
    with pytest.raises(UsageError, match="there is no promise 'a-first'"):
        check_collector("shm", only=["b", "a-first", "killed"])


@pytest.mark.parametrize(
    ("result", "outcome", "message"),
    [
        (PromiseResult("P", True), None, ""),  # noqa: FBT003 (what became of it)
        (PromiseResult("P", None, "why"), pytest.skip.Exception, "why"),
        (PromiseResult("P", False, "seen"), pytest.fail.Exception, "broken promise: P\nseen"),  # noqa: FBT003
        (
            PromiseResult("P", True, "", "", "slow"),  # noqa: FBT003
            pytest.fail.Exception,
            "kept, but declared in `cannot`: P",
        ),
        (PromiseResult("P", False, "seen", "", "slow"), pytest.xfail.Exception, "slow: seen"),  # noqa: FBT003
    ],
)
def test_what_became_of_a_promise_is_told_to_pytest(
    result: PromiseResult, outcome: Any, message: str, results: Any
) -> None:
    class Mine(CollectorConformance):
        collector = "shm"
        options = {"workers": 2}  # noqa: RUF012 (never changed)
        patience = 4.0

    asked = results({SLUG: result}, killed="x")
    Mine.setup_class()
    if outcome is None:
        Mine().test_promise(SLUG)
    else:
        with pytest.raises(outcome) as raised:
            Mine().test_promise(SLUG)
        assert str(raised.value) == message
        assert getattr(raised.value, "pytrace", False) is False or outcome in (
            pytest.skip.Exception,
            pytest.xfail.Exception,
        )
    Mine().test_promise("killed")
    Mine.teardown_class()
    ref = SubjectRef("shm", {"workers": 2})
    assert asked == [ref, "started", (SLUG, None), ("killed", 4.0), "closed"]


@pytest.mark.parametrize("names", [["promise_slug"], ["other"]])
def test_there_is_one_test_for_each_promise(names: list[str]) -> None:
    made: list[Any] = []
    metafunc = SimpleNamespace(fixturenames=names, parametrize=lambda *given: made.append(given))
    CollectorConformance().pytest_generate_tests(metafunc)
    wanted = [("promise_slug", list(COLLECTOR.by_slug))]
    assert made == (wanted if names == ["promise_slug"] else [])
