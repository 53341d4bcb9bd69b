"""A policy is played where it was trained and elsewhere, and its returns are compared."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., subprocess.CompletedProcess[str]]

OTHERS = """
from dataclasses import replace
import gymnasium
from wfbench.contract import hookimpl
from wfbench_cage2 import Cage2Env
from wfbench_cage2 import plugin as ours

def costly(**options):
    env = Cage2Env(**options)
    return gymnasium.wrappers.TransformReward(env, lambda reward: reward - 1.0)

@hookimpl
def wfbench_envs():
    [cage2] = ours.wfbench_envs()
    same = replace(cage2, name="same", batched=None)
    return [same, replace(same, name="costly", factory=f"{__name__}:costly")]
"""
TRAIN = ("run", "--preset", "best", "--red", "mixed", "--max-episodes", "1", "--n-envs", "4")
TRAIN += ("--min-episodes", "1")
TRAIN += ("-o", "cage2.red_weights=bline=1;meander=1", "--lambda", "0", "--quiet")
FEW = ("--episodes", "40", "--horizon", "30", "--collector", "sequential")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("transfer")


@pytest.fixture
def trained(wfbench: Run, place: Path) -> Path:
    """Where a policy of the preset `best` was trained on a mixture with weights."""
    run = place / "results/runs/mixed"
    if not run.exists():
        (place / "plugins").mkdir()
        (place / "plugins/others.py").write_text(OTHERS)
        done = wfbench(*TRAIN, "--name", "mixed", "--out", str(run.parent))
        assert done.returncode == 0, done.stderr
    return run


def test_cells_replace_the_red_agent_of_the_training_and_its_weights(wfbench, trained):
    for reds in (("bline",), ("mixed",), ("meander", "sleep")):
        asked = [part for red in reds for part in ("--red", red)]
        done = wfbench(
            *("evaluate", str(trained), "--episodes", "4", "--horizon", "30", "--json", *asked)
        )
        assert done.returncode == 0, done.stderr
        assert tuple(cell["red"] for cell in json.loads(done.stdout)["cells"]) == reds


def test_returns_alone_are_those_of_an_evaluation(wfbench, trained):
    argv = ("evaluate", str(trained), "--episodes", "8", "--horizon", "30", "--red", "bline")
    both = [
        json.loads(wfbench(*argv, *more, "--json").stdout) for more in ((), ("--returns-only",))
    ]
    judged, alone = (values["cells"][0] for values in both)
    for name in ("env_return", "half_interval", "fixes", "episodes"):
        assert judged[name] == alone[name]
    assert alone["compliance"] is alone["counted"] is alone["chance"] is None
    refused = wfbench(*argv, "--returns-only", "--definition", "effective")
    assert refused.returncode == 2
    assert "--returns-only" in refused.stderr


def test_an_environment_of_the_same_rules_agrees(wfbench, trained, place):
    plugins = ("--plugins-dir", str(place / "plugins"))
    done = wfbench(*plugins, "verify-transfer", str(trained), "--env", "same", *FEW, "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["home"], found["away"]) == ("cage2", "same")
    assert [cell["red"] for cell in found["cells"]] == ["bline", "meander", "sleep"]
    assert all(cell["agrees"] for cell in found["cells"])
    cell = found["cells"][0]
    assert (cell["home_episodes"], cell["away_episodes"]) == (4000, 40)
    assert cell["difference"] == pytest.approx(cell["away_return"] - cell["home_return"])


def test_other_rules_are_found_and_named(wfbench, trained, place):
    plugins = ("--plugins-dir", str(place / "plugins"))
    argv = (*plugins, "verify-transfer", str(trained), "--env", "costly", *FEW, "--red", "sleep")
    done = wfbench(*argv)
    assert done.returncode == 1, done.stderr
    assert "costly differs from cage2 in 1 of 1 cells: sleep, 30 steps" in done.stdout
    assert wfbench(*argv, "--episodes", "1").returncode == 2
