from __future__ import annotations

import csv
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

KILLS = 20
_ZYGOTE = """
import json, os, sys
import numba, numpy, rich.console
from wfbench.cli.main import main
import wfbench.search.search, wfbench.cli.run, wfbench.orders.compliance.kernel
import wfbench.policies.kernel, wfbench_synthetic.env, wfbench_collectors.sequential
for line in sys.stdin:
    pid = os.fork()
    if pid == 0:
        nowhere = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nowhere, stream)
        os._exit(main(json.loads(line)))
    print(pid, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
"""
"""Starts commands without paying for imports each time, so that many can be killed."""


class Zygote:
    def __init__(self, environ: dict[str, str]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", _ZYGOTE],
            env=environ,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, argv: list[str], kill_after: float | None = None) -> int:
        """The exit code of a command, negative if a signal ended it."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(argv) + "\n")
        self._process.stdin.flush()
        pid = int(self._process.stdout.readline())
        if kill_after is not None:
            time.sleep(kill_after)
            with suppress(ProcessLookupError):  # it was faster than the one that was timed
                os.kill(pid, signal.SIGKILL)
        return int(self._process.stdout.readline())

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(30)
        self._process.stdout.close()


@pytest.fixture
def environ(clean_environ: dict[str, str], small_plugins: dict[str, str]) -> dict[str, str]:
    return {**clean_environ, **small_plugins}


@pytest.fixture(scope="module")
def zygote(small_plugins: dict[str, str]) -> Iterator[Zygote]:
    ours = {k: v for k, v in os.environ.items() if not k.startswith("WFBENCH_")}
    started = Zygote({**ours, **small_plugins})
    yield started
    started.close()


@pytest.fixture(scope="module")
def whole(
    zygote: Zygote, small_run: list[str], tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, float]:
    """A run that was left alone, and how long it took."""
    out = tmp_path_factory.mktemp("whole")
    assert zygote.run([*small_run, "--out", str(out), "--name", "first"]) == 0
    started = time.monotonic()
    assert zygote.run([*small_run, "--out", str(out), "--name", "r"]) == 0
    return out / "r", time.monotonic() - started


def _without_time(run: Path) -> list[dict[str, Any]]:
    lines = (run / "events.jsonl").read_text().splitlines()
    return [{k: v for k, v in json.loads(line).items() if k != "time"} for line in lines]


def _table(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return [
            {k: v for k, v in row.items() if k != "at" and not k.endswith("_seconds")}
            for row in csv.DictReader(file)
        ]


def _assert_same(one: Path, other: Path) -> None:
    assert _without_time(one) == _without_time(other)
    for name in ("workflows.csv", "updates.csv"):
        assert _table(one / name) == _table(other / name)
    assert (one / "policy.npz").read_bytes() == (other / "policy.npz").read_bytes()
    for checkpoint in sorted((one / "checkpoints").iterdir()):
        twin = other / "checkpoints" / checkpoint.name
        assert checkpoint.read_bytes() == twin.read_bytes(), checkpoint.name


@pytest.mark.timeout(400)
def test_a_run_killed_again_and_again_ends_like_one_left_alone(
    zygote: Zygote, whole: tuple[Path, float], small_run: list[str], tmp_path: Path
) -> None:
    def command(out: str) -> list[str]:
        return [*small_run, "--out", str(tmp_path / out), "--name", "r"]

    left_alone, seconds = whole
    rng = random.Random(1)  # noqa: S311 - when to kill is no secret
    kills = attempts = 0
    while kills < KILLS:
        attempts += 1
        out = f"killed{attempts}"
        run = tmp_path / out / "r"
        argv = command(out)
        while True:
            patience = rng.uniform(0, seconds / 2) if kills < KILLS else None
            code = zygote.run(argv, patience)
            kills += code == -signal.SIGKILL
            if code == 0:
                break
            assert code == -signal.SIGKILL
            if (run / "config.json").exists():
                argv = ["run", "--resume", "r", "--out", str(tmp_path / out)]
            else:
                argv = command(out := f"{out}x")
                run = tmp_path / out / "r"
        _assert_same(left_alone, run)
    assert kills >= KILLS


def test_a_finished_run_is_not_run_again(
    zygote: Zygote, whole: tuple[Path, float], tmp_path: Path
) -> None:
    shutil.copytree(whole[0], tmp_path / "r")
    before = (tmp_path / "r" / "events.jsonl").read_bytes()
    assert zygote.run(["run", "--resume", "r", "--out", str(tmp_path)]) == 0
    assert (tmp_path / "r" / "events.jsonl").read_bytes() == before


@pytest.mark.parametrize("damage", [b'{"event": "upd', b"\x00\xff not JSON\n", b"{}}\n"])
def test_a_torn_last_line_loses_nothing(
    zygote: Zygote, whole: tuple[Path, float], tmp_path: Path, damage: bytes
) -> None:
    shutil.copytree(whole[0], tmp_path / "r")
    events = tmp_path / "r" / "events.jsonl"
    lines = events.read_bytes().splitlines(keepends=True)
    ends = [i for i, line in enumerate(lines) if b'"event":"workflow-finished"' in line]
    events.write_bytes(b"".join(lines[: ends[3] + 3]) + damage)
    assert zygote.run(["run", "--resume", "r", "--out", str(tmp_path)]) == 0
    _assert_same(whole[0], tmp_path / "r")


def test_a_line_spoilt_in_the_middle_is_refused_and_left_alone(
    wfbench: Callable[..., Any],
    whole: tuple[Path, float],
    tmp_path: Path,
    small_plugins: dict[str, str],
) -> None:
    shutil.copytree(whole[0], tmp_path / "r")
    events = tmp_path / "r" / "events.jsonl"
    lines = events.read_bytes().splitlines(keepends=True)
    lines[4] = b"spoilt\n"
    events.write_bytes(b"".join(lines))
    answer = wfbench("run", "--resume", "r", "--out", str(tmp_path), env=small_plugins)
    assert answer.returncode == 2
    assert "line 5 is not JSON" in answer.stderr
    assert events.read_bytes() == b"".join(lines)


def test_a_second_process_on_a_run_is_refused(
    wfbench: Callable[..., Any],
    environ: dict[str, str],
    small_plugins: dict[str, str],
    small_run: list[str],
    tmp_path: Path,
) -> None:
    argv = [*small_run, "--workflows", "10000", "--out", str(tmp_path), "--name", "r"]
    first = subprocess.Popen(
        [sys.executable, "-m", "wfbench", *argv],
        env=environ,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        _wait_for(tmp_path / "r" / "workflows.csv")
        second = wfbench("run", "--resume", "r", "--out", str(tmp_path), env=small_plugins)
        assert second.returncode == 2
        assert f"in use by process {first.pid}" in second.stderr
        assert first.poll() is None
    finally:
        first.kill()
        first.wait(30)


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_a_run_and_how_to_resume_it_is_said(
    environ: dict[str, str], small_run: list[str], tmp_path: Path, sent: signal.Signals, code: int
) -> None:
    argv = [*small_run, "--workflows", "10000", "--out", str(tmp_path), "--name", "r"]
    running = subprocess.Popen(
        [sys.executable, "-m", "wfbench", *argv],
        env=environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    _wait_for(tmp_path / "r" / "checkpoints" / "000.npz")
    running.send_signal(sent)
    _, errors = running.communicate(timeout=60)
    assert running.returncode == code
    assert f"wfbench run --resume {tmp_path / 'r'}" in errors
    assert "Traceback" not in errors


def test_a_full_disk_is_one_line_and_the_run_goes_on_when_there_is_room(
    zygote: Zygote,
    whole: tuple[Path, float],
    environ: dict[str, str],
    small_run: list[str],
    tmp_path: Path,
) -> None:
    size = (whole[0] / "events.jsonl").stat().st_size

    def no_room() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size // 2, size // 2))

    out = tmp_path / "full"
    full = subprocess.run(
        [sys.executable, "-m", "wfbench", *small_run, "--out", str(out), "--name", "r"],
        env=environ,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
        preexec_fn=no_room,
    )
    assert full.returncode == 3, full.stderr
    assert "cannot write" in full.stderr
    assert "events.jsonl" in full.stderr
    assert "Traceback" not in full.stderr
    assert zygote.run(["run", "--resume", "r", "--out", str(out)]) == 0
    _assert_same(whole[0], out / "r")


def test_a_folder_that_cannot_be_written_is_one_line(
    wfbench: Callable[..., Any],
    small_plugins: dict[str, str],
    small_run: list[str],
    tmp_path: Path,
) -> None:
    (tmp_path / "file").write_text("not a folder")
    answer = wfbench(*small_run, "--out", str(tmp_path / "file"), env=small_plugins)
    assert answer.returncode == 3
    assert "cannot write" in answer.stderr
    assert "Traceback" not in answer.stderr


def test_a_dead_worker_ends_the_run_with_3_and_leaves_it_resumable(
    wfbench: Callable[..., Any], small_plugins: dict[str, str], tmp_path: Path
) -> None:
    marker = tmp_path / "happened"
    fault = f"fault=kill@25,fault_env=1,fault_once={marker}"
    argv = [
        *("run", "--preset", "per-order"),
        *("--env", f"synthetic:obs_size=6,num_actions=5,episode_length=10,{fault}"),
        *("--collector", "shm:workers=2", "--trainer", "tiny", "--searcher", "climber"),
        *("--n-envs", "4", "--workflows", "2", "--max-episodes", "5", "--min-episodes", "1"),
        *("--update-every", "10", "--stop", "budget", "--out", str(tmp_path), "--name", "r"),
    ]
    failed = wfbench(*argv, env=small_plugins)
    assert failed.returncode == 3, failed.stderr
    assert "SIGKILL" in failed.stderr
    assert "--resume" in failed.stderr
    events = _without_time(tmp_path / "r")
    assert events[-1]["event"] == "workflow-failed"
    done = wfbench("run", "--resume", "r", "--out", str(tmp_path), env=small_plugins)
    assert done.returncode == 0, done.stderr
    kinds = [event["event"] for event in _without_time(tmp_path / "r")]
    assert "workflow-failed" not in kinds
    assert kinds[-1] == "run-finished"


def _wait_for(path: Path) -> None:
    deadline = time.monotonic() + 90
    while not path.exists():
        assert time.monotonic() < deadline, f"{path} did not appear"
        time.sleep(0.05)
