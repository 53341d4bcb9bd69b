from __future__ import annotations

import csv
import json
import math
import os
import pickle
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wfbench.contract import UsageError
from wfbench.policies import NetworkPolicy
from wfbench.store.config import StoredConfig
from wfbench.store.event_log import EventLog, plain, read_lines
from wfbench.store.events import (
    PHASES,
    SCHEMA,
    EventTime,
    LogEntry,
    RunEvent,
    RunStarted,
    RunWarning,
    UpdateFinished,
    WorkflowFinished,
    WorkflowStarted,
    encode,
)
from wfbench.store.files import (
    StorageError,
    read_arrays,
    read_json,
    write_arrays,
    write_json,
    write_whole,
)
from wfbench.store.lock import RunLock
from wfbench.store.places import checked_name, find_run, new_name
from wfbench.store.policy_file import (
    Checkpoint,
    PolicyLabel,
    StoredPolicy,
    read_checkpoint,
    read_policy,
    write_checkpoint,
    write_policy,
)
from wfbench.store.run import RunStore, read_log
from wfbench.store.table import CsvTable

HEAD = {"event": "run-started", "schema": SCHEMA}


def _stored(**changed: Any) -> StoredPolicy:
    network = NetworkPolicy.initial(6, 4, seed=1, condition=np.zeros(9, np.float32))
    label = PolicyLabel(
        order=(2, 0, 1),
        units=("a", "b", "c"),
        env="cage2",
        env_options={"red": "bline", "episode_steps": 100, "memory": False},
        obs_shape=(6,),
        num_actions=4,
        definition="effective@1",
        trainer="ppo",
        run="r",
        workflow=3,
        score=-12.5,
        compliance=0.97,
    )
    return StoredPolicy(network.snapshot(), PolicyLabel(**{**label.__dict__, **changed}))


