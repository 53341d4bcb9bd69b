"""What is on the disk, to the byte, and what is told about it."""

from __future__ import annotations

import errno
import fcntl
import os
import re
import resource
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from wfbench.benchmarks.measure.saved import load_session
from wfbench.contract import PolicySnapshot, UsageError
from wfbench.processes.limits import THREAD_VARIABLES
from wfbench.store.config import StoredConfig
from wfbench.store.evaluations import save_evaluation
from wfbench.store.event_log import json_line
from wfbench.store.events import PHASES, EventTime, LogEntry, RunFinished, RunStarted
from wfbench.store.files import (
    AppendedFile,
    StorageError,
    read_json,
    write_arrays,
    write_json,
    write_whole,
)
from wfbench.store.lock import RunLock, in_use
from wfbench.store.machine import fingerprint
from wfbench.store.places import find_run, new_name
from wfbench.store.policy_file import Checkpoint, PolicyLabel, StoredPolicy
from wfbench.store.run import RunStore, read_log
from wfbench.store.sweeps import Sweep, right_by
from wfbench.store.validation import validate_run

DATA = Path(__file__).parents[2] / "formats" / "data"


def test_files_are_written_to_be_read_by_people_and_logs_by_programs(tmp_path: Path) -> None:
    write_json(tmp_path / "f.json", "thing/1", {"name": "é", "many": [1]})
    assert (tmp_path / "f.json").read_text(encoding="utf-8") == (
        '{\n  "schema": "wfbench/thing/1",\n  "name": "é",\n  "many": [\n    1\n  ]\n}\n'
    )
    assert json_line({"name": "é", "many": [1, 2]}) == '{"name":"é","many":[1,2]}\n'.encode()


def test_arrays_of_the_same_content_have_the_same_bytes_in_whatever_sequence(
    tmp_path: Path,
) -> None:
    write_arrays(tmp_path / "one", {}, {"schema": "wfbench/x/1", "k": 1})
    write_arrays(tmp_path / "two", {}, {"k": 1, "schema": "wfbench/x/1"})
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


