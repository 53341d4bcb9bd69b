from __future__ import annotations

import csv
import json
import os
import pty
import re
import select
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., subprocess.CompletedProcess[str]]

TINY = [
    *("run", "--preset", "per-order"),
    *("--env", "synthetic-batch:obs_size=6,num_actions=5,episode_length=10"),
    *("--trainer", "tiny", "--searcher", "climber", "--n-envs", "4", "--workflows", "3"),
    *("--max-episodes", "3", "--min-episodes", "1", "--update-every", "10"),
]
OBSERVER = """
import json, pathlib
from wfbench.contract import hookimpl

FILE = pathlib.Path(__file__).with_name("seen.jsonl")


def _note(hook, event):
    with FILE.open("a") as file:
        file.write(json.dumps([hook, event.run_id, event.values["event"]]) + "\\n")


@hookimpl
def wfbench_run_started(event):
    _note("started", event)


@hookimpl
def wfbench_update_finished(event):
    raise RuntimeError("this observer is broken")


@hookimpl
def wfbench_workflow_finished(event):
    _note("workflow", event)


@hookimpl
def wfbench_run_finished(event):
    _note("finished", event)
"""


@pytest.fixture
def tiny(wfbench: Run, small_plugins: dict[str, str], tmp_path: Path) -> Run:
    """`wfbench run` on a small problem, with run directories in the test's own directory."""

    def run(*args: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        return wfbench(*TINY, "--out", str(tmp_path), *args, env={**small_plugins, **(env or {})})

    return run


def _events(run: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run / "events.jsonl").read_text().splitlines()]


def test_a_run_prints_a_line_per_workflow_and_a_summary(tiny: Run, tmp_path: Path) -> None:
    done = tiny("--name", "r")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith("run r: synthetic-batch")
    assert [line.split()[0] for line in lines[1:4]] == ["[1/3]", "[2/3]", "[3/3]"]
    assert "of 3 trainings follow their order at least 95% of the time (effective@" in done.stdout
    assert "interval of the mean over the episodes of one training" in done.stdout
    assert f"next: wfbench evaluate {tmp_path}/r/policy.npz" in done.stdout
    found = {path.name for path in (tmp_path / "r").iterdir()}
    assert found >= {
        "config.json",
        "machine.json",
        "events.jsonl",
        "workflows.csv",
        "updates.csv",
        "checkpoints",
        "policy.npz",
    }
    with (tmp_path / "r" / "workflows.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["definition"].partition("@")[0] for row in rows} == {"effective"}
    assert {row["schema"] for row in rows} == {"wfbench/workflows/2"}
    assert re.fullmatch(r"-?[\d.]+(e-?\d+)?", rows[0]["score"])


def test_without_a_name_a_run_is_called_by_the_time(tiny: Run, tmp_path: Path) -> None:
    assert tiny("--quiet").returncode == 0
    [run] = tmp_path.glob("2*")
    assert re.fullmatch(r"\d{8}-\d{6}-[0-9a-f]{4}", run.name)


def test_quiet_leaves_the_summary(tiny: Run) -> None:
    done = tiny("--quiet", "--name", "r")
    assert "[1/3]" not in done.stdout
    assert "files are in" in done.stdout


def test_json_is_one_document(tiny: Run) -> None:
    done = tiny("--json", "--name", "r")
    answer = json.loads(done.stdout)
    assert answer["schema"] == "wfbench/run/3"
    [run] = answer["runs"]
    assert run["complete"] is True
    assert len(run["orders"]) <= 3
    assert run["best"]["order"] == max(run["orders"], key=lambda o: o["score"])["order"]


def test_json_lines_are_the_events(tiny: Run, tmp_path: Path) -> None:
    done = tiny("--json-lines", "--name", "r")
    told = [json.loads(line) for line in done.stdout.splitlines()]
    assert {event.pop("run") for event in told} == {"r"}
    stored = _events(tmp_path / "r")
    stored[0].pop("run")
    assert told == stored


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--score", "best"), "last-episodes:K or evaluate:K"),
        (("--definition", "nice"), "nice"),
        (("--inherit", "all"), "nearest or previous or none"),
        (("--stop", "never"), "compliant or budget"),
        (("--max-seconds", "-1"), "max_seconds"),
        (("--name", "../escape"), "cannot be the name of a run"),
        (("--resume", "nothing"), "there is no run 'nothing'"),
        (("--smoke", "--preset", "limited"), "--smoke is a preset of its own"),
        (("--json-lines", "--quiet"), "choose one of --quiet, --json and --json-lines"),
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_is_written(
    tiny: Run, tmp_path: Path, flags: tuple[str, ...], said: str
) -> None:
    done = tiny(*flags)
    assert done.returncode == 2, done.stderr
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.iterdir())


