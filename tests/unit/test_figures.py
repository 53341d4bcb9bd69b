from __future__ import annotations

import importlib.util
import json
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
KEPT = ROOT / "results" / "figures.json"


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "tests/benchmarks" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def text() -> ModuleType:
    return load("figures_text")


@pytest.fixture(scope="module")
def script() -> ModuleType:
    return load("figures")


def part(values: Any, commit: str = "abc") -> dict[str, Any]:
    return {"commit": commit, "machine": "two cores", "commands": ["wfbench x"], "values": values}


def test_every_part_has_a_place_and_every_place_a_writer(
    text: ModuleType, script: ModuleType
) -> None:
    found = [
        name
        for document in text.DOCUMENTS
        for name in re.findall(r"<!--figures:([\w-]+)-->", (ROOT / document).read_text())
    ]
    assert sorted(found) == sorted(text.WRITERS)
    assert {*script.PARTS, *script.EXTRA} <= {*found}


def test_figures_replace_what_is_between_the_markers(text: ModuleType) -> None:
    before = "a\n<!--figures:documented-->\nold\n<!--end-->\nb\n"
    values = [{"red": "bline", "seconds": 9.6, "memory_mb": 449.7}]
    after = text.filled(before, {"documented": part(values)})
    assert "| bline | 10 s | 450 MB |" in after
    assert "Commit abc, two cores: `wfbench x`." in after
    assert "old" not in after
    assert after.startswith("a\n<!--figures:documented-->\n")
    assert after.endswith("<!--end-->\nb\n")
    assert text.filled(after, {"documented": part(values)}) == after
    assert text.filled(before, {}) == before


def test_figures_of_two_commits_are_refused(text: ModuleType, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="figures are of 2 commits: abc, def"):
        text.write(tmp_path, {"a": part([]), "b": part([], "def")})


def test_smoke_never_reaches_the_documents(
    script: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        script.main(["--smoke"])
    assert "choose another folder by --to" in capsys.readouterr().err


@pytest.mark.skipif(not KEPT.exists(), reason="the figures were not measured yet")
def test_documents_have_the_figures_that_are_kept(text: ModuleType, script: ModuleType) -> None:
    parts = json.loads(KEPT.read_text())
    text.check_one_commit(parts)
    assert {*script.PARTS} <= {*parts}
    for name in text.DOCUMENTS:
        document = (ROOT / name).read_text(encoding="utf-8")
        assert text.filled(document, parts) == document
