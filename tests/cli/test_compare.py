from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from wfbench.benchmarks.measure.model import Case, Measurement, Sample, Settings
from wfbench.benchmarks.measure.saved import SessionWriter
from wfbench.contract import EnvRef

ENV = EnvRef("made", "made:Env", None, {"size": 3})
PHASES = {"env": 1.0, "transport": 0.0, "inference": 0.0, "idle": 0.0}
MEASURED = Measurement(
    *(0.5, 0.1, 1.0, 1.0, 0.0, 1000, 10, 2**20, PHASES, 0, 0, 0, 0, 0.0, 0, (), "h", False)
)
WEATHER = (1.0, 0.7, 1.2, 0.9, 0.6, 1.1)
NOISE = (1.0, 1.01, 0.99, 1.005, 0.995, 1.002)


def save(
    folder: Path, name: str, rates: dict[str, float], settings: Settings | None = None
) -> Path:
    """A bench run on the disk, whose rounds are slowed down alike by other programs."""
    cases = [Case(label, "made:C", {}, ENV, 4, "random", deterministic=True) for label in rates]
    with SessionWriter(folder, name, cases, settings or Settings(rounds=6)) as writer:
        for number, (weather, noise) in enumerate(zip(WEATHER, NOISE, strict=True)):
            for index, rate in enumerate(rates.values()):
                value = rate * weather * (noise if index else 1.0)
                found = dataclasses.replace(MEASURED, wall=1000 / value)
                writer.record(Sample(index, number, 0, number, measurement=found))
    return writer.path


OLD = {"sequential": 100.0, "shm": 300.0, "vector": 900.0}


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    save(tmp_path, "old", OLD)
    save(tmp_path, "alike", {**OLD, "vector": 901.0})
    save(tmp_path, "slower", {**OLD, "shm": 200.0})
    save(tmp_path, "steps", OLD, Settings(rounds=6, steps=9))
    save(tmp_path, "smoke", OLD, Settings(rounds=6, smoke=True))
    return tmp_path


def test_a_regression_is_named_and_ends_with_1(wfbench: Any, runs: Path) -> None:
    brief = wfbench("compare", "old", "slower", "--out", str(runs))
    assert "a verdict needs p" not in brief.stdout
    assert "further remark" in brief.stdout
    done = wfbench("compare", "old", "slower", "--out", str(runs), "--verbose")
    assert done.returncode == brief.returncode == 1, done.stderr
    rows = [line.split() for line in done.stdout.splitlines() if line.endswith(("d", "l"))]
    shm, vector = (row for row in rows if row[0] in {"shm,", "vector,"})
    assert (shm[0], shm[-1]) == ("shm,", "regressed")
    assert (vector[0], vector[-1]) == ("vector,", "identical")
    assert "0.667 (" in done.stdout
    assert "a verdict needs p <= 0.05 (permutation test, adjusted for 2 cells)" in done.stdout


def test_the_same_twice_ends_with_0_and_json_has_every_figure(wfbench: Any, runs: Path) -> None:
    done = wfbench("compare", "old", "alike", "--out", str(runs), "--json")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["schema"] == "wfbench/compare/1"
    assert answer["headline"] == "1 no change, 1 identical"
    assert (answer["verdicts"]["no change"], answer["verdicts"]["identical"]) == (1, 1)
    [shm, _] = answer["cells"]
    assert shm["samples"] == [6, 6]
    assert shm["effect"]["low"] <= shm["effect"]["value"] <= shm["effect"]["high"]
    assert shm["smallest"] == pytest.approx(2 * 2 / 924)


def test_markdown_puts_what_regressed_first_and_escapes_names(wfbench: Any, tmp_path: Path) -> None:
    odd = "x|<b>*@you*"
    save(tmp_path, "a", {"sequential": 100.0, "fine": 200.0, odd: 300.0})
    save(tmp_path, "b", {"sequential": 100.0, "fine": 200.0, odd: 100.0})
    done = wfbench("compare", "a", "b", "--out", str(tmp_path), "--md")
    assert done.returncode == 1, done.stderr
    lines = done.stdout.splitlines()
    assert lines[2] == "**failed**: 1 regressed, 1 identical"
    rows = [line for line in lines if line.startswith("| ")][1:]
    assert rows[0].startswith(r"| x\|&lt;b&gt;\*&#64;you\*, 4 envs, x sequential |")
    assert rows[0].endswith("| regressed |")
    assert rows[1].startswith("| fine, 4 envs, x sequential |")


def test_different_work_ends_with_5_and_says_what_differs(wfbench: Any, runs: Path) -> None:
    done = wfbench("compare", "old", "steps", "--out", str(runs))
    assert (done.returncode, done.stdout) == (5, "")
    assert "did different work: steps per collect 50 / 9" in done.stderr
    done = wfbench("compare", "old", "smoke", "--out", str(runs))
    assert done.returncode == 5
    assert "too short to mean anything" in done.stderr


