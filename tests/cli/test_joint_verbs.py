"""Every verb on a joint run, and on one that lost a file, as a user runs them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from wfbench.cli.main import main

ENV = "synthetic-batch:obs_size=6,num_actions=5,episode_length=10"
RUN = [
    *("run", "--env", f"{ENV},orders=U>E>O>S>D;D>S>O>E>U", "--searcher", "given:119"),
    *("--n-envs", "4", "--joint-episodes", "2", "--specialise", "1", "--eval-episodes", "4"),
    *("--stress", "0", "--max-episodes", "5", "--update-every", "10"),
]

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("runs")
    assert main([*RUN, "--out", str(out), "--name", "good", "-q"]) == 0
    shutil.copytree(out / "good", out / "broken")
    (out / "broken" / "sweeps" / "001.npz").unlink()
    return out


@pytest.fixture
def call(capfd: pytest.CaptureFixture[str], kept: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    """`wfbench ARGS...` where the kept runs are: its exit code, output and errors."""
    monkeypatch.setenv("COLUMNS", "200")
    capfd.readouterr()

    def run(*args: str) -> tuple[int, str, str]:
        code = main([*args, "--out", str(kept)])
        told = capfd.readouterr()
        return code, told.out, told.err

    return run


def test_a_joint_run_ends_with_its_conclusion_and_the_next_command(
    call: Command, kept: Path
) -> None:
    code, out, _ = call(*RUN, "--name", "shown")
    shutil.rmtree(kept / "shown")
    assert code == 0
    lines = out.splitlines()
    for stage in ("[1/4] joint 1 of 2  right ", "[3/4] free  ", "[4/4] specialised D>S>O>E>U  "):
        assert any(line.startswith(stage) for line in lines)
    at = lines.index("Conclusion")
    run = kept / "shown"
    assert lines[-5:] == [
        "",
        f"files are in {run}",
        f"any order: wfbench evaluate {run} --order DSOEU",
        f"next: wfbench evaluate {run / 'policies' / 'DSOEU.npz'}",
        f"report: {run / 'report.html'}",
    ]
    said = [line.strip() for line in lines[at + 1 : -5]]
    assert len(said) >= 3
    assert all(line.startswith("  ") for line in lines[at + 1 : -5])


def test_json_holds_the_answer(call: Command, kept: Path) -> None:
    code, out, _ = call("run", "--resume", "good", "--json")
    assert code == 0
    values = json.loads(out)
    assert values["schema"] == "wfbench/run/3"
    [found] = values["runs"]
    assert found["answer"]["trainings"] == 2
    assert found["conclusion"]
    assert found["path"] == str(kept / "good")


def test_runs_are_listed_and_shown_with_what_they_found(call: Command) -> None:
    code, out, _ = call("runs", "list", "--json")
    assert code == 0
    found = {one["name"]: one for one in json.loads(out)["runs"]}
    assert found["broken"]["status"] == "broken"
    assert "mean return" in found["good"]["says"] or "before" in found["good"]["says"]
    assert " all " not in found["good"]["says"]
    assert {"return", "choices", "env-steps"} <= set(found["good"]["figures"])
    code, out, _ = call("runs", "show", "good")
    assert code == 0
    assert "choices" in out
    code, out, _ = call("runs", "show", "broken")
    assert "next: wfbench runs validate" in out
    code, out, _ = call("runs", "validate", "good", "broken")
    assert code == 3
    assert "broken/sweeps/001.npz" in out


def test_history_follows_figures_of_joint_runs(call: Command) -> None:
    for figure in ("return", "choices", "seconds"):
        code, out, _ = call("runs", "history", "good", "--figure", figure)
        assert code == 0
        assert f"History of {figure}: 1 run" in out
    code, _, err = call("runs", "history", "good", "--figure", "compliant")
    assert code == 2
    assert "choose from: return" in err


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["report", "broken"], "001.npz"),
        (["compare", "good", "broken"], "001.npz"),
        (["run", "--resume", "broken", "-q"], "001.npz"),
        (["landscape", "good", "--to", "never.json"], "--training per-order"),
        (["baseline", "save", "name", "good"], "--training per-order"),
        (["compare", "good", "good", "--steps", "3"], "--steps does not apply to joint runs"),
    ],
)
def test_what_cannot_be_done_is_refused_in_one_line(
    call: Command, words: list[str], problem: str
) -> None:
    code, _, err = call(*words)
    assert code != 0
    [line] = err.strip().splitlines()
    assert line.startswith("wfbench: ")
    assert problem in line
    assert not Path("never.json").exists()


def test_reports_of_several_joint_runs_compare_them(
    call: Command, kept: Path, tmp_path: Path
) -> None:
    copy = Path(shutil.copytree(kept / "good", tmp_path / "copy"))
    code, out, _ = call("report", "good", str(copy))
    assert code == 0
    assert "Searches compared: 2 joint runs" in out
    assert "verdict on orders" in out
    assert "Conclusion" in out
    code, out, _ = call("compare", "good", str(copy))
    assert code == 0
    assert "2 identical" in out
    assert "paired by seed" in out


def test_evaluations_of_a_joint_policy_say_so(call: Command) -> None:
    code, out, _ = call("evaluate", "good", "--order", "UEOSD", "--episodes", "2", "--stress", "0")
    assert code == 0
    assert "Evaluation of joint policy good in synthetic-batch, given U>E>O>S>D" in out
    code, out, _ = call(
        *("evaluate", "good", "--orders", "all", "--episodes", "2", "--stress", "0")
    )
    assert code == 0
    assert "Evaluation of joint policy good by order" in out
    assert "order given \\ judged by" in out
