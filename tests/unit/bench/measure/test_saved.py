from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from wfbench.benchmarks.measure.model import (
    PHASES,
    Case,
    Measurement,
    Sample,
    Session,
    Settings,
)
from wfbench.benchmarks.measure.saved import SessionWriter, load_bench_config, load_session
from wfbench.benchmarks.measure.summary import (
    EqualWork,
    equal_work,
    is_sound,
    max_foreign_cores,
    summarise,
)
from wfbench.contract import EnvRef, UsageError
from wfbench.report.catalogue import describe_run
from wfbench.store.places import find_run, run_kind
from wfbench.store.run import RunStore

ENV = EnvRef("made", "made:Env", None, {"size": 3, "name": "x", "share": 0.5})
CASES = [
    Case(
        "shm:workers=2",
        "made:Shm",
        {"workers": 2, "path": None},
        ENV,
        4,
        "random",
        deterministic=True,
    ),
    Case("async", "made:Async", {}, ENV, 4, "random", deterministic=False),
]
MEASURED = Measurement(
    *(0.5, 0.1, 2.0, 3.0, 0.0, 1000, 10, 2**20, {"env": 2.0}, 1, 2, 0, 0, 0.5, 1, (), "h", True)
)
SAMPLES = [
    Sample(
        0, 0, 0, 7, measurement=replace(MEASURED, turns=((9, 0.5, 1.0),), beside=((4, 0.5, 2.0),))
    ),
    Sample(1, 0, 1, 7, failure="it hung"),
    Sample(1, 1, 2, 8, measurement=replace(MEASURED, marks=("restarted",), notes=("odd",))),
]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    settings = Settings(rounds=2, smoke=True)
    with SessionWriter(tmp_path / "new", "r", CASES, settings, ["bench", "--smoke"]) as writer:
        for sample in SAMPLES:
            writer.record(sample)
    return writer.path


def test_a_session_comes_back_as_it_was(run: Path) -> None:
    session = load_session(run)
    assert session.cases == tuple(CASES)
    assert session.samples == tuple(SAMPLES)
    assert session.settings == Settings(rounds=2, smoke=True)
    assert load_bench_config(run).command == ("bench", "--smoke")
    assert not session.finished


def test_a_line_that_was_torn_is_left_out(run: Path) -> None:
    file = run / "samples.jsonl"
    file.write_bytes(file.read_bytes()[:-10])
    assert load_session(run).samples == tuple(SAMPLES[:2])


def test_a_run_without_samples_yet_is_empty(run: Path) -> None:
    (run / "samples.jsonl").unlink()
    assert load_session(run).samples == ()


def test_bench_runs_are_told_from_searches(run: Path) -> None:
    assert find_run(run.parent, "r") == run
    assert run_kind(run) == "bench"
    with pytest.raises(UsageError, match="not a search and cannot be"):
        RunStore.resume(run)


def test_a_run_in_use_is_locked(tmp_path: Path) -> None:
    with (
        SessionWriter(tmp_path, "r", CASES, Settings()),
        pytest.raises(UsageError, match="already exists; choose another --name"),
    ):
        SessionWriter(tmp_path, "r", CASES, Settings())


def change_config(where: Path, /, **changed: Any) -> None:
    file = where / "config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | changed))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"schema": "wfbench/bench-config/9"}, "schema 'wfbench/bench-config/9', not"),
        ({"extra": 1}, "has 'extra', which this version does not know"),
        ({"run": 3}, "config.json, run is 3, not of type str"),
        ({"cases": {}}, "cases is {}, not a list"),
        ({"cases": [{}]}, r"cases\[0\] has no 'label'"),
        ({"settings": {"rounds": 0}}, "rounds is 0; it must be at least 1"),
        ({"settings": {"rounds": True}}, "settings, rounds is True, not of type int"),
        ({"settings": []}, r"settings is \[\], not an object"),
    ],
)
def test_a_configuration_that_is_not_ours_is_refused(
    run: Path, changed: dict[str, Any], message: str
) -> None:
    change_config(run, **changed)
    with pytest.raises(UsageError, match=message):
        load_session(run)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{}", "line 1 is not a sample of schema"),
        ("[]", "line 1 is not a JSON object"),
        ("nonsense", "line 1 is not JSON"),
        (json.dumps({"schema": "wfbench/samples/1", "case": 0}), "has no 'round'"),
    ],
)
def test_a_broken_line_is_named(run: Path, line: str, message: str) -> None:
    file = run / "samples.jsonl"
    file.write_text(f"{line}\n{file.read_text()}")
    with pytest.raises(UsageError, match=message):
        load_session(run)