def test_inconclusive_fails_only_where_that_is_asked_for(wfbench: Any, tmp_path: Path) -> None:
    for name, rate in (("a", 300.0), ("b", 310.0)):
        save(tmp_path, name, {"sequential": 100.0, "shm": rate})
        file = tmp_path / name / "samples.jsonl"
        file.write_text("".join(file.read_text().splitlines(keepends=True)[:2]))
    lax = wfbench("compare", "a", "b", "--out", str(tmp_path), "--verbose")
    assert lax.returncode == 0, lax.stderr
    assert "inconclusive" in lax.stdout
    assert "no difference can be shown; measure more" in lax.stdout
    strict = wfbench("compare", "a", "b", "--out", str(tmp_path), "--inconclusive", "fail")
    assert strict.returncode == 4


def test_another_machine_is_compared_by_multiples_only(wfbench: Any, runs: Path) -> None:
    machine = runs / "alike" / "machine.json"
    machine.write_text(json.dumps({**json.loads(machine.read_text()), "cpu": "another"}))
    done = wfbench("compare", "old", "alike", "--out", str(runs), "--verbose")
    assert done.returncode == 0, done.stderr
    assert "as a multiple of sequential in the same round" in done.stdout
    assert "/ another" in done.stdout
    done = wfbench("compare", "old", "alike", "--out", str(runs), "--basis", "rate")
    assert done.returncode == 5
    assert "absolute figures of different machines are not comparable" in done.stderr


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("old", "nobody"), "there is no run 'nobody'"),
        (("old,alike", "slower"), "bench runs are compared one with one"),
        (("old", "alike", "--steps", "9"), "--steps does not apply to bench runs"),
        (("old", "alike", "--alpha", "2"), "--alpha is 2; it must be above 0 and below 1"),
        (("old", "alike", "--md", "--json"), "one answer is enough"),
        (("old,old", "alike"), "a run is given twice"),
        ((",", "alike"), "names no run"),
    ],
)
def test_nonsense_is_refused_in_one_line(
    wfbench: Any, runs: Path, args: tuple[str, ...], message: str
) -> None:
    done = wfbench("compare", *args, "--out", str(runs))
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_what_bench_saves_and_what_it_prints_can_be_compared(wfbench: Any, tmp_path: Path) -> None:
    done = wfbench(
        *("bench", "--env", "synthetic-batch", "--collector", "sequential", "--collector"),
        *("vector", "--n-envs", "3", "--rounds", "3", "--seconds", "0.02", "--json"),
        *("--out", str(tmp_path), "--name", "real"),
    )
    assert done.returncode == 0, done.stderr
    file = tmp_path / "printed.json"
    file.write_text(done.stdout)
    both = wfbench("compare", "real", str(file), "--out", str(tmp_path), "--json")
    assert both.returncode == 0, both.stderr
    [cell] = json.loads(both.stdout)["cells"]
    assert (cell["metric"], cell["samples"]) == ("x sequential", [3, 3])
    assert cell["effect"]["value"] == pytest.approx(1.0)
    assert cell["p"] == 1.0
    file.write_text(done.stdout.replace('"wall"', '"while"'))
    broken = wfbench("compare", "real", str(file), "--out", str(tmp_path))
    assert broken.returncode == 2
    assert "which this version does not know" in broken.stderr


def test_a_search_is_compared_with_itself_and_not_with_a_bench_run(
    wfbench: Any, runs: Path
) -> None:
    done = wfbench(
        *("run", "--preset", "per-order", "--n-envs", "4", "--workflows", "2"),
        *(
            "--max-episodes",
            "2",
            "--min-episodes",
            "1",
            "--quiet",
            "--out",
            str(runs),
            "--name",
            "found",
        ),
    )
    assert done.returncode == 0, done.stderr
    both = wfbench("compare", "found", "found", "--out", str(runs), "--json")
    assert both.returncode == 0, both.stderr
    answer = json.loads(both.stdout)
    assert {cell["metric"] for cell in answer["cells"]} == {
        "return",
        "compliance",
        "steps to compliance",
        "best score",
    }
    assert answer["cells"][0]["effect"]["value"] == 0.0
    assert answer["learned"][0]["improvement"]["value"] == 0.5
    mixed = wfbench("compare", "found", "old", "--out", str(runs))
    assert mixed.returncode == 5
    assert "a bench run cannot be compared with a search" in mixed.stderr
    unused = wfbench("compare", "found", "found", "--metric", "cpu", "--out", str(runs))
    assert unused.returncode == 2
