from __future__ import annotations

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
from wfbench.store.checkpoint import Checkpoint, read_checkpoint, write_checkpoint
from wfbench.store.event_log import SCHEMA, EventLog, keep_until, read_events
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
from wfbench.store.policy_file import PolicyLabel, StoredPolicy, read_policy, write_policy
from wfbench.store.run import RunStore
from wfbench.store.table import Table

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
        assert read_events(path)[1] == {"event": "x", "v": None, "w": [None, 1.5]}
        assert "NaN" not in path.read_text()

    def test_only_the_last_line_may_be_torn(self, tmp_path: Path) -> None:
        path = tmp_path / "e"
        self._written(path, HEAD, {"event": "a"}, {"event": "b"})
        whole = path.read_bytes()
        for cut in range(len(whole) - len(b'{"event":"b"}\n') + 1, len(whole)):
            path.write_bytes(whole[:cut])
            assert [e["event"] for e in read_events(path)] == ["run-started", "a"]
        lines = whole.splitlines(keepends=True)
        path.write_bytes(lines[0] + b"{torn\n" + lines[2])
        with pytest.raises(UsageError, match="line 2 is not JSON"):
            read_events(path)

    def test_what_follows_the_last_finished_workflow_is_cut_off(self, tmp_path: Path) -> None:
        path = tmp_path / "e"
        self._written(path, HEAD, {"event": "done"}, {"event": "done"}, {"event": "half"})
        size = path.stat().st_size
        assert len(keep_until(path, "done")) == 3
        assert path.stat().st_size < size
        self._written(path, {"event": "more"})
        assert [e["event"] for e in read_events(path)] == ["run-started", "done", "done", "more"]

    def test_without_a_finished_workflow_only_the_start_stays(self, tmp_path: Path) -> None:
        path = tmp_path / "e"
        self._written(path, HEAD, {"event": "half"})
        assert keep_until(path, "done") == [HEAD]

    def test_a_run_killed_before_its_first_event_has_none(self, tmp_path: Path) -> None:
        assert keep_until(tmp_path / "none", "done") == []
        (tmp_path / "empty").touch()
        assert keep_until(tmp_path / "empty", "done") == []

    def test_another_schema_is_refused(self, tmp_path: Path) -> None:
        self._written(tmp_path / "e", {"event": "run-started", "schema": "wfbench/events/99"})
        with pytest.raises(UsageError, match="events/99"):
            read_events(tmp_path / "e")


def test_a_table_has_its_schema_in_every_row_and_leaves_out_what_is_missing(tmp_path: Path) -> None:
    table = Table(tmp_path / "t.csv", "rows/1", ("a", "b", "c"))
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
        with pytest.raises(UsageError, match="does not say what the policy is for"):
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


def _event(kind: str, **values: Any) -> dict[str, Any]:
    return {"event": kind, **values, "ledger": 0, "time": {"at": 1.0, "wall": 0.5}}


class TestRunStore:
    def _create(self, path: Path) -> RunStore:
        return RunStore.create(path, {"run": path.name, "settings": {}})

    def test_a_name_that_is_taken_is_refused(self, tmp_path: Path) -> None:
        self._create(tmp_path / "r").close()
        with pytest.raises(UsageError, match="already exists"):
            self._create(tmp_path / "r")

    def test_it_writes_config_machine_events_and_tables(self, tmp_path: Path) -> None:
        store = self._create(tmp_path / "r")
        store.record(_event("run-started", schema=SCHEMA))
        store.record(_event("update", workflow=0, update=1, order="A>B"))
        store.record(_event("workflow-finished", workflow=0, order="A>B", score=-3.0))
        store.close()
        machine = read_json(tmp_path / "r" / "machine.json", "machine/1")
        assert machine["cores"] >= 1
        assert machine["packages"]["numpy"]
        rows = (tmp_path / "r" / "workflows.csv").read_text().splitlines()
        assert rows[1].startswith("wfbench/workflows/1,0,A>B,")
        assert len((tmp_path / "r" / "updates.csv").read_text().splitlines()) == 2

    def test_resuming_makes_the_tables_agree_with_the_events(self, tmp_path: Path) -> None:
        store = self._create(tmp_path / "r")
        store.record(_event("run-started", schema=SCHEMA))
        store.record(_event("update", workflow=0, update=1))
        store.record(_event("workflow-finished", workflow=0))
        store.record(_event("update", workflow=1, update=1))
        store.close()
        (tmp_path / "r" / "checkpoints" / ".001.npz.77.tmp").write_bytes(b"half")
        again = RunStore.resume(tmp_path / "r")
        assert [e["event"] for e in again.events] == ["run-started", "update", "workflow-finished"]
        assert not again.finished
        assert not list((tmp_path / "r" / "checkpoints").iterdir())
        again.close()
        assert len((tmp_path / "r" / "updates.csv").read_text().splitlines()) == 2

    def test_a_closed_run_takes_no_more_events(self, tmp_path: Path) -> None:
        store = self._create(tmp_path / "r")
        store.close()
        with pytest.raises(ValueError, match="closed"):
            store.record(_event("update"))

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