def test_a_sample_of_an_unknown_case_is_refused(run: Path) -> None:
    change_config(run, cases=[])
    with pytest.raises(UsageError, match="line 1: there is no case 0"):
        load_session(run)


def test_a_config_that_names_nothing_known_is_refused(run: Path) -> None:
    change_config(run, schema="other/1")
    with pytest.raises(UsageError, match="schema 'other/1', which this version does not know"):
        run_kind(run)


def test_a_bench_of_unequal_work_is_not_called_complete(tmp_path: Path) -> None:
    cases = [replace(CASES[0], label=label) for label in ("a", "b")]
    with SessionWriter(tmp_path, "odd", cases, Settings(rounds=1)) as writer:
        for number, proof in enumerate("xy"):
            taken = replace(MEASURED, transition_hash=proof, phases=dict.fromkeys(PHASES, 0.5))
            writer.record(Sample(number, 0, number, 7, measurement=taken))
    found = describe_run(writer.path)
    assert found.status == "unsound"
    assert found.says.startswith("unequal work: b; ")
    assert not found.has_figures


@pytest.mark.parametrize(
    ("change", "sound"),
    [({}, True), ({"failure": "it hung", "measurement": None}, False)],
)
def test_a_session_is_sound_unless_a_sample_failed(change: dict[str, Any], *, sound: bool) -> None:
    taken = replace(MEASURED, phases=dict.fromkeys(PHASES, 0.5))
    samples = [Sample(0, number, number, 7, measurement=taken) for number in range(2)]
    samples[1] = replace(samples[1], **change)
    session = Session((CASES[0],), Settings(rounds=2), tuple(samples))
    assert is_sound(session) == sound
    pair = Session(
        (CASES[0], replace(CASES[0], label="b")),
        Settings(rounds=1),
        (samples[0], Sample(1, 0, 1, 7, measurement=replace(taken, transition_hash="other"))),
    )
    assert not is_sound(pair)
    [work] = equal_work(pair)
    assert (work.steps, work.unended) == (0, 0)
    [one] = summarise(session)
    assert one.skipped is None


def test_what_was_left_out_says_why_in_its_summary() -> None:
    left_out = Session((CASES[0],), Settings(rounds=1), (Sample(0, 0, 0, 7, skipped="too slow"),))
    [one] = summarise(left_out)
    assert (one.skipped, one.figures, one.samples) == ("too slow", None, 1)
    work = EqualWork(4, ("a",), equal=True, transition_hash="h")
    assert (work.steps, work.unended) == (0, 0)


@pytest.mark.parametrize(
    ("foreign", "cores"),
    [((None, None), None), ((None, 1.02), 0.5), ((2.02, 1.02), 1.0), ((0.01, None), 0.0)],
)
def test_the_most_disturbed_case_says_what_others_used(
    foreign: tuple[float | None, float | None], cores: float | None
) -> None:
    samples = tuple(
        Sample(index, 0, index, 7, measurement=replace(MEASURED, foreign_cpu=seconds))
        for index, seconds in enumerate(foreign)
    )
    found = max_foreign_cores(Session(tuple(CASES), Settings(rounds=1), samples))
    assert found == (None if cores is None else pytest.approx(cores))


@pytest.mark.parametrize(("cores", "disturbed"), [(None, False), (0.1, False), (0.11, True)])
def test_figures_suffer_from_more_than_a_tenth_of_a_core(
    cores: float | None, *, disturbed: bool
) -> None:
    taken = replace(MEASURED, phases=dict.fromkeys(PHASES, 0.5))
    sample = Sample(0, 0, 0, 7, measurement=taken)
    [one] = summarise(Session((CASES[0],), Settings(rounds=1), (sample,)))
    assert one.figures is not None
    assert replace(one.figures, foreign_cores=cores).disturbed == disturbed
