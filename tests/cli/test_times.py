"""Every output says the same of a run's time, also when orders are trained at the same time."""

from __future__ import annotations

import csv
import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from wfbench.report.written import duration

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def run(wfbench: Run, small_plugins: dict[str, str], tmp_path: Path) -> Callable[..., str]:
    def call(*argv: str) -> str:
        done = wfbench(*argv, "--out", str(tmp_path), env=small_plugins)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return call


@pytest.mark.timeout(300)
def test_all_outputs_agree_on_the_time_of_a_parallel_run(
    run: Callable[..., str], small_run: list[str], tmp_path: Path
) -> None:
    parallel = [*small_run, "--searcher", "random", "--executor", "processes:2", "--batch", "2"]
    [answer] = json.loads(run(*parallel, "--name", "r", "--json"))["runs"]
    elapsed, rate = answer["elapsed"], answer["steps_per_second"]
    assert rate == pytest.approx(answer["env_steps"] / elapsed)
    assert sum(answer["work_seconds"].values()) > 0
    figures = json.loads(run("runs", "show", "r", "--json"))["run"]["figures"]
    assert (figures["seconds"], figures["steps-per-second"]) == (elapsed, rate)
    pages = [run("report", "r", form, "--to", "-") for form in ("--md", "--html")]
    for page in (run("run", "--resume", "r"), *pages):
        assert f"{rate:,.0f}" in page
        assert duration(elapsed) in page
    with (tmp_path / "r" / "workflows.csv").open(newline="") as file:
        workflows = list(csv.DictReader(file))
    for row in workflows:
        assert 0 < float(row["wall_seconds"]) <= elapsed
        assert float(row["wall_seconds"]) == pytest.approx(float(row["work_seconds"]), rel=0.5)
