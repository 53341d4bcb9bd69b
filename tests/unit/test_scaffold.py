from __future__ import annotations

import ast
import importlib
import os
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wfbench.contract import Counters, EnvInfo, Rollout, TrainerSetup, UsageError
from wfbench.host.scaffold import KINDS, create_plugin

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("kind", KINDS)
def test_a_new_package_is_complete(kind: str, tmp_path: Path) -> None:
    created = create_plugin(kind, "fast-path", tmp_path)
    assert created == tmp_path / "wfbench-fast-path"
    files = {str(path.relative_to(created)) for path in created.rglob("*") if path.is_file()}
    assert files == {
        "README.md",
        "pyproject.toml",
        "src/wfbench_fast_path/__init__.py",
        "src/wfbench_fast_path/plugin.py",
        f"src/wfbench_fast_path/{kind}.py",
        "src/wfbench_fast_path/py.typed",
        "tests/test_promises.py",
    }
    project = tomllib.loads((created / "pyproject.toml").read_text())["project"]
    assert project["name"] == "wfbench-fast-path"
    assert project["entry-points"]["wfbench"] == {"fast-path": "wfbench_fast_path.plugin"}
    for path in created.rglob("*.py"):
        ast.parse(path.read_text(), filename=str(path))
        assert "$" not in path.read_text()
    assert [path.name for path in tmp_path.iterdir()] == ["wfbench-fast-path"]


@pytest.mark.parametrize(
    ("kind", "name", "message"),
    [
        ("collectr", "x", "no template for 'collectr'; choose from collector, trainer"),
        ("collector", "Fast", "is not a valid name"),
        ("collector", "fast_path", "is not a valid name"),
        ("collector", "", "is not a valid name"),
        ("collector", "all", "is not a valid name"),
        ("collector", "../up", "is not a valid name"),
        ("collector", "collectors", "package wfbench_collectors is already installed"),
    ],
)
def test_what_cannot_be_created_is_a_usage_error(
    kind: str, name: str, message: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=message):
        create_plugin(kind, name, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_recipes_for_ci_are_added_to_collectors_alone(tmp_path: Path) -> None:
    created = create_plugin("collector", "fast", tmp_path, ci=True)
    recipes = ROOT / "wfbench/host/scaffold/templates/ci"
    for place, recipe in ((".github/workflows/", "performance.yml"), (".", "gitlab-ci.yml")):
        assert (created / f"{place}{recipe}").read_text() == (recipes / recipe).read_text()
    with pytest.raises(UsageError, match="--ci measures collectors, and this is a env"):
        create_plugin("env", "slow", tmp_path, ci=True)


@pytest.mark.parametrize(
    ("name", "title"), [("x1", "X1Env"), ("3d", "The3dEnv"), ("a-env", "AEnv"), ("b-c", "BCEnv")]
)
def test_a_class_is_named_after_its_package(name: str, title: str, tmp_path: Path) -> None:
    created = create_plugin("env", name, tmp_path)
    [source] = created.glob("src/*/env.py")
    assert f"class {title}" in source.read_text()


def test_nothing_that_exists_is_touched(tmp_path: Path) -> None:
    mine = tmp_path / "wfbench-precious"
    mine.mkdir()
    (mine / "pyproject.toml").write_text("mine")
    with pytest.raises(UsageError, match="already exists"):
        create_plugin("env", "precious", tmp_path)
    assert (mine / "pyproject.toml").read_text() == "mine"
    with pytest.raises(UsageError, match="is not a directory"):
        create_plugin("env", "precious", tmp_path / "nowhere")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_directory_that_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(PermissionError):
        create_plugin("env", "precious", tmp_path)
    tmp_path.chmod(0o700)
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def new_trainer(tmp_path: Path) -> Iterator[Any]:
    """The trainer of the template."""
    source = str(create_plugin("trainer", "made-learner", tmp_path) / "src")
    sys.path.insert(0, source)
    yield importlib.import_module("wfbench_made_learner.trainer").MadeLearnerTrainer
    sys.path.remove(source)
    for name in [name for name in sys.modules if name.startswith("wfbench_made_learner")]:
        del sys.modules[name]


def test_the_trainer_of_the_template_really_learns(new_trainer: Any) -> None:
    """Rewarded for choosing the action its observation shows, it comes to choose it."""
    trainer = new_trainer(TrainerSetup(EnvInfo((3,), "float32", 3), seed=1), lr=0.5, gamma=0.0)
    trainer.start((1, 0))
    rng = np.random.default_rng(2)

    def play() -> Rollout:
        shown = rng.integers(3, size=(10, 20))
        obs = np.eye(3, dtype=np.float32)[shown]
        acts = trainer.policy().act(obs.reshape(-1, 3), rng.random(200))
        actions = acts.actions.reshape(10, 20)
        none = np.zeros((10, 20), np.bool_)
        return Rollout(
            obs=obs,
            actions=actions,
            rewards=(actions == shown).astype(np.float32),
            terminated=none,
            truncated=none,
            final_obs=np.zeros((0, 3), np.float32),
            next_obs=obs[-1],
            compromised=none.astype(np.uint32),
            ended_session=none,
            log_probs=acts.log_probs.reshape(10, 20),
            values=acts.values.reshape(10, 20),
            env_id=np.arange(20),
            first_step=np.zeros(20, np.int64),
            policy_version=np.full(20, trainer.policy().version),
            counters=Counters(1.0, 1.0, 0.0, 0.0, 0.0),
        )

    before = play().rewards.mean()
    for _ in range(60):
        rollout = play()
        trainer.update(rollout, rollout.rewards)
    assert before < 0.5
    assert play().rewards.mean() > 0.8
