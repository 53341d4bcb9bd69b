"""The recipes for CI: what they run exists, and what they read is written."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

from wfbench.benchmarks.gate.baseline_store import read_baseline
from wfbench.benchmarks.gate.check import cases_now
from wfbench.host.manager import PluginSettings, load_plugins

ROOT = Path(__file__).parents[2]
GITHUB = ROOT / ".github/workflows/performance.yml"
GITLAB = ROOT / "docs/ci/gitlab-ci.yml"
KEPT = sorted((ROOT / "results/baselines").glob("*.json"))


def scripts(file: Path) -> list[str]:
    """Every shell line of a recipe."""
    recipe = yaml.safe_load(file.read_text())
    if file == GITHUB:
        parts = [step["run"] for step in recipe["jobs"]["check"]["steps"] if "run" in step]
    else:
        job = recipe["performance"]
        parts = [*job["script"], *job["after_script"]]
    return [line for part in parts for line in part.splitlines()]


def commands(file: Path) -> list[list[str]]:
    return [shlex.split(line)[1:] for line in scripts(file) if line.startswith("wfbench ")]


@pytest.mark.parametrize("file", [GITHUB, GITLAB], ids=["github", "gitlab"])
def test_every_command_exists_with_its_options_and_its_baseline(file: Path, wfbench: Any) -> None:
    found = commands(file)
    assert found
    for verb, *args in found:
        done = wfbench(verb, "--help")
        assert done.returncode == 0
        options = [arg for arg in args if arg.startswith("--")]
        assert options
        assert all(re.search(rf"^ +{option} ", done.stdout, re.MULTILINE) for option in options)
        assert args[args.index("--baseline") + 1] in {path.stem for path in KEPT}


@pytest.mark.parametrize("file", [GITHUB, GITLAB], ids=["github", "gitlab"])
def test_what_is_posted_and_kept_is_what_check_writes(file: Path) -> None:
    [args] = commands(file)
    out, comment = (args[args.index(option) + 1] for option in ("--out", "--md"))
    text = file.read_text()
    if file == GITHUB:
        steps = yaml.safe_load(text)["jobs"]["check"]["steps"]
        uploads = [step for step in steps if "upload-artifact" in step.get("uses", "")]
        assert [step["with"]["path"] for step in uploads] == [out]
        assert f"--body-file {comment}" in text
        later = steps[steps.index(next(s for s in steps if "check" in s.get("run", ""))) + 1 :]
        assert all(step["if"].startswith("always()") for step in later)
    else:
        job = yaml.safe_load(text)["performance"]
        assert job["artifacts"]["when"] == "always"
        assert job["artifacts"]["reports"]["junit"] == f"{out}/junit.xml"
        assert f"body@{comment}" in text


def test_there_is_a_baseline_to_gate_with() -> None:
    assert KEPT


@pytest.mark.parametrize("file", KEPT, ids=lambda path: path.stem)
def test_a_kept_baseline_can_be_measured_by_this_code(file: Path) -> None:
    baseline = read_baseline(file)
    assert baseline.name == file.stem
    assert not baseline.settings.smoke
    assert baseline.command, "how it was made is part of it"
    host = load_plugins(PluginSettings(external=False))
    assert len(cases_now(host, baseline)) == len(baseline.cells)
