"""After any exit of the caller nothing of ours lives on, and shared memory is clean."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from wfbench.contract import OWNER_VARIABLE
from wfbench.processes.segments import segment_dir

GONE_WITHIN = 10.0

CALLER = """
import sys
from wfbench.contract import EnvRef, Plan
from wfbench.contract import load_object
from wfbench.policies import RandomPolicy

if __name__ == "__main__":
    factory, env, method = sys.argv[1:]
    collector = load_object(factory)(start_method=method)
    plan = Plan(EnvRef(env, "fault_envs:" + env), 4, (1, 2, 3, 4))
    collector.open(plan)
    print("open", flush=True)
    while True:
        collector.collect(RandomPolicy(4), 5)
"""

FACTORIES = {
    "pipe": "wfbench_collectors.pipe:PipeCollector",
    "shm": "wfbench_collectors.shm:ShmCollector",
    "async": "wfbench_collectors.free_running:AsyncCollector",
}


def _family(owner: int) -> set[psutil.Process]:
    """Processes that carry the owner's mark."""
    found = set()
    for process in psutil.process_iter():
        try:
            if process.environ().get(OWNER_VARIABLE) == str(owner):
                found.add(process)
        except psutil.Error:
            continue
    return found


def _segments(owner: int) -> list[Path]:
    return list(segment_dir().glob(f"wfbench_{owner}_*"))


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    script = tmp_path / "caller.py"
    script.write_text(CALLER)
    callers: list[subprocess.Popen[str]] = []

    def run(collector: str, env: str, method: str = "forkserver") -> subprocess.Popen[str]:
        caller = subprocess.Popen(
            [sys.executable, str(script), FACTORIES[collector], env, method],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONPATH": str(Path(__file__).parent)},
            start_new_session=True,
        )
        callers.append(caller)
        assert caller.stdout is not None
        assert caller.stdout.readline() == "open\n"
        return caller

    yield run
    for caller in callers:
        if caller.poll() is None:
            caller.kill()
        caller.communicate()


def _lives(process: psutil.Process) -> bool:
    """A zombie that nobody has collected yet has ended."""
    try:
        return bool(process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def _expect_gone(family: set[psutil.Process], owner: int) -> None:
    deadline = time.monotonic() + GONE_WITHIN
    while (left := [process for process in family if _lives(process)]) or _segments(owner):
        assert time.monotonic() < deadline, (left, _segments(owner))
        time.sleep(0.05)


@pytest.mark.parametrize("method", ["forkserver", "spawn", "fork"])
@pytest.mark.parametrize("collector", FACTORIES)
def test_sigkill_of_the_caller_while_workers_are_busy_in_native_code(
    start: Callable[..., subprocess.Popen[str]], collector: str, method: str
) -> None:
    caller = start(collector, "Busy", method)
    time.sleep(0.5)
    family = {psutil.Process(caller.pid)} | set(psutil.Process(caller.pid).children(recursive=True))
    assert len(family) >= 3
    caller.kill()
    caller.wait()
    _expect_gone(family, caller.pid)


@pytest.mark.parametrize("collector", FACTORIES)
def test_sigkill_of_caller_and_nursery_together_leaves_what_the_next_open_removes(
    start: Callable[..., subprocess.Popen[str]], collector: str
) -> None:
    caller = start(collector, "Quiet")
    family = set(psutil.Process(caller.pid).children(recursive=True))
    nursery = psutil.Process(caller.pid).children()[0]
    segments = _segments(caller.pid)
    assert segments
    nursery.suspend()
    caller.kill()
    nursery.kill()
    caller.wait()
    deadline = time.monotonic() + GONE_WITHIN
    while any(_lives(process) for process in family):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    following = start(collector, "Quiet")
    assert not _segments(caller.pid)
    following.kill()
    following.wait()
    _expect_gone(family | _family(following.pid), following.pid)


def test_workers_know_their_owner(start: Callable[..., subprocess.Popen[str]]) -> None:
    caller = start("shm", "Quiet")
    children = set(psutil.Process(caller.pid).children(recursive=True))
    assert children == _family(caller.pid)
    assert len(children) >= 2


@pytest.mark.parametrize("collector", FACTORIES)
def test_ctrl_c_in_the_terminal_is_heard_by_the_caller_alone(
    start: Callable[..., subprocess.Popen[str]], collector: str
) -> None:
    caller = start(collector, "Quiet")
    family = set(psutil.Process(caller.pid).children(recursive=True))
    for process in family:
        process.send_signal(signal.SIGINT)
    os.killpg(caller.pid, signal.SIGINT)
    _, stderr = caller.communicate(timeout=30)
    assert stderr.count("Traceback") == 1
    assert "KeyboardInterrupt" in stderr
    _expect_gone(family, caller.pid)


def test_a_caller_killed_while_a_module_is_imported_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "slow_module.py").write_text("import time\ntime.sleep(3600)\n")
    script = tmp_path / "caller.py"
    script.write_text(CALLER.replace('"fault_envs:" + env', '"slow_module:Env"'))
    caller = subprocess.Popen(
        [sys.executable, str(script), FACTORIES["shm"], "any", "forkserver"],
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
    )
    deadline = time.monotonic() + 60
    while not (family := set(psutil.Process(caller.pid).children())):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    time.sleep(1.0)
    caller.kill()
    caller.wait()
    _expect_gone(family, caller.pid)


def test_an_env_that_prints_does_not_reach_standard_output(
    start: Callable[..., subprocess.Popen[str]],
) -> None:
    caller = start("shm", "Printer")
    assert caller.stderr is not None
    assert caller.stderr.readline() == "the environment speaks\n"
    caller.kill()
    stdout, _ = caller.communicate()
    assert stdout == ""
