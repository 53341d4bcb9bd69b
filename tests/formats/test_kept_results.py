"""What released versions wrote can be read by this one, for ever."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from wfbench.benchmarks.measure.saved import load_session
from wfbench.host.manager import PluginSettings, load_plugins
from wfbench.report.catalogue import list_runs
from wfbench.report.formats.choosing import our_formats
from wfbench.report.sections.sources import Sources
from wfbench.search.history import read_search
from wfbench.search.planning import restored_job
from wfbench.settings.selection import select
from wfbench.store.config import read_config
from wfbench.store.events import PHASES, UpdateFinished
from wfbench.store.policy_file import read_checkpoint, read_policy
from wfbench.store.run import checkpoint_path
from wfbench.store.validation import validate_run

DATA = Path(__file__).parent / "data"
PPO = "search-ppo"
RUNS = ["bench", "matrix", "matrix-2", "search", "search-2", PPO, "search-without-executor"]
"""`-2`: as 0.2.0 writes them; the others are of 0.1.0."""
SEARCHES = ["search", "search-2", "search-without-executor"]
FILES = ["landscape.json", "searchers.json"]


def test_every_kept_run_is_known_here() -> None:
    assert sorted(path.name for path in DATA.iterdir()) == sorted([*RUNS, *FILES])


@pytest.mark.parametrize("run", RUNS)
def test_every_file_of_a_kept_run_is_sound(run: str) -> None:
    findings = validate_run(DATA / run, load_session)
    assert [finding for finding in findings if finding.problem is not None] == []
    checked = {finding.file for finding in findings}
    there = {str(p.relative_to(DATA / run)) for p in (DATA / run).rglob("*") if p.is_file()}
    assert there == checked


def test_kept_runs_are_listed_with_their_figures() -> None:
    records = {record.name: record for record in list_runs(DATA)}
    assert {name: (one.kind, one.status) for name, one in records.items()} == {
        "bench": ("bench", "complete"),
        "matrix": ("matrix", "complete"),
        "matrix-2": ("matrix", "complete"),
        "search": ("search", "complete"),
        "search-2": ("search", "complete"),
        PPO: ("search", "complete"),
        "search-without-executor": ("search", "complete"),
    }
    bench, old = records["bench"].figures, records["search-without-executor"].figures
    assert bench is not None
    assert old is not None
    assert set(bench) == {"sequential@2", "pipe:workers=1@2", "sequential@4", "pipe:workers=1@4"}
    assert old["env-steps"] == 360
    assert old["return"] == -18.57421875


def test_a_run_of_a_version_without_executors_did_the_same_work_as_one_with_them() -> None:
    records = {record.name: record for record in list_runs(DATA)}
    workloads = {records[name].workload for name in SEARCHES}
    assert len(workloads) == 1


def test_a_run_of_0_1_0_reads_like_one_of_today() -> None:
    old, new = read_search(DATA / "search"), read_search(DATA / "search-2")
    assert repr(old.finished()) == repr(new.finished())
    assert repr(old.events(UpdateFinished)) == repr(new.events(UpdateFinished))
    assert old.env_steps == new.env_steps
    assert old.config.secondary == new.config.secondary
    assert set(old.work) == set(new.work) == set(PHASES)


@pytest.mark.parametrize("run", SEARCHES)
def test_the_time_of_a_kept_run_adds_up(run: str) -> None:
    search = read_search(DATA / run)
    times = [entry.time for entry in search.entries]
    assert [time.elapsed for time in times] == sorted(time.elapsed for time in times)
    # In one process one thing is done at a time.
    assert search.elapsed == pytest.approx(search.work_seconds, rel=0.05)
    trained = [time.training for time in times if time.training is not None]
    assert len(trained) == 3
    assert 0 < sum(trained) <= search.elapsed


@pytest.mark.parametrize("name", ["html", "md", "csv", "junit"])
def test_everything_kept_can_be_reported_in_every_format(name: str) -> None:
    host = load_plugins(PluginSettings(external=False))
    named = [str(DATA / result) for result in (*RUNS, *FILES)]
    report = Sources(DATA, host).report(named)
    kinds = [section.kind for section in report.sections]
    assert set(kinds) == {"bench", "matrix", "search", "evaluation", "landscape", "searchers"}
    assert len(our_formats()[name].render(report)) > 1000


def test_kept_policies_and_checkpoints_have_their_weights() -> None:
    policy = read_policy(DATA / "search" / "policy.npz")
    assert policy.label.units == ("user", "enterprise", "operational", "server", "defender")
    assert all(array.size for array in policy.snapshot.arrays.values())
    checkpoint = read_checkpoint(DATA / "search-without-executor" / "checkpoints" / "000.npz")
    assert checkpoint.trainer


Wfbench = Callable[..., subprocess.CompletedProcess[str]]


def _cut_short(run: Path) -> None:
    """Leave what the run had written early in its second workflow."""
    events = run / "events.jsonl"
    lines = events.read_bytes().splitlines(keepends=True)
    ends = [i for i, line in enumerate(lines) if b'"workflow-finished"' in line]
    events.write_bytes(b"".join(lines[: ends[0] + 2]) + b'{"event":"upd')


@pytest.mark.parametrize("run", SEARCHES)
def test_a_kept_run_that_was_cut_short_goes_on(
    run: str, kept: Path, wfbench: Wfbench, small_plugins: dict[str, str]
) -> None:
    _cut_short(kept / run)
    done = wfbench("run", "--resume", run, "--out", str(kept), "--json", env=small_plugins)
    assert done.returncode == 0, done.stderr
    [answer] = json.loads(done.stdout)["runs"]
    assert answer["complete"]
    assert answer["env_steps"] == 360


def test_options_that_a_kept_run_lacks_have_the_value_from_before_they_existed() -> None:
    host = load_plugins(PluginSettings(external=False))
    trainer = restored_job(host, read_config(DATA / PPO)).trainer
    [today] = select(host, {"trainer": ["ppo"]})["trainer"]
    assert (trainer.options["privileged"], today.options["privileged"]) == (False, True)


def test_a_kept_run_of_ppo_that_was_cut_short_trains_as_0_1_0_did(
    kept: Path, wfbench: Wfbench
) -> None:
    _cut_short(kept / PPO)
    lacking = ("-o", "ppo.privileged=false")
    done = wfbench("run", "--resume", PPO, *lacking, "--out", str(kept), "--json")
    assert done.returncode == 0, done.stderr
    for number in range(3):
        was, now = (read_checkpoint(checkpoint_path(at / PPO, number)) for at in (DATA, kept))
        old, new = was.policy.snapshot.arrays, now.policy.snapshot.arrays
        assert old.keys() == new.keys()
        for name, array in old.items():
            np.testing.assert_allclose(new[name], array, rtol=1e-4, atol=1e-6)


def test_a_kept_run_keeps_the_value_of_an_option_it_lacks(kept: Path, wfbench: Wfbench) -> None:
    done = wfbench("run", "--resume", PPO, "-o", "ppo.privileged=true", "--out", str(kept))
    assert done.returncode == 2
    assert "ppo.privileged is set to true, but run search-ppo was started with false" in done.stderr
