"""The distributions of their own under plugins/: what every one of them is made of."""

from __future__ import annotations

import ast
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PEERS = sorted(ROOT.glob("plugins/peers/wfbench-*/pyproject.toml"))
ALLOWED = (
    "wfbench.collecting",
    "wfbench.contract",
    "wfbench.orders",
    "wfbench.policies",
    "wfbench.processes",
)


def test_there_are_peers():
    assert {"wfbench-gymnasium", "wfbench-sb3", "wfbench-tensorboard", "wfbench-cyborg"} <= {
        path.parent.name for path in PEERS
    }


@pytest.mark.parametrize("path", PEERS, ids=lambda path: path.parent.name)
def test_a_peer_is_a_distribution_like_any_strangers(path):
    project = tomllib.loads(path.read_text())["project"]
    name = path.parent.name
    package = name.replace("-", "_")
    assert project["name"] == name
    [module] = project["entry-points"]["wfbench"].values()
    assert module.startswith(f"{package}.")
    assert (path.parent / "src" / Path(*module.split("."))).with_suffix(".py").is_file()
    assert f"pip install ./plugins/peers/{name}" in (path.parent / "README.md").read_text()


@pytest.mark.parametrize("path", PEERS, ids=lambda path: path.parent.name)
def test_of_ours_a_peer_imports_only_what_every_plugin_may(path):
    imported = set()
    for file in (path.parent / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ImportFrom) and node.level == 0:
                imported.add(str(node.module))
            elif isinstance(node, ast.Import):
                imported.update(alias.name for alias in node.names)
    own = path.parent.name.replace("-", "_")
    ours = {
        name for name in imported if name.startswith("wfbench") and name.partition(".")[0] != own
    }
    assert ours
    assert {name for name in ours if not name.startswith(ALLOWED)} == set()
