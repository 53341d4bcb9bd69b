"""The kit notices every way in which the template of a collector is broken here."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from wfbench.contract import CollectorSpec, load_object
from wfbench.host.scaffold import create_plugin
from wfbench.testing import check_collector

WAYS: list[dict[str, Any]] = tomllib.loads(
    (Path(__file__).parent / "broken/template.toml").read_text()
)["way"]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    parent = tmp_path_factory.mktemp("written")
    return create_plugin("collector", "broken", parent) / "src"


def broken(source: Path, way: dict[str, Any], into: Path) -> None:
    """Write the package with the collector broken in one way."""
    package = into / "wfbench_broken"
    package.mkdir()
    for file in (source / "wfbench_broken").iterdir():
        package.joinpath(file.name).write_text(file.read_text())
    collector = package / "collector.py"
    before = collector.read_text()
    assert before.count(way["old"]) == 1, f"{way['name']}: the template has changed"
    collector.write_text(before.replace(way["old"], way["new"]) + way.get("also", ""))


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way["name"].replace(" ", "-"))
def test_the_kit_notices(
    way: dict[str, Any], written: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken(written, way, tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    try:
        [spec] = load_object("wfbench_broken.plugin:wfbench_collectors")()
        assert isinstance(spec, CollectorSpec)
        [result] = check_collector(spec, way.get("options"), only=[way["promise"]])
    finally:
        for name in [name for name in sys.modules if name.startswith("wfbench_broken")]:
            del sys.modules[name]
    assert result.kept is False, result
    assert result.detail


def test_there_are_enough_and_each_has_a_name_of_its_own() -> None:
    assert len({way["name"] for way in WAYS}) == len(WAYS) >= 30 + 9 + 15
