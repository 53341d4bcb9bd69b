"""What is wrong with a run is named, file and line."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from wfbench.benchmarks.measure.saved import load_session
from wfbench.contract import UsageError
from wfbench.store.config import search_paths, write_matrix
from wfbench.store.evaluations import read_evaluations, save_evaluation
from wfbench.store.lock import RunLock, in_use
from wfbench.store.run import files_of, remove_run
from wfbench.store.validation import validate_run

DATA = Path(__file__).parents[2] / "formats" / "data"


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    return Path(shutil.copytree(DATA, tmp_path / "runs"))


def _problems(path: Path) -> list[tuple[str, str]]:
    return [(f.file, f.problem) for f in validate_run(path, load_session) if f.problem is not None]


def _change(old: bytes, new: bytes) -> Callable[[Path], None]:
    def change(file: Path) -> None:
        data = file.read_bytes()
        assert old in data
        file.write_bytes(data.replace(old, new, 1))

    return change


def _append(data: bytes) -> Callable[[Path], None]:
    def change(file: Path) -> None:
        with file.open("ab") as opened:
            opened.write(data)

    return change


def _drop(file: Path) -> None:
    file.unlink()


@pytest.mark.parametrize(
    ("name", "spoil", "said"),
    [
        ("search/events.jsonl", _append(b'{"event":"upd'), "the last one, is torn"),
        ("search/events.jsonl", _append(b"nothing\n"), "not JSON"),
        ("search/events.jsonl", _append(b"[]\n"), "it is not a JSON object"),
        ("search/events.jsonl", _change(b'"wall":', b'"wall":1'), "phases sum to"),
        ("search/events.jsonl", _change(b'"ledger":40', b'"ledger":900'), "steps spent fall"),
        ("search/events.jsonl", _change(b"events/1", b"events/9"), "its schema is"),
        ("search/events.jsonl", _drop, "cannot be read"),
        ("search/config.json", _change(b"run-config/1", b"run-config/9"), "schema"),
        (
            "search/config.json",
            _change(b'"units"', b'"unit"'),
            "'unit', which this version does not know",
        ),
        ("search/machine.json", _change(b"{", b"["), "is not JSON"),
        ("search/workflows.csv", _change(b"budget", b"nudged"), "line 2: status"),
        ("search/updates.csv", _change(b"updates/1", b"updates/2"), "its schema is"),
        ("search/updates.csv", _append(b"x,1\n"), "rows, but"),
        ("search-2/events.jsonl", _change(b'"work":', b'"work":1'), "phases sum to"),
        ("search-2/events.jsonl", _change(b'"update":1,', b'"updat":1,'), "does not know"),
        ("search-2/workflows.csv", _change(b"budget", b"nudged"), "line 2: status"),
        ("search-2/updates.csv", _change(b"updates/2", b"updates/1"), "its schema is"),
        ("search-2/updates.csv", _change(b"stat_value", b"stat_other"), "stat_other"),
        ("search/checkpoints/001.npz", _drop, "cannot read"),
        ("search/checkpoints/.x.tmp", _append(b"half"), "never finished"),
        ("search/policy.npz", _change(b"PK", b"no"), "not a file of plain arrays"),
        ("search/evaluations/003.json", _append(b"{}"), "has schema None"),
        (
            "search/events.jsonl",
            lambda file: file.write_bytes(b"x" * 41),
            f"line 1, the last one, is torn: '{'x' * 40}'",
        ),
        (
            "search/events.jsonl",
            lambda file: file.write_bytes(b"[]\nx"),
            "line 2, the last one, is",
        ),
        ("search/events.jsonl", _drop, "cannot be read: No such file or directory"),
        ("bench/samples.jsonl", _append(b'{"case"'), "line 9, the last one, is torn"),
        ("bench/samples.jsonl", _change(b'"case":0', b'"case":7'), "no case 7"),
        ("matrix/matrix.json", _change(b'"cells"', b'"cell"'), "does not list its searches"),
    ],
)
def test_what_is_wrong_is_named(
    name: str, spoil: Callable[[Path], None], said: str, runs: Path
) -> None:
    run, _, file = name.partition("/")
    assert _problems(runs / run) == []
    spoil(runs / name)
    found = _problems(runs / run)
    assert [said in what for where, what in found if where == file][:1] == [True]


def test_a_policy_of_another_workflow_than_the_best_is_noticed(runs: Path) -> None:
    run = runs / "search"
    before, mark, after = (run / "events.jsonl").read_bytes().rpartition(b'"best":true')
    assert mark
    (run / "events.jsonl").write_bytes(before + b'"best":false' + after)
    if b'"best":true' in before:
        [(file, said)] = _problems(run)
        assert (file, "was the best" in said) == ("policy.npz", True)
    else:
        pytest.fail("the kept run must have had two best workflows one after the other")


def test_a_directory_that_is_no_run_is_said_to_be_none(tmp_path: Path) -> None:
    [(file, said)] = _problems(tmp_path)
    assert file == "config.json"
    assert "is not a run" in said


def test_a_run_in_use_is_not_removed(runs: Path) -> None:
    for name, part in (("search", ""), ("matrix", "01-pipe-workers-1-tiny-lr-0.002")):
        lock = RunLock(runs / name / part)
        assert in_use(runs / name / part)
        with pytest.raises(UsageError, match="in use by process"):
            remove_run(runs / name)
        lock.release()
        assert not in_use(runs / name / part)
        assert files_of(runs / name)
        remove_run(runs / name)
        assert not (runs / name).exists()
    assert sorted(path.name for path in runs.iterdir() if path.is_dir()) == [
        "bench",
        "matrix-2",
        "search-2",
        "search-ppo",
        "search-without-executor",
    ]


def test_a_link_and_what_is_no_run_are_not_removed(runs: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(runs / "search")
    with pytest.raises(UsageError, match="is a link"):
        remove_run(tmp_path / "link")
    with pytest.raises(UsageError, match="is not a run"):
        remove_run(runs)
    assert (runs / "search" / "config.json").exists()


def test_evaluations_are_numbered_and_read_back_in_order(runs: Path) -> None:
    run = runs / "search-without-executor"
    assert read_evaluations(run) == []
    for number in range(12):
        save_evaluation(run, "evaluation/1", {"number": number})
    assert [values["number"] for values in read_evaluations(run)] == list(range(12))


@pytest.mark.parametrize("listed", ["[]", '"one"', "null"])
def test_a_matrix_without_searches_is_refused(listed: str, tmp_path: Path) -> None:
    write_matrix(tmp_path, "r", ["one", "two"])
    assert search_paths(tmp_path) == [tmp_path / "one", tmp_path / "two"]
    file = tmp_path / "matrix.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"searches": json.loads(listed)}))
    with pytest.raises(UsageError, match=r"matrix\.json does not list its searches"):
        search_paths(tmp_path)
