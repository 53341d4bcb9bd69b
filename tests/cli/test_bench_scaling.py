from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

import wfbench as package
from wfbench.benchmarks.scaling.points import too_much, worker_counts

SMOKE = ("bench", "--scaling", "--smoke", "--env", "synthetic-batch")


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def measured(wfbench: Any) -> dict[str, Any]:
    done = wfbench(
        *(*SMOKE, "--collector", "sequential", "--collector", "shm", "--n-envs", "1,2,4"),
        *("--workers", "1,2,3", "--rounds", "1", "--name", "grown", "--json"),
    )
    assert done.returncode == 0, done.stderr
    values: dict[str, Any] = json.loads(done.stdout)
    return values


def test_environments_and_workers_are_varied_and_kept(
    measured: dict[str, Any], wfbench: Any
) -> None:
    assert [(case["label"], case["n_envs"]) for case in measured["cases"]] == [
        *(("sequential", 1), ("shm", 1), ("sequential", 2), ("shm", 2)),
        *(("sequential", 4), ("shm", 4), ("shm:workers=1", 2), ("shm:workers=2", 2)),
    ]
    sizes = [measured["cases"][sample["case"]]["n_envs"] for sample in measured["samples"]]
    assert sizes == sorted(sizes)
    curves = measured["scaling"]["curves"]
    assert [(one["collector"], one["along"]) for one in curves] == [
        *(("sequential", "environments"), ("shm", "environments"), ("shm", "workers")),
    ]
    assert all(one["rate"]["kind"] == "unknown" for one in curves)
    assert [one["collector"] for one in measured["scaling"]["costs"]] == ["shm"]
    again = package.Bench.load(Path("results/runs/grown"))
    assert [curve.samples[-1].x for curve in again.growth] == [4, 4, 2]
    shown = wfbench("report", "grown", "--md")
    assert "How does each collector grow?" in shown.stdout
    assert "cannot tell: 3 points are too few, 4 are needed" in shown.stdout
    page = wfbench("report", "grown", "--html", "--to", "page.html")
    assert page.returncode == 0, page.stderr
    assert Path("page.html").read_text().count("<svg") >= 6


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (("--n-envs", "0,4"), "--n-envs 0,4: this is not a list of positive numbers"),
        (("--workers", "two"), "--workers two: this is not a list of positive numbers"),
        (("--workers", "2,2"), "--workers 2,2: a number is given twice"),
    ],
)
def test_bad_numbers_are_refused(wfbench: Any, flags: tuple[str, ...], says: str) -> None:
    done = wfbench(*SMOKE, "--collector", "shm", *flags)
    assert done.returncode == 2
    assert says in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_several_workers_need_scaling(wfbench: Any) -> None:
    done = wfbench("bench", "--collector", "shm", "--workers", "1,2")
    assert (done.returncode, "need --scaling" in done.stderr) == (2, True)


def test_worker_counts_end_at_twice_the_cores() -> None:
    assert worker_counts(1) == (1, 2)
    assert worker_counts(2) == (1, 2, 3, 4)
    assert worker_counts(6) == (1, 2, 3, 4, 6, 8, 12)
    assert worker_counts(64) == (1, 2, 3, 4, 8, 16, 32, 64, 128)


def test_what_would_take_too_long_is_skipped_with_its_reason(wfbench: Any) -> None:
    done = wfbench(
        *("bench", "--scaling", "--smoke", "--env", "synthetic:construct=0.2,busy=false"),
        *("--collector", "sequential", "--n-envs", "1,2,4,1000", "--name", "slow"),
    )
    assert done.returncode == 0, done.stderr
    session = package.Bench.load(Path("results/runs/slow")).session
    skipped = [sample for sample in session.samples if sample.skipped]
    assert [(session.cases[s.case].n_envs, s.round) for s in skipped] == [(1000, 0), (1000, 1)]
    took = {
        session.cases[s.case].n_envs: s.measurement.start_up + s.measurement.warm_up
        for s in session.samples
        if s.measurement and s.round == 0
    }
    expected = took[4] + (took[4] - took[2]) / 2 * 996
    assert f"would take about {expected:,.0f} s" in str(skipped[0].skipped)
    assert "(from 4 environments)" in str(skipped[0].skipped)
    assert skipped[0].skipped in " ".join(done.stdout.split())
    assert f"skipped: {skipped[0].skipped}" in done.stderr
    [curve] = package.Bench.load(Path("results/runs/slow")).growth
    assert curve.samples[-1].problem == skipped[0].skipped
    # The first round decides, whatever the second one would expect.
    planned = dataclasses.replace(skipped[0], round=1, skipped=None, case=0)
    assert too_much(session, planned) is None