def test_a_resumed_run_keeps_its_settings(tiny: Run) -> None:
    assert tiny("--name", "r", "--quiet").returncode == 0
    again = tiny("--name", "r")
    assert again.returncode == 2
    assert "already exists" in again.stderr
    other = tiny("--resume", "r", "--seed", "7")
    assert other.returncode == 2
    assert "seed is set to 7 (command line), but run r was started with 0" in other.stderr
    same = tiny("--resume", "r")
    assert same.returncode == 0, same.stderr
    named = tiny("--resume", "r", "--name", "s")
    assert named.returncode == 2


def test_a_complete_run_is_summed_up_again_as_it_was(tiny: Run) -> None:
    [old], [new] = (
        json.loads(tiny("--searcher", "gp-ucb", *flags, "--json").stdout)["runs"]
        for flags in (("--name", "r"), ("--resume", "r"))
    )
    assert old["belief"]
    assert (new["belief"], new["orders"]) == (old["belief"], old["orders"])


def test_what_resuming_cannot_mend_is_not_told_to_be_resumed(tiny: Run, tmp_path: Path) -> None:
    assert tiny("--name", "r", "--quiet").returncode == 0
    [*_, last] = sorted((tmp_path / "r" / "checkpoints").iterdir())
    last.write_bytes(b"")
    done = tiny("--resume", "r")
    assert done.returncode == 2
    assert done.stderr.startswith(f"wfbench: {last} is damaged")
    assert len(done.stderr.splitlines()) == 1


def test_every_combination_runs_with_the_same_seeds(
    tiny: Run, wfbench: Run, small_plugins: dict[str, str], tmp_path: Path
) -> None:
    done = tiny("--collector", "vector", "--collector", "sequential", "--name", "m")
    assert done.returncode == 0, done.stderr
    assert "The combinations took turns" in done.stdout
    cells = sorted(path.name for path in (tmp_path / "m").iterdir() if path.is_dir())
    assert [cell.partition("-tiny")[0] for cell in cells] == ["00-vector", "01-sequential"]
    scores = [
        [e["score"] for e in _events(tmp_path / "m" / cell) if e["event"] == "workflow-finished"]
        for cell in cells
    ]
    assert scores[0] == scores[1]
    assert len(scores[0]) == 3
    events = tmp_path / "m" / cells[1] / "events.jsonl"
    lines = events.read_bytes().splitlines(keepends=True)
    events.write_bytes(b"".join(lines[:4]))
    resumed = wfbench("run", "--resume", "m", "--out", str(tmp_path), "--json", env=small_plugins)
    assert resumed.returncode == 0, resumed.stderr
    runs = json.loads(resumed.stdout)["runs"]
    assert [run["complete"] for run in runs] == [True, True]
    assert runs[0]["best"]["score"] == runs[1]["best"]["score"]


def test_seeds_run_beside_each_other_where_timing_does_not_matter(
    tiny: Run, wfbench: Run, small_plugins: dict[str, str], tmp_path: Path
) -> None:
    done = tiny("--executor", "processes:2", "--seed", "4", "--seeds", "2", "--name", "m")
    assert done.returncode == 0, done.stderr
    assert "timing is not comparable" in done.stdout
    cells = sorted(path for path in (tmp_path / "m").iterdir() if path.is_dir())
    assert [cell.name.rpartition("-")[2] for cell in cells] == ["4", "5"]
    for cell, seed in zip(cells, ("4", "5"), strict=True):
        alone = tiny("--seed", seed, "--name", f"s{seed}", "--quiet")
        assert alone.returncode == 0, alone.stderr
        told, expected = _events(cell), _events(tmp_path / f"s{seed}")
        for event in (*told, *expected):
            event.pop("time")
            event.pop("run", None)
        assert told == expected
    again = ("run", "--resume", "m", "--out", str(tmp_path))
    other = wfbench(*again, "--seeds", "3", env=small_plugins)
    assert other.returncode == 2
    assert "seeds is set to 3 (command line), but run m/" in other.stderr
    moved = wfbench(*again, "--executor", "local", "--json", env=small_plugins)
    assert moved.returncode == 0, moved.stderr
    assert json.loads(moved.stdout)["timing_comparable"] is True


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--executor", "nowhere"), "choose from: local, processes"),
        (("--executor", "processes:-1"), "workers is -1"),
        (("--batch", "2"), "asks for one order at a time"),
        (("--seeds", "-1"), "seeds is -1; it must not be negative"),
    ],
)
def test_an_executor_that_makes_no_sense_is_refused(
    tiny: Run, tmp_path: Path, flags: tuple[str, ...], said: str
) -> None:
    done = tiny(*flags)
    assert done.returncode == 2, done.stderr
    assert said in done.stderr
    assert not list(tmp_path.iterdir())


