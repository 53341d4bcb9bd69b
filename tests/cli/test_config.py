from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from wfbench.settings.config import PRESETS

PLUGINS = """
from dataclasses import dataclass
from wfbench.contract import CollectorSpec, SearcherSpec, TrainerSpec, hookimpl

@dataclass(frozen=True)
class Learning:
    lr: float = 0.5
    gamma: float = 0.5
    extra: int = 1

@hookimpl
def wfbench_trainers():
    return [
        TrainerSpec(name="learner", summary="Learns", factory="a:b", options=Learning),
        TrainerSpec(name="idle", summary="Does not", factory="a:b"),
    ]

@hookimpl
def wfbench_searchers():
    return [SearcherSpec(name="seeker", summary="Seeks", factory="a:b")]

@hookimpl
def wfbench_collectors():
    wide = frozenset({"batched-only"})
    return [CollectorSpec(name="wide", summary="x", factory="a:b", capabilities=wide)]
"""


@pytest.fixture
def plugins(tmp_path: Path) -> tuple[str, str]:
    folder = tmp_path / "plugins"
    folder.mkdir()
    (folder / "config_plugins.py").write_text(PLUGINS)
    return "--plugins-dir", str(folder)


RUN = ("--env", "synthetic", "--collector", "sequential", "--searcher", "seeker")


def test_the_table_shows_what_differs_and_why(wfbench: Any, tmp_path: Path, golden: Any) -> None:
    (tmp_path / "run.toml").write_text(
        'preset = "limited"\nlr = 0.01\n[options.shm]\nworkers = 2\n'
    )
    done = wfbench(
        *("config", "--config", "run.toml", "--lambda", "10"),
        cwd=tmp_path,
        env={"WFBENCH_RUN_SEED": "7"},
    )
    assert (done.returncode, done.stderr) == (0, "")
    golden("config.txt", done.stdout)


def test_json_holds_the_configuration_and_the_differences(wfbench: Any) -> None:
    done = wfbench("config", "--preset", "aggressive", "--collector", "shm", "--json")
    answer = json.loads(done.stdout)
    assert answer["schema"] == "wfbench/config/1"
    assert answer["config"]["n_envs"] == 500
    assert answer["config"]["lambda"] == 30.0
    assert answer["config"]["collector"] == ["shm"]
    assert answer["differs"]["n_envs"] == {
        "value": 500,
        "default": 200,
        "set_by": "preset aggressive",
    }
    assert answer["differs"].keys() == {
        *("training", "env", "collector", "trainer", "n_envs", "max_episodes", "min_episodes"),
        *("epochs", "definition"),
    }


def test_check_selects_the_plugins_with_the_settings_they_read(
    wfbench: Any, plugins: tuple[str, str]
) -> None:
    arguments = ("--trainer", "learner", "--lr", "0.25", "-o", "learner.extra=3")
    done = wfbench(*plugins, "config", "--check", *RUN, *arguments, "--json")
    assert done.returncode == 0, done.stderr
    [trainer] = json.loads(done.stdout)["plugins"]["trainer"]
    assert trainer["options"] == {"lr": 0.25, "gamma": 0.99, "extra": 3}
    text = wfbench(*plugins, "config", "--check", *RUN, *arguments).stdout
    assert "): lr=0.25, gamma=0.99, extra=3" in text


@pytest.mark.parametrize("verb", [("config", "--check"), ("run",)], ids=["config", "run"])
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--trainer", "idle", "--lr", "0.1"), "lr is set (command line), but trainer idle does"),
        (("--trainer", "learner", "--clip", "0.1"), "clip is set (command line), but trainer"),
        (("--trainer", "learner", "--beta", "3"), "beta is set (command line), but searcher"),
        (("--trainer", "learner", "--red", "sleep"), "red is set (command line), but env"),
        (("--trainer", "learner:lr=x"), "option learner.lr: 'x' is not of type float"),
        (("--trainer", "learner", "-o", "learner.nope=1"), "has no option 'nope'"),
        (("--trainer", "learner", "-o", "shm.workers=1"), "options are given for 'shm'"),
        (("--trainer", "nope"), "there is no trainer 'nope'; choose from: idle, learner"),
        (("--trainer", "idle", "--collector", "wide"), "needs a batched environment"),
    ],
)
def test_a_setting_that_nobody_reads_is_a_usage_error(
    verb: tuple[str, ...],
    arguments: tuple[str, ...],
    message: str,
    wfbench: Any,
    plugins: tuple[str, str],
) -> None:
    done = wfbench(*plugins, *verb, *RUN, *arguments)
    assert done.returncode == 2
    [line] = done.stderr.splitlines()
    assert message in line


def test_trainers_with_a_cadence_of_their_own_cannot_be_given_another(wfbench: Any) -> None:
    given = ("config", "--check", "--trainer", "ppo-episode", "--update-every", "50")
    done = wfbench(*given)
    assert done.returncode == 2
    assert "update_every is set (command line), but trainer ppo-episode has its own" in done.stderr
    assert wfbench(*given, "--trainer", "ppo").returncode == 0


def test_a_preset_may_set_what_a_plugin_does_not_read(
    wfbench: Any, plugins: tuple[str, str]
) -> None:
    done = wfbench(*plugins, "config", "--check", *RUN, "--trainer", "idle", "--preset", "original")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset_selects_plugins_and_options_that_exist(wfbench: Any, preset: str) -> None:
    done = wfbench("config", "--check", "--preset", preset)
    assert done.returncode == 0, done.stderr


def test_run_lists_the_installed_choices(wfbench: Any, plugins: tuple[str, str]) -> None:
    text = " ".join(wfbench(*plugins, "run", "--help").stdout.split())
    for flag, name in (("trainer", "learner"), ("searcher", "seeker"), ("collector", "wide")):
        described = text.partition(f"--{flag} NAME")[2].partition(" --")[0]
        assert re.search(rf"Installed: [a-z0-9, -]*\b{name}\b", described)
    assert "documented-25, documented-200, original, sequential, limited, aggressive" in text


def test_a_selected_plugin_that_cannot_be_built_ends_with_6(
    wfbench: Any, plugins: tuple[str, str], tmp_path: Path
) -> None:
    done = wfbench(*plugins, "run", *RUN, "--trainer", "learner", cwd=tmp_path)
    assert done.returncode == 6
    assert "cannot load a:b" in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr
