from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from wfbench.contract import UsageError
from wfbench.host.manager import PluginSettings, load_plugins
from wfbench.settings.config import PRESETS, SETTINGS, RunConfig
from wfbench.settings.selection import parse_options
from wfbench.settings.sources import (
    ConfigSource,
    read_environment,
    read_file,
    resolve,
    select_run,
)


def test_the_defaults_are_the_documented_ones_but_for_more_passes() -> None:
    documented = {
        "n_envs": 200,
        "workflows": 20,
        "max_episodes": 50,
        "min_episodes": 5,
        "update_every": 100,
        "threshold": 0.95,
        "lambda_": 30.0,
        "beta": 2.0,
        "gamma": 0.99,
        "epochs": 4,
        "lr": 0.002,
        "clip": 0.2,
        "red": "bline",
        "seed": 0,
    }
    for config, epochs in ((RunConfig(**PRESETS["documented-200"]), 4), (RunConfig(), 6)):
        expected = {**documented, "epochs": epochs}
        assert {name: getattr(config, name) for name in documented} == expected


@pytest.mark.parametrize(
    ("preset", "n_envs", "max_episodes", "min_episodes", "transitions"),
    [
        ("documented-25", 25, 50, 10, 2_500),
        ("documented-200", 200, 50, 5, 20_000),
        ("original", 1, 10_000, 1000, 20_000),
        ("sequential", 1, 10_000, 1000, 10_000),
        ("limited", 50, 100, 10, 5_000),
        ("aggressive", 500, 20, 3, 50_000),
    ],
)
def test_the_presets_are_the_documented_configurations(
    preset: str, n_envs: int, max_episodes: int, min_episodes: int, transitions: int
) -> None:
    config = resolve([ConfigSource("command line", preset=preset)]).config
    found = (config.n_envs, config.max_episodes, config.min_episodes)
    assert found == (n_envs, max_episodes, min_episodes)
    assert config.n_envs * config.update_every == transitions
    assert config.epochs == (6 if preset == "original" else 4)


def test_every_preset_leaves_room_for_an_update() -> None:
    for preset in PRESETS:
        config = resolve([ConfigSource("command line", preset=preset)]).config
        assert config.max_episodes * 100 >= config.update_every


def test_later_layers_win_and_each_setting_knows_who_set_it(tmp_path: Path) -> None:
    file = tmp_path / "run.toml"
    file.write_text('preset = "limited"\nlr = 1\nlambda = 10\ncollector = ["shm", "pipe"]\n')
    effective = resolve(
        [
            read_file(file),
            read_environment({"WFBENCH_RUN_LR": "0.5", "WFBENCH_RUN_SEED": "3", "OTHER": "1"}),
            ConfigSource("command line", {"seed": 4}),
        ]
    )
    config, sources = effective.config, effective.sources
    assert (config.n_envs, sources["n_envs"]) == (50, "preset limited")
    assert (config.lambda_, sources["lambda_"]) == (10.0, str(file))
    assert (config.lr, sources["lr"]) == (0.5, "environment")
    assert (config.seed, sources["seed"]) == (4, "command line")
    assert config.collector == ("shm", "pipe")
    assert "gamma" not in sources


def test_the_preset_of_the_last_layer_replaces_the_others() -> None:
    layers = [
        ConfigSource("file", {"n_envs": 7}, preset="limited"),
        read_environment({"WFBENCH_RUN_PRESET": "aggressive"}),
    ]
    config = resolve(layers).config
    assert (config.n_envs, config.max_episodes) == (7, 20)


def test_lists_in_the_environment_are_separated_by_spaces() -> None:
    layer = read_environment({"WFBENCH_RUN_COLLECTOR": "shm:workers=2,payload=mask pipe"})
    assert layer.values == {"collector": ("shm:workers=2,payload=mask", "pipe")}


def test_an_option_wins_in_either_notation_by_its_layer(tmp_path: Path) -> None:
    file = tmp_path / "run.toml"
    file.write_text('collector = "shm:workers=1,payload=mask"\n[options.cage2]\nred = "sleep"\n')
    flags = ConfigSource(
        "command line", {"env": "cage2:red=meander"}, parse_options(["shm.workers=8"])
    )
    effective = resolve([read_file(file), flags])
    assert effective.config.collector == ("shm:payload=mask",)
    assert effective.config.env == "cage2:red=meander"
    assert effective.options == {"shm": {"workers": "8"}}
    assert effective.option_sources["shm.workers"] == "command line"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "n_env = 3",
            r"no setting 'n_env'; there are training, env, .*lambda.* preset, options",
        ),
        ("n_envs = 2.5", "n_envs: 2.5 is not of type int"),
        ("n_envs = true", "n_envs: True is not of type int"),
        ("red = 3", "red: 3 is not of type str"),
        ("preset = 3", "preset is 3; it must be a name"),
        ("options = 3", "options go into tables"),
        ("[options]\nshm = 3", "options go into tables"),
        ("n_envs = ", "this is not TOML"),
    ],
)
def test_a_file_that_makes_no_sense_is_a_usage_error(
    text: str, message: str, tmp_path: Path
) -> None:
    file = tmp_path / "run.toml"
    file.write_text(text)
    with pytest.raises(UsageError, match=message) as caught:
        read_file(file)
    assert str(file) in str(caught.value)


def test_a_missing_or_binary_file_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"none\.toml: No such file"):
        read_file(tmp_path / "none.toml")
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match="this is not TOML"):
        read_file(tmp_path / "binary.toml")


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({"WFBENCH_RUN_N_ENV": "3"}, "WFBENCH_RUN_N_ENV is set, but there is no such setting"),
        ({"WFBENCH_RUN_N_ENVS": "many"}, "WFBENCH_RUN_N_ENVS: 'many' is not of type int"),
    ],
)
def test_a_variable_that_makes_no_sense_is_a_usage_error(
    variables: dict[str, str], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        read_environment(variables)


def test_an_unknown_preset_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="no preset 'fast'; choose from documented-25"):
        resolve([ConfigSource("command line", preset="fast")])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n_envs": 0}, "n_envs is 0; it must be at least 1"),
        ({"min_episodes": 60}, "max_episodes is 50; it must not be below min_episodes"),
        ({"threshold": 0.0}, "threshold is 0.0"),
        ({"threshold": 1.01}, "threshold is 1.01"),
        ({"lambda_": -1.0}, "lambda is -1.0"),
        ({"lambda_": float("nan")}, "lambda is nan"),
        ({"beta": float("inf")}, "beta is inf"),
        ({"gamma": 1.5}, "gamma is 1.5"),
        ({"epochs": 0}, "epochs is 0"),
        ({"lr": 0.0}, "lr is 0.0"),
        ({"clip": 1.0}, "clip is 1.0"),
        ({"seed": -1}, "seed is -1; it must not be negative"),
        ({"collector": ()}, "collector is"),
        ({"lr": math.inf}, "lr is inf; it must be a number above 0"),
        ({"clip": 0.0}, "clip is 0.0"),
        ({"gamma": -0.1}, "gamma is -0.1"),
        ({"eval_episodes": 1}, "eval_episodes is 1; it must be at least 2"),
        ({"training": "both"}, "training is both; it must be joint or per-order"),
        ({"training": "per-order", "max_episodes": 4}, "it must not be below min_episodes"),
    ],
)
def test_impossible_values_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        RunConfig(**changes)


@pytest.mark.parametrize(
    "changes",
    [
        {"n_envs": 1, "workflows": 1, "min_episodes": 1, "update_every": 1, "epochs": 1},
        {"eval_episodes": 2, "patience": 0, "seed": 0, "specialise": 0, "stress": 0, "free": 0},
        {"lambda_": 0.0, "beta": 0.0, "gamma": 0.0, "threshold": 1.0},
        {"gamma": 1.0, "no_fix": 1.0, "lambda_end": 0.0},
        {"training": "per-order", "max_episodes": 5, "min_episodes": 5},
        {"max_episodes": 1},
    ],
)
def test_values_at_the_limit_are_allowed(changes: dict[str, Any]) -> None:
    config = RunConfig(**changes)
    assert {name: getattr(config, name) for name in changes} == changes


def test_settings_have_one_name_everywhere() -> None:
    names = {(setting.key, setting.flag, setting.variable) for setting in SETTINGS.values()}
    assert ("lambda", "--lambda", "WFBENCH_RUN_LAMBDA") in names
    assert ("n_envs", "--n-envs", "WFBENCH_RUN_N_ENVS") in names
    assert all(setting.help.endswith(".") for setting in SETTINGS.values())


def test_defaults_and_presets_are_what_they_were(golden: Callable[[str, str], None]) -> None:
    lines = [f"{setting.key} = {setting.default!r}" for setting in SETTINGS.values()]
    for preset in PRESETS:
        resolved = resolve([ConfigSource("", preset=preset)])
        lines.append(f"[{preset}]")
        lines += [f"{name} = {getattr(resolved.config, name)!r}" for name in resolved.sources]
    golden("settings.txt", "\n".join(lines))


@pytest.mark.parametrize(("name", "seeds"), [("documented-25", 1), ("smoke", 2)])
def test_only_a_joint_run_trains_twice(name: str, seeds: int) -> None:
    config = resolve([ConfigSource("", preset=name)]).config
    assert config.joint == (seeds == 2)
    assert config.training_seeds == seeds


def test_a_joint_run_trains_twice_unless_told_otherwise() -> None:
    assert resolve([]).config.training_seeds == 2
    assert resolve([ConfigSource("", {"seeds": 5})]).config.training_seeds == 5


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"inherit": "nearest"}, "training=joint does not read it.*--training per-order"),
        ({"training": "per-order", "stress": 3}, "training=per-order does not read it"),
        ({"trainer": ("ppo-original",), "update_every": 7}, "has its own"),
        ({"searcher": "random", "beta": 1.0}, "searcher random does not read it; leave it out"),
        ({"searcher": "halving", "beta": 1.0}, "searcher halving does not read it; leave it out"),
        ({"trainer": ("ppo-original",), "update_every": 9, "n_envs": 3}, "update_every is set"),
    ],
)
def test_a_setting_that_nobody_reads_is_refused(given: dict[str, Any], message: str) -> None:
    host = load_plugins(PluginSettings(external=False))
    with pytest.raises(UsageError, match=message):
        select_run(host, resolve([ConfigSource("the test", given)]))


def test_other_settings_may_be_set_beside_a_trainer_with_its_own_cadence() -> None:
    host = load_plugins(PluginSettings(external=False))
    given = {"trainer": ("ppo-original",), "n_envs": 3, "seed": 1}
    assert select_run(host, resolve([ConfigSource("the test", given)]))["trainer"]
    assert select_run(host, resolve([ConfigSource("the test", {"update_every": 7})]))["trainer"]


def test_a_preset_may_set_what_nobody_reads() -> None:
    host = load_plugins(PluginSettings(external=False))
    for preset in PRESETS:
        chosen = select_run(host, resolve([ConfigSource("", {}, preset=preset)]))
        assert set(chosen) >= {"env", "collector", "trainer", "searcher"}