@contextmanager
def no_more_files() -> Iterator[None]:
    """Let this process open no file beyond those it has open."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    free = os.dup(0)
    os.close(free)
    resource.setrlimit(resource.RLIMIT_NOFILE, (free, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_file_that_could_not_be_begun_is_told_with_the_first_reason(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=f": {os.strerror(errno.EMFILE)};"), no_more_files():
        write_whole(tmp_path / "f", b"")


def test_files_are_closed_even_where_there_is_no_standard_input(tmp_path: Path) -> None:
    kept = os.dup(0)
    try:
        for opened in (
            lambda: RunLock(tmp_path).release,
            lambda: AppendedFile(tmp_path / "f").close,
        ):
            os.close(0)
            close = opened()
            os.fstat(0)  # it got the number that was free
            close()
            with pytest.raises(OSError, match=os.strerror(errno.EBADF)):
                os.fstat(0)
            os.dup2(kept, 0)
    finally:
        os.dup2(kept, 0)
        os.close(kept)
    assert not in_use(tmp_path)


def test_the_owner_of_a_lock_is_named_as_far_as_it_said_so(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    for said, told in (("", "another"), ("x" * 40, "x" * 32)):
        lock.write_text(said)
        with lock.open() as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            with pytest.raises(UsageError, match=f"in use by process {told}; wait"):
                RunLock(tmp_path)
    RunLock(tmp_path).release()
    assert lock.read_text() == f"{os.getpid()}\n"


def test_a_result_names_the_revision_and_the_threads_it_was_made_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    for name in THREAD_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    assert (fingerprint()["commit"], fingerprint()["threads"]) == (None, {})
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    (tmp_path / "f").write_text("one")
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b"]
    for arguments in (["init", "-q"], ["add", "f"], ["commit", "-qm", "one"]):
        subprocess.run([*git, *arguments], check=True)
    asked = [*git, "rev-parse", "HEAD"]
    said = subprocess.run(asked, check=True, capture_output=True, text=True)
    found = fingerprint()
    assert (found["commit"], found["threads"]) == (said.stdout[:10], {"OMP_NUM_THREADS": "3"})
    (tmp_path / "f").write_text("two")
    assert fingerprint()["commit"] == f"{said.stdout[:10]}-dirty"


def test_a_run_has_a_short_name_and_the_last_five_are_told(tmp_path: Path) -> None:
    name = new_name(datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC))
    assert re.fullmatch("20300102-030405-[0-9a-f]{4}", name)
    for number in range(7):
        (tmp_path / f"r{number}").mkdir()
    with pytest.raises(UsageError, match=r"; the latest are r2, r3, r4, r5, r6$"):
        find_run(tmp_path, "s")


def test_evaluations_are_numbered_from_one(tmp_path: Path) -> None:
    files = [save_evaluation(tmp_path, "evaluation/2", {}).name for _ in range(3)]
    assert files == ["001.json", "002.json", "003.json"]


def test_shares_are_known_from_one_choice_on() -> None:
    cells = np.zeros((2, 1), np.int64)
    assert Sweep(((0, 1), (1, 0)), cells * 0.5, cells, cells).met.shape == (0, 0, 0)
    met = np.zeros((2, 4, 2), np.int64)
    met[1, 3, 0] = 1
    shares = right_by(Sweep(((0, 1), (1, 0)), cells * 0.5, cells, cells, met), ((0, 1), (1, 0)))
    assert np.isnan(shares[0]).all()
    assert shares[1].tolist() == [1.0, 0.0]


def _stored(path: Path) -> RunStore:
    config = StoredConfig(path.name, "now", False, {}, {}, ("ab", "cd"), 10, "d@1", "b@1")  # noqa: FBT003
    return RunStore.create(path, config)


def test_a_store_remembers_the_last_32_small_states(tmp_path: Path) -> None:
    store = _stored(tmp_path / "r")
    label = PolicyLabel((0, 1), ("ab", "cd"), "e", {}, (1,), 2, "d@1", "t", "r", 0, 0.0, 0.0)
    policy = StoredPolicy(PolicySnapshot("x:y", 1, {}), label)
    sizes = [8] * 31 + [1 << 20, 8, (1 << 20) + 8]
    for number, size in enumerate(sizes):
        store.save_checkpoint(Checkpoint(number, {"w": np.zeros(size // 8)}, policy, {}))
    shutil.rmtree(tmp_path / "r" / "checkpoints")
    assert [len(store.trainer_state(n)["w"]) for n in range(1, 33)] == [1] * 30 + [1 << 17, 1]
    for number in (0, 33):
        with pytest.raises(UsageError, match="cannot read"):
            store.trainer_state(number)
    store.close()


def test_a_finished_run_is_left_as_it_is(tmp_path: Path) -> None:
    store = _stored(tmp_path / "r")
    time = EventTime(1.0, 2.0, dict.fromkeys(PHASES, 0.0), None)
    started = RunStarted("r", 1, "e", "c", "t", "s", "d@1", "b@1", ("ab", "cd"), 3, 10)
    store.record(LogEntry(started, 0, time))
    assert not store.finished
    store.record(LogEntry(RunFinished("done", 0, 0, None), 0, time))
    assert store.finished
    cells = np.zeros((1, 1))
    sweep = {"normal": Sweep(((0, 1),), cells, cells, cells, np.zeros((1, 4, 2), np.int64))}
    for number in range(2):
        store.save_sweeps(number, sweep)
    store.close()
    assert read_json(tmp_path / "r" / "config.json", "run-config/2")["run"] == "r"
    again = RunStore.resume(tmp_path / "r")
    assert again.finished
    assert len(again.entries) == 2
    again.close()
    with (tmp_path / "r" / "events.jsonl").open("a") as file:
        file.write("{}\n")
    with pytest.raises(UsageError, match=r"events\.jsonl, line 3"):
        read_log(tmp_path / "r")


def test_tables_may_lag_behind_a_run_that_goes_on_only(tmp_path: Path) -> None:
    run = Path(shutil.copytree(DATA / "search", tmp_path / "r"))
    for name in ("events.jsonl", "updates.csv"):
        assert {one.problem for one in validate_run(run, load_session)} == {None}
        file = run / name
        file.write_bytes(b"".join(file.read_bytes().splitlines(keepends=True)[:-1]))
    assert {one.problem for one in validate_run(run, load_session)} == {None}
    shutil.copy(DATA / "search" / "events.jsonl", run)
    [(file_name, problem)] = [
        (one.file, one.problem) for one in validate_run(run, load_session) if one.problem
    ]
    assert file_name == "updates.csv"
    assert re.fullmatch(r"it has \d+ rows, but \d+ events", problem)
    (run / "updates.csv").write_bytes(b'schema\n"x"y\n')
    assert "updates.csv cannot be read: " in [
        f"{one.file} {one.problem[:16]}" for one in validate_run(run, load_session) if one.problem
    ]