def test_observers_are_told_and_cannot_break_a_run(
    wfbench: Run, small_plugins: dict[str, str], tmp_path: Path
) -> None:
    plugins = tmp_path / "plugins"
    plugins.mkdir()
    (plugins / "watching.py").write_text(OBSERVER)
    small = Path(small_plugins["WFBENCH_PLUGINS_DIR"]) / "small.py"
    (plugins / "small.py").write_text(small.read_text())
    env = {**small_plugins, "WFBENCH_PLUGINS_DIR": str(plugins)}
    done = wfbench(*TINY, "--out", str(tmp_path), "--name", "r", "--quiet", env=env)
    assert done.returncode == 0, done.stderr
    assert "this observer is broken" in done.stderr
    told = [json.loads(line) for line in (plugins / "seen.jsonl").read_text().splitlines()]
    assert [hook for hook, *_ in told] == [
        "started",
        "workflow",
        "workflow",
        "workflow",
        "finished",
    ]
    assert {run for _, run, _ in told} == {"r"}


def test_a_terminal_gets_a_picture_that_moves(
    clean_environ: dict[str, str],
    small_plugins: dict[str, str],
    small_run: list[str],
    tmp_path: Path,
) -> None:
    shown, code = _on_a_terminal(
        [*small_run, "--out", str(tmp_path), "--name", "r"], {**clean_environ, **small_plugins}
    )
    assert code == 0
    for word in ("workflows", "compliance", "steps/s", "of a core", "MiB", "best so far", "left"):
        assert word in shown, word
    assert any(bar in shown for bar in "▁▂▃▄▅▆▇█")
    assert shown.count("steps/s") > 2
    assert "next:" in shown


def test_smoke_with_the_real_parts_takes_seconds(wfbench: Run, tmp_path: Path) -> None:
    done = wfbench("run", "--smoke", "--out", str(tmp_path), "--name", "r")
    assert done.returncode == 0, done.stderr
    assert "[4/4]" in done.stdout  # two joint trainings, one without orders, one specialised
    config = json.loads((tmp_path / "r" / "config.json").read_text())
    assert config["smoke"] is True
    assert config["plugins"]["searcher"]["name"] == "gp-ucb"
    assert config["settings"]["training"] == "joint"
    assert "a smoke run, too short to mean anything" in done.stdout
    assert "Which orders are best?" in done.stdout
    assert f"any order: wfbench evaluate {tmp_path}/r --order " in done.stdout
    assert f"next: wfbench evaluate {tmp_path}/r/policies/" in done.stdout
    assert (tmp_path / "r" / "policy.npz").exists()
    [special] = (tmp_path / "r" / "policies").iterdir()
    assert re.fullmatch(r"[DESHU]{5}\.npz", special.name)


def test_the_belief_of_a_searcher_is_shown_where_it_is_about_orders(tiny: Run) -> None:
    done = tiny("--searcher", "gp-ucb", "--inherit", "none", "--name", "r")
    assert done.returncode == 0, done.stderr
    assert "What does the searcher believe of all 120 orders?" in done.stdout


def _on_a_terminal(argv: list[str], environ: dict[str, str]) -> tuple[str, int]:
    """What a command writes to a terminal, and its exit code."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "wfbench", *argv],
        env={**environ, "TERM": "xterm", "COLUMNS": "110", "LINES": "40"},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    shown = b""
    deadline = time.monotonic() + 100
    while time.monotonic() < deadline:
        if select.select([ours], [], [], 0.2)[0]:
            try:
                part = os.read(ours, 65536)
            except OSError:
                break
            if not part:
                break
            shown += part
    os.close(ours)
    return shown.decode(errors="replace"), process.wait(30)
