"""Processes: how they start, how their end is told, and who ends with them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from wfbench.processes import children, isolated
from wfbench.processes.children import (
    Child,
    die_with_parent,
    end_session,
    exit_code,
    exit_text,
    python_command,
    worker_variables,
)
from wfbench.processes.isolated import Isolated, IsolationError
from wfbench.processes.limits import ONE_THREAD


def started(*command: str, **options: Any) -> subprocess.Popen[bytes]:
    return subprocess.Popen(list(command), **options)


@pytest.mark.parametrize(
    ("code", "text"),
    [
        (0, "exited with status 0"),
        (3, "exited with status 3"),
        (-1, "was killed by SIGHUP"),
        (-9, "was killed by SIGKILL"),
        (-99, "was killed by signal 99"),
    ],
)
def test_an_exit_code_in_words(code: int, text: str) -> None:
    assert exit_text(code) == text


@pytest.mark.parametrize(
    ("script", "code"), [("exit 0", 0), ("exit 3", 3), ("kill -9 $$", -9), ("kill -15 $$", -15)]
)
def test_an_exit_code_is_known_before_the_process_is_reaped(script: str, code: int) -> None:
    process = started("/bin/sh", "-c", script)
    assert exit_code(process, wait=True) == code
    assert exit_code(process) == code
    assert process.returncode is None
    assert process.wait() == code
    assert exit_code(process) == code


def test_a_process_that_runs_has_no_exit_code() -> None:
    process = started("/bin/sleep", "100")
    try:
        assert exit_code(process) is None
    finally:
        process.kill()
        process.wait()
    assert exit_code(process) == -9


def test_the_command_runs_main_with_the_argument_and_this_path() -> None:
    command = python_command("wfbench.some", {"a": [1, None]})
    assert command[:2] == [sys.executable, "-c"]
    assert json.loads(command[3]) == {"a": [1, None]}
    assert json.loads(command[4]) == sys.path
    loaded: list[Any] = []
    module = SimpleNamespace(main=loaded.append)
    kept, path = sys.argv, list(sys.path)
    sys.modules["wfbench.some"] = module  # type: ignore[assignment]
    try:
        sys.argv = ["-c", *command[3:]]
        exec(command[2], {})  # noqa: S102 (what the new interpreter would do)
    finally:
        sys.argv, sys.path[:] = kept, path
        del sys.modules["wfbench.some"]
    assert loaded == [{"a": [1, None]}]


def test_a_worker_has_one_thread_and_an_owner() -> None:
    assert worker_variables(77) == {**ONE_THREAD, "WFBENCH_OWNER": "77"}


def test_a_process_whose_parent_is_gone_exits(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[Any] = []
    library = SimpleNamespace(prctl=lambda *given: told.append(given))
    monkeypatch.setattr(children.ctypes, "CDLL", lambda _: library)
    monkeypatch.setattr(children.os, "_exit", told.append)
    linux = [(1, signal.SIGKILL)] if sys.platform == "linux" else []
    die_with_parent()
    die_with_parent(os.getppid())
    assert told == linux * 2
    die_with_parent(os.getppid() + 1)
    assert told == [*linux * 3, 1]


def test_a_session_is_ended_and_nobody_else() -> None:
    leader = started("/bin/sh", "-c", "sleep 100 & sleep 100", start_new_session=True)
    stranger = started("/bin/sleep", "100", start_new_session=True)
    try:
        end_session(leader.pid)
        assert leader.wait() == -9
        assert exit_code(stranger) is None
    finally:
        stranger.kill()
        stranger.wait()


def waiting_script(tmp_path: Path, text: str) -> Path:
    script = tmp_path / "script.py"
    script.write_text(text)
    return script


ANSWERS = """
import pickle, socket, struct, sys
stream = socket.socket(fileno=int(sys.argv[1]))
def send(message):
    data = pickle.dumps(message)
    stream.sendall(struct.pack("<Q", len(data)) + data)
"""


def test_a_child_that_ends_in_time_has_its_own_exit_code(tmp_path: Path) -> None:
    script = waiting_script(tmp_path, ANSWERS + "send('up'); stream.recv(1); sys.exit(5)")
    child = Child(script, {}, stdout=subprocess.DEVNULL)
    assert child.channel.recv(60.0) == "up"
    assert os.getsid(child.process.pid) == child.process.pid
    assert child.end(60.0) == 5
    assert child.process.returncode == 5


@pytest.mark.parametrize("session", [True, False])
def test_a_child_that_does_not_end_is_killed(
    session: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = waiting_script(tmp_path, ANSWERS + "import time; send('up'); time.sleep(100)")
    child = Child(script, {"WFBENCH_TEST_MARK": "1"})
    assert child.channel.recv(60.0) == "up"
    ended: list[int] = []
    real = children.end_session
    monkeypatch.setattr(children, "end_session", lambda pid: (ended.append(pid), real(pid)))
    slept: list[float] = []
    now = [0.0]

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        now[0] += 1.0

    monkeypatch.setattr(children, "sleep", sleep)
    monkeypatch.setattr(children, "monotonic", lambda: now[0])
    assert child.end(3.0, session=bool(session)) is None
    assert child.process.returncode == -9
    assert len(slept) == 3
    assert ended == ([child.process.pid] if session else [])


def test_by_default_a_child_is_killed_at_once_with_its_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = waiting_script(tmp_path, "import time; time.sleep(100)")
    monkeypatch.setattr(children, "sleep", pytest.fail)
    monkeypatch.setattr(children, "monotonic", lambda: 0.0)
    ended: list[int] = []
    real = children.end_session
    monkeypatch.setattr(children, "end_session", lambda pid: (ended.append(pid), real(pid)))
    child = Child(script, {})
    assert child.end() is None
    assert ended == [child.process.pid]


def test_a_child_that_cannot_start_leaves_no_descriptor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(children.sys, "executable", "/no/such/interpreter")
    with pytest.raises(FileNotFoundError):
        Child(Path("script.py"), {})


def test_an_isolated_process_answers_dies_and_hangs(tmp_path: Path) -> None:
    text = ANSWERS + (
        "import pathlib, time\n"
        "while question := stream.recv(1000)[8:]:\n"
        "    question = pickle.loads(question)\n"
        "    if question == 'die':\n"
        "        sys.stderr.write('first\\n  last words \\n'); sys.exit(6)\n"
        "    if question == 'silent': sys.exit(4)\n"
        "    if question != 'hang': send(question)\n"
    )
    script = waiting_script(tmp_path, text)
    for question, said in (
        ("die", "the process died with code 6:   last words"),
        ("silent", "the process died with code 4: no message"),
    ):
        process = Isolated(script)
        try:
            assert process.ask([1, 2], 60.0) == [1, 2]
            with pytest.raises(IsolationError) as error:
                process.ask(question, 60.0)
            assert str(error.value) == said
            with pytest.raises(IsolationError, match="died with code"):
                process.ask("again", 60.0)
        finally:
            process.close()
            process.close()
    process = Isolated(script)
    try:
        assert process.pid == process._child.process.pid
        with pytest.raises(IsolationError, match=r"^hung: nothing happened for 0.05 s$"):
            process.ask("hang", 0.05)
    finally:
        process.close()


def test_closing_clears_up_what_those_left_who_were_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cleared: list[int] = []
    monkeypatch.setattr(isolated, "remove_stale_segments", lambda: cleared.append(1))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    process = Isolated(waiting_script(tmp_path, "import time; time.sleep(100)"))
    process.close()
    assert cleared == [1]
    process.close()
    assert cleared == [1]