class TestFiles:
    def test_a_reader_sees_the_old_content_or_the_new(self, tmp_path: Path) -> None:
        path = tmp_path / "f"
        write_whole(path, b"old")
        with pytest.raises(TypeError):
            write_whole(path, "not bytes")  # type: ignore[arg-type]
        assert path.read_bytes() == b"old"
        assert [p.name for p in tmp_path.iterdir()] == ["f"]
        write_whole(path, b"new")
        assert path.read_bytes() == b"new"

    def test_what_the_system_refuses_names_the_file(self, tmp_path: Path) -> None:
        with pytest.raises(StorageError, match=r"cannot write .*missing.*: No such file"):
            write_whole(tmp_path / "missing" / "f", b"")

    def test_json_of_another_schema_is_refused(self, tmp_path: Path) -> None:
        write_json(tmp_path / "f.json", "thing/1", {"x": 1})
        assert read_json(tmp_path / "f.json", "thing/1")["x"] == 1
        with pytest.raises(UsageError, match="schema 'wfbench/thing/1', not 'wfbench/thing/2'"):
            read_json(tmp_path / "f.json", "thing/2")
        (tmp_path / "bad.json").write_text("[1")
        with pytest.raises(UsageError, match="is not JSON"):
            read_json(tmp_path / "bad.json", "thing/1")

    def test_the_same_arrays_give_the_same_bytes(self, tmp_path: Path) -> None:
        arrays = {"a": np.arange(5), "b/c": np.ones((2, 3), np.float32)}
        for name in ("one", "two"):
            write_arrays(tmp_path / name, arrays, {"schema": "wfbench/x/1", "k": [1, 2]})
        assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
        found, meta = read_arrays(tmp_path / "one", "x/1")
        assert {n: a.tolist() for n, a in found.items()} == {
            n: a.tolist() for n, a in arrays.items()
        }
        assert meta["k"] == [1, 2]

    def test_python_objects_are_neither_written_nor_read(self, tmp_path: Path) -> None:
        with pytest.raises(ValueError, match="Python objects"):
            write_arrays(tmp_path / "f", {"a": np.array([{}], dtype=object)}, {})

        marker = tmp_path / "ran"

        class Bomb:
            def __reduce__(self) -> Any:
                return os.mkdir, (str(marker),)

        file = tmp_path / "bomb.npz"
        with file.open("wb") as out:
            np.savez(out, meta=np.array([Bomb()], dtype=object), allow_pickle=True)
        (tmp_path / "bare.npz").write_bytes(pickle.dumps(Bomb()))
        for path in (file, tmp_path / "bare.npz"):
            with pytest.raises(UsageError, match="not a file of plain arrays"):
                read_arrays(path, "x/1")
        assert not marker.exists()

    def test_damaged_arrays_are_told_in_one_line(self, tmp_path: Path) -> None:
        path = tmp_path / "f.npz"
        write_arrays(path, {"a": np.arange(5.0)}, {"schema": "wfbench/x/1"})
        whole = path.read_bytes()
        huge = whole.replace(b"'shape': (5,), ", b"'shape': (5" + b"0" * 13 + b",), ")
        encrypted = whole.replace(b"PK\x01\x02", b"PK\x01\x02" + b"\xff" * 4, 1)
        for broken in (b"", b"junk", whole[:60], whole[: len(whole) // 2], huge, encrypted):
            path.write_bytes(broken)
            with pytest.raises(UsageError, match=r"f\.npz is damaged, or not a file of plain"):
                read_arrays(path, "x/1")


class TestEventLog:
    def _written(self, path: Path, *events: dict[str, Any]) -> None:
        log = EventLog(path)
        for event in events:
            log.append(event)
        log.sync()
        log.close()

    def test_numbers_that_are_not_finite_become_null(self, tmp_path: Path) -> None:
        path = tmp_path / "e"
        self._written(path, HEAD, {"event": "x", "v": math.nan, "w": [math.inf, 1.5]})
        assert read_lines(path)[1] == {"event": "x", "v": None, "w": [None, 1.5]}
        assert "NaN" not in path.read_text()

    def test_only_the_last_line_may_be_torn(self, tmp_path: Path) -> None:
        path = tmp_path / "e"
        self._written(path, HEAD, {"event": "a"}, {"event": "b"})
        whole = path.read_bytes()
        for cut in range(len(whole) - len(b'{"event":"b"}\n') + 1, len(whole)):
            path.write_bytes(whole[:cut])
            assert [e["event"] for e in read_lines(path)] == ["run-started", "a"]
        lines = whole.splitlines(keepends=True)
        path.write_bytes(lines[0] + b"{torn\n" + lines[2])
        with pytest.raises(UsageError, match="line 2 is not JSON"):
            read_lines(path)

    def test_a_log_that_is_not_there_or_empty_has_no_events(self, tmp_path: Path) -> None:
        assert read_log(tmp_path) == []
        (tmp_path / "events.jsonl").touch()
        assert read_log(tmp_path) == []

    def test_another_schema_is_refused(self, tmp_path: Path) -> None:
        head = {"event": "run-started", "schema": "wfbench/events/99"}
        self._written(tmp_path / "events.jsonl", head)
        with pytest.raises(UsageError, match="events/99"):
            read_log(tmp_path)


def test_a_table_has_its_schema_in_every_row_and_leaves_out_what_is_missing(tmp_path: Path) -> None:
    table = CsvTable(tmp_path / "t.csv", "rows/1", ("a", "b", "c"))
    table.rewrite([{"a": 1, "b": math.nan}])
    table.append({"a": 2.5, "b": "x,y", "c": {"k": 1.0, "l": 2}, "ignored": 1})
    table.close()
    table.close()
    assert (tmp_path / "t.csv").read_text().splitlines() == [
        "schema,a,b,c",
        "wfbench/rows/1,1,,",
        'wfbench/rows/1,2.5,"x,y",k=1 l=2',
    ]


def test_the_lock_goes_with_its_process(tmp_path: Path) -> None:
    held = RunLock(tmp_path)
    with pytest.raises(UsageError, match=f"in use by process {os.getpid()}"):
        RunLock(tmp_path)
    held.release()
    held.release()
    code = (
        "import os, sys; from pathlib import Path; from wfbench.store.lock import RunLock; "
        "lock = RunLock(Path(sys.argv[1])); os._exit(9)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], timeout=100, check=False)
    assert done.returncode == 9
    RunLock(tmp_path).release()


class TestPolicyFile:
    def test_it_comes_back_as_it_was(self, tmp_path: Path) -> None:
        stored = _stored()
        write_policy(tmp_path / "p.npz", stored)
        found = read_policy(tmp_path / "p.npz")
        assert found.label == stored.label
        obs = np.random.default_rng(0).integers(0, 2, (20, 6)).astype(np.float32)
        draws = np.linspace(0, 0.99, 20)
        expected = stored.snapshot.policy().act(obs, draws)
        for one, other in zip(expected, found.policy().act(obs, draws), strict=True):
            np.testing.assert_array_equal(one, other)

    def test_no_learning_library_is_needed(self, tmp_path: Path) -> None:
        write_policy(tmp_path / "p.npz", _stored())
        code = (
            "import sys; sys.modules['torch'] = None\n"
            "from pathlib import Path; import numpy as np\n"
            "from wfbench.store.policy_file import read_policy\n"
            "policy = read_policy(Path(sys.argv[1])).policy()\n"
            "print(policy.act(np.zeros((1, 6), np.float32), np.zeros(1)).actions.shape)"
        )
        done = subprocess.run(
            [sys.executable, "-c", code, str(tmp_path / "p.npz")],
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )
        assert done.stdout == "(1,)\n", done.stderr

    def test_plain_numpy_reads_it(self, tmp_path: Path) -> None:
        write_policy(tmp_path / "p.npz", _stored())
        with np.load(tmp_path / "p.npz", allow_pickle=False) as arrays:
            meta = json.loads(bytes(arrays["meta"]))
            assert arrays["actor.0.weights"].shape == (15, 64)
        assert meta["order"] == [2, 0, 1]
        assert meta["env_options"]["red"] == "bline"

    @pytest.mark.parametrize("restore", ["os:system", "subprocess:Popen", "wfbench.cli.main:main"])
    def test_a_file_cannot_name_just_any_code(self, tmp_path: Path, restore: str) -> None:
        stored = _stored()
        snapshot = type(stored.snapshot)(restore, 1, stored.snapshot.arrays)
        write_policy(tmp_path / "p.npz", StoredPolicy(snapshot, stored.label))
        with pytest.raises(UsageError, match="neither wfbench's nor a loaded plugin's"):
            read_policy(tmp_path / "p.npz").policy()

    def test_a_label_with_something_missing_is_refused(self, tmp_path: Path) -> None:
        meta = {"schema": "wfbench/policy/1", "restore": "x:y", "version": 1, "order": [0]}
        write_arrays(tmp_path / "p.npz", {}, meta)
        with pytest.raises(UsageError, match="has no 'units'"):
            read_policy(tmp_path / "p.npz")


def test_a_checkpoint_comes_back_as_it_was(tmp_path: Path) -> None:
    state = {"weights": np.arange(6.0).reshape(2, 3), "step": np.array(4)}
    written = Checkpoint(7, state, _stored(workflow=7), {"tried": [[[0, 1], None]]})
    write_checkpoint(tmp_path / "c.npz", written)
    found = read_checkpoint(tmp_path / "c.npz")
    assert (found.workflow, found.searcher, found.policy.label) == (
        7,
        written.searcher,
        written.policy.label,
    )
    assert {name: a.tolist() for name, a in found.trainer.items()} == {
        "weights": [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]],
        "step": 4,
    }


UNITS = ("ab", "cd")
STARTED = RunStarted("r", 1, "e", "c", "t", "s", "d@1", "b@1", UNITS, 3, 10)


def _begun(workflow: int) -> WorkflowStarted:
    return WorkflowStarted(workflow, (0, 1), "d@1", 7, workflow, 1, None, None, 40, 2, 10)


def _update(workflow: int, number: int = 1, **stats: float) -> UpdateFinished:
    numbers = (math.nan, 0.5, 0.25, 0.5, 3.0, 2.0, 1.0)
    return UpdateFinished(
        workflow, number, (0, 1), "d@1", "b@1", 0, 20, 20, 0, *numbers, marks=("m",), stats=stats
    )


def _done(workflow: int) -> WorkflowFinished:
    return WorkflowFinished(
        workflow=workflow,
        order=(0, 1),
        seed=7,
        inherited_from=None,
        status="budget",
        reason="episodes",
        score=-3.0,
        score_sd=math.nan,
        score_episodes=1,
        score_source="evaluate:1",
        compliance=0.5,
        secondary_compliance=0.25,
        fixes=3.0,
        counted=2.0,
        wasted=1.0,
        compliant=False,
        steps_to_compliance=None,
        updates=1,
        env_steps=20,
        evaluation_steps=0,
        episodes=2,
        definition="d@1",
        secondary="b@1",
        best=True,
    )


def _entry(event: RunEvent, seconds: float = 0.5, training: float | None = None) -> LogEntry:
    work = {**dict.fromkeys(PHASES, 0.0), "update": seconds}
    return LogEntry(event, 40, EventTime(1.0, 2.0, work, training))


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


class TestRunStore:
    def _create(self, path: Path) -> RunStore:
        config = StoredConfig(path.name, "now", False, {}, {}, UNITS, 10, "d@1", "b@1")  # noqa: FBT003
        return RunStore.create(path, config)

    def _record(self, path: Path, *events: RunEvent) -> Path:
        store = self._create(path)
        for event in events:
            store.record(
                _entry(event, training=9.0 if isinstance(event, WorkflowFinished) else None)
            )
        store.close()
        return path

    def test_a_name_that_is_taken_is_refused(self, tmp_path: Path) -> None:
        self._create(tmp_path / "r").close()
        with pytest.raises(UsageError, match="already exists"):
            self._create(tmp_path / "r")

    def test_it_writes_config_machine_events_and_tables(self, tmp_path: Path) -> None:
        run = self._record(tmp_path / "r", STARTED, _begun(0), _update(0), _done(0))
        machine = read_json(run / "machine.json", "machine/1")
        assert machine["cores"] >= 1
        assert machine["packages"]["numpy"]
        [row] = _rows(run / "workflows.csv")
        assert (row["schema"], row["workflow"], row["order"]) == ("wfbench/workflows/2", "0", "A>C")
        assert len(_rows(run / "updates.csv")) == 1

    def test_every_event_is_read_back_as_it_was_written(self, tmp_path: Path) -> None:
        events = [STARTED, _begun(0), _update(0, loss=1.5), RunWarning("look"), _done(0)]
        run = self._record(tmp_path / "r", *events)
        found = read_log(run)
        # NaN is not equal to itself, so what is written is compared.
        assert [json.dumps(plain(encode(one, UNITS))) for one in found] == [
            json.dumps(line) for line in read_lines(run / "events.jsonl")
        ]
        assert found[0].event == STARTED
        assert found[1].event == _begun(0)

    def test_a_workflow_has_the_elapsed_time_of_its_training_and_all_of_its_work(
        self, tmp_path: Path
    ) -> None:
        events = [STARTED, _begun(0), _update(0), _done(0), _begun(1), _update(1), _done(1)]
        rows = _rows(self._record(tmp_path / "r", *events) / "workflows.csv")
        assert [row["wall_seconds"] for row in rows] == ["9", "9"]
        assert [row["work_seconds"] for row in rows] == ["1.5", "1.5"]
        assert [row["update_seconds"] for row in rows] == ["1.5", "1.5"]

    def test_every_statistic_is_a_column_whenever_it_turns_up(self, tmp_path: Path) -> None:
        events = [STARTED, _begun(0), _update(0), _update(0, 2, loss=1.5), _update(0, 3, kl=2.0)]
        rows = _rows(self._record(tmp_path / "r", *events) / "updates.csv")
        assert [(row["stat_loss"], row["stat_kl"]) for row in rows] == [
            ("", ""),
            ("1.5", ""),
            ("", "2"),
        ]

    def test_trainers_states_are_those_of_the_files_whoever_changes_theirs(
        self, tmp_path: Path
    ) -> None:
        run = self._record(tmp_path / "r", STARTED)
        states = [{"w": np.full(3, n), "large": np.zeros((n % 2) << 17)} for n in range(40)]
        store = RunStore.resume(run)
        for number, state in enumerate(states):
            store.save_checkpoint(Checkpoint(number, state, _stored(), {}))
            state["w"] += 100
            store.trainer_state(number)["w"] += 100
        for number in range(40):
            file = store.load_checkpoint(number).trainer
            state = store.trainer_state(number)
            assert state["w"].tolist() == file["w"].tolist() == [number] * 3
            assert len(state["large"]) == len(file["large"])
        store.close()

    def test_resuming_makes_the_tables_agree_with_the_events(self, tmp_path: Path) -> None:
        events = [STARTED, _begun(0), _update(0, loss=1.0), _done(0), _begun(1), _update(1, kl=1.0)]
        run = self._record(tmp_path / "r", *events)
        (run / "checkpoints" / ".001.npz.77.tmp").write_bytes(b"half")
        again = RunStore.resume(run)
        kinds = [type(entry.event) for entry in again.entries]
        assert kinds == [RunStarted, WorkflowStarted, UpdateFinished, WorkflowFinished]
        assert not again.finished
        assert not list((run / "checkpoints").iterdir())
        again.close()
        [row] = _rows(run / "updates.csv")
        assert "stat_kl" not in row
        assert len(read_log(run)) == 4

    def test_without_a_finished_workflow_only_the_start_stays(self, tmp_path: Path) -> None:
        run = self._record(tmp_path / "r", STARTED, _begun(0), _update(0))
        again = RunStore.resume(run)
        assert [entry.event for entry in again.entries] == [STARTED]
        again.close()

    def test_a_closed_run_takes_no_more_events(self, tmp_path: Path) -> None:
        store = self._create(tmp_path / "r")
        store.close()
        with pytest.raises(ValueError, match="closed"):
            store.record(_entry(_update(0)))

    def test_what_is_no_run_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(UsageError, match="is not a run"):
            RunStore.resume(tmp_path)


class TestPlaces:
    def test_names_sort_by_time_and_are_safe(self) -> None:
        early, late = (new_name(datetime(2030, 1, day, tzinfo=UTC)) for day in (1, 2))
        assert early < late
        assert checked_name(early) == early

    @pytest.mark.parametrize("name", ["", "../x", "a/b", ".hidden", "a b"])
    def test_a_name_that_could_escape_is_refused(self, name: str) -> None:
        with pytest.raises(UsageError, match="cannot be the name of a run"):
            checked_name(name)

    def test_a_run_is_found_by_name_and_by_path(self, tmp_path: Path) -> None:
        (tmp_path / "r").mkdir()
        (tmp_path / "r" / "config.json").write_text("{}")
        assert find_run(tmp_path, "r") == tmp_path / "r"
        assert find_run(Path("elsewhere"), str(tmp_path / "r")) == tmp_path / "r"
        with pytest.raises(UsageError, match=r"no run 's' in .*; the latest are r"):
            find_run(tmp_path, "s")
