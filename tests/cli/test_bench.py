from __future__ import annotations

import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

from wfbench.benchmarks.measure.saved import load_session

SMOKE = ("bench", "--smoke", "--env", "synthetic-batch:episode_length=7")

PLUGIN = """
from wfbench.contract import CollectorSpec, hookimpl
from wfbench_collectors.sequential import SequentialCollector

class Lazy(SequentialCollector):
    def collect(self, policy, steps):
        rollout = super().collect(policy, steps)
        rollout.rewards[:] = 0
        return rollout

@hookimpl
def wfbench_collectors():
    return [
        CollectorSpec(
            name="lazy",
            summary="Collects something else",
            factory="lazy_plugin:Lazy",
            capabilities=frozenset({"deterministic"}),
        )
    ]
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where `results/runs` is made."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def lazy(tmp_path: Path) -> tuple[str, str]:
    (tmp_path / "lazy_plugin.py").write_text(PLUGIN)
    return "--plugins-dir", str(tmp_path)


def test_the_table_has_every_collector_and_proves_equal_work(wfbench: Any) -> None:
    done = wfbench(*SMOKE, "--collector", "all", "--n-envs", "4")
    assert done.returncode == 0, done.stderr
    title, *_ = done.stdout.splitlines()
    assert "smoke" in title
    assert "made by: wfbench bench --smoke --env synthetic-batch" in done.stdout
    for column in ("transitions/s", "95 % interval", "ms", "µs/transition", "MB", "start-up"):
        assert column in done.stdout
    _, _, table = done.stdout.partition("How fast is each collector?\n")
    names = [row.split()[0] for row in table.splitlines() if "4 environments" in row][:5]
    assert names[0] == "sequential"
    assert sorted(names) == ["async", "pipe", "sequential", "shm", "vector"]
    assert re.search(
        r"equal work, 4 envs: sequential, pipe, shm, vector collected the same \([0-9a-f]{8}\)",
        done.stdout,
    )
    assert len([line for line in done.stderr.splitlines() if line.startswith("round ")]) == 10


def test_json_keeps_the_raw_samples_and_their_order(wfbench: Any) -> None:
    done = wfbench(
        *(*SMOKE, "--collector", "shm:workers=2", "--collector", "sequential"),
        *("--n-envs", "2,5", "--policy", "network", "--json", "--seed", "3"),
    )
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["schema"] == "wfbench/bench/1"
    assert [(c["label"], c["n_envs"]) for c in answer["cases"]] == [
        ("shm:workers=2", 2),
        ("sequential", 2),
        ("shm:workers=2", 5),
        ("sequential", 5),
    ]
    assert answer["settings"]["smoke"] is True
    assert answer["settings"]["seed"] == 3
    samples = answer["samples"]
    assert [s["position"] for s in samples] == list(range(8))
    assert sorted((s["round"], s["case"]) for s in samples) == [
        (r, c) for r in range(2) for c in range(4)
    ]
    for sample in samples:
        measured = sample["measurement"]
        assert measured["transitions"] > 0
        assert sum(measured["phases"].values()) == pytest.approx(measured["wall"], rel=0.02)
    assert [work["equal"] for work in answer["equal_work"]] == [True, True]
    ratios = [summary["ratio"] for summary in answer["summaries"]]
    assert [ratio is None for ratio in ratios] == [True, False, True, False]


def test_a_failing_case_is_shown_as_failed_and_the_others_are_measured(wfbench: Any) -> None:
    done = wfbench(
        *("bench", "--smoke", "--env", "synthetic:fault=kill@15,fault_env=2"),
        *("--collector", "sequential", "--collector", "shm", "--n-envs", "3"),
    )
    assert done.returncode == 3
    assert re.search(r"failed +sequential, 3 envs: the process died with code -9", done.stdout)
    assert re.search(r"failed +shm, 3 envs: WorkerError: worker \d, env 2.*SIGKILL", done.stdout)
    assert "nothing could be measured" in done.stdout


def test_a_restart_is_left_out_of_the_means(wfbench: Any, tmp_path: Path) -> None:
    marker = tmp_path / "died"
    done = wfbench(
        *("bench", "--smoke", "--env", "synthetic", "--collector", "shm", "--n-envs", "3"),
        *("-o", f"synthetic.fault_once={marker}", "-o", "synthetic.fault=kill@15"),
        *("-o", "synthetic.fault_env=1", "-o", "shm.on_worker_death=restart", "--json"),
    )
    assert done.returncode == 0, done.stderr
    assert marker.exists()
    answer = json.loads(done.stdout)
    marked = [s for s in answer["samples"] if s["measurement"]["marks"]]
    assert len(marked) == 1
    [summary] = answer["summaries"]
    assert summary["excluded"] == marked[0]["measurement"]["marks"]
    [clean] = [s["measurement"] for s in answer["samples"] if not s["measurement"]["marks"]]
    assert summary["figures"]["rate"]["value"] == pytest.approx(
        clean["transitions"] / clean["wall"]
    )


def test_a_collector_that_collects_something_else_is_found(
    wfbench: Any, lazy: tuple[str, str]
) -> None:
    done = wfbench(
        *(*lazy, *SMOKE, "--collector", "sequential", "--collector", "lazy", "--n-envs", "4"),
    )
    assert done.returncode == 3, done.stdout + done.stderr
    assert "equal work, 4 envs: lazy collected other transitions than sequential" in done.stdout


def test_an_env_without_a_batched_form_is_noted(wfbench: Any) -> None:
    done = wfbench(
        *("bench", "--smoke", "--env", "synthetic", "--collector", "vector", "--n-envs", "2")
    )
    assert done.returncode == 0
    assert "note: environment 'synthetic' has no batched form" in done.stdout


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("--collector", "no-such"), "there is no collector 'no-such'"),
        (("--env", "no-such"), "there is no env 'no-such'"),
        (("--env", "cyborg"), "if it comes from a separate plugin, install that"),
        (("--n-envs", "0"), "not a list of positive numbers"),
        (("--n-envs", "5,x"), "not a list of positive numbers"),
        (("--n-envs", "5,5"), "given twice"),
        (("--policy", "wise"), "there is no policy 'wise'; choose from random, network"),
        (("--rounds", "0"), "rounds is 0"),
        (("--seconds", "-1"), "seconds is -1"),
        (("-o", "pipe.workers=2", "--collector", "shm"), "options are given for 'pipe', but"),
        (("--collector", "sequential", "--workers", "2"), "--workers"),
        (("--collector", "shm:wokers=2"), "has no option 'wokers'"),
    ],
)
def test_misuse_is_one_line_and_exit_code_2(
    wfbench: Any, args: tuple[str, ...], message: str
) -> None:
    done = wfbench("bench", "--smoke", *args)
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert done.stdout == ""


def test_what_is_measured_is_kept(wfbench: Any, folder: Path) -> None:
    args = (*SMOKE, "--collector", "vector", "--n-envs", "2", "--name", "one")
    done = wfbench(*args, "--json")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["run"] == "results/runs/one"
    saved = load_session(folder / "results" / "runs" / "one")
    assert json.loads(json.dumps(saved.as_data())) == {
        name: answer[name] for name in ("cases", "settings", "samples")
    }
    again = wfbench(*args)
    assert again.returncode == 2
    assert "results/runs/one already exists; choose another --name" in again.stderr
    resumed = wfbench("run", "--resume", "one")
    assert resumed.returncode == 2
    assert "what `wfbench bench` measured. That is not a search and cannot be" in resumed.stderr


def test_workers_go_to_every_collector_that_has_them(wfbench: Any) -> None:
    done = wfbench(
        *(*SMOKE, "--collector", "shm", "--collector", "vector"),
        *("--workers", "3", "--n-envs", "4", "--rounds", "1", "--json"),
    )
    labels = [case["label"] for case in json.loads(done.stdout)["cases"]]
    assert labels == ["shm:workers=3", "vector"]


def test_progress_is_live_on_a_terminal(clean_environ: dict[str, str]) -> None:
    ours, theirs = pty.openpty()
    try:
        process = subprocess.Popen(
            [sys.executable, "-m", "wfbench", *SMOKE, "--collector", "vector", "--n-envs", "2"],
            env={**clean_environ, "TERM": "xterm"},
            stdout=subprocess.DEVNULL,
            stderr=theirs,
        )
        seen = b""
        deadline = time.monotonic() + 90
        while process.poll() is None and time.monotonic() < deadline:
            if select.select([ours], [], [], 0.2)[0]:
                seen += os.read(ours, 4096)
        assert process.wait(5) == 0
    finally:
        os.close(ours)
        os.close(theirs)
    assert b"\x1b[" in seen


@pytest.mark.parametrize(
    ("sent", "code", "said"),
    [(signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "terminated")],
)
def test_a_signal_ends_everything_and_the_samples_are_named(
    clean_environ: dict[str, str], folder: Path, sent: signal.Signals, code: int, said: str
) -> None:
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "wfbench", "bench", "--seconds", "60"),
            *("--env", "synthetic", "--collector", "shm:workers=2", "--n-envs", "4"),
        ],
        env=clean_environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 60
    family: list[psutil.Process] = []
    while len(family) < 4 and time.monotonic() < deadline:
        time.sleep(0.05)
        family = psutil.Process(process.pid).children(recursive=True)
    time.sleep(0.5)
    process.send_signal(sent)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == code
    assert errors.splitlines()[-1] == f"wfbench: {said}"
    assert "wfbench: samples so far are in results/runs/" in errors
    assert "Traceback" not in errors
    _, alive = psutil.wait_procs(family, timeout=10)
    assert alive == []
    [run] = (folder / "results" / "runs").iterdir()
    assert load_session(run).samples == ()
