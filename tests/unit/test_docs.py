"""The documents: links lead somewhere, and the commands they name exist."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), ROOT / "results/README.md"])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_to_a_file(page):
    links = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text())
    missing = [link for link in links if "://" not in link and not (page.parent / link).exists()]
    assert missing == []


def test_ci_runs_the_readmes_test_command_and_nothing_else():
    command = "pip install tox && tox"
    assert f"\n{command}\n" in (ROOT / "README.md").read_text()
    lines = (ROOT / ".ci/run").read_text().splitlines()
    assert lines == ["#!/usr/bin/env bash", "set -eu", 'cd "$(dirname "$0")/.."', command]
    workflow = yaml.safe_load((ROOT / ".github/workflows/tests.yml").read_text())
    steps = workflow["jobs"]["tests"]["steps"]
    assert [step["run"] for step in steps if "run" in step] == [command]
    assert {"push", "pull_request"} <= workflow[True].keys(), "YAML reads the key `on` as true"


def test_the_site_has_every_guide():
    shown = re.findall(r": (docs/[\w-]+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE)
    assert sorted(shown) == sorted(f"docs/{page.name}" for page in ROOT.glob("docs/*.md"))


@pytest.mark.parametrize("page", ["running", "searchers"])
def test_runs_for_a_landscape_train_every_order_alone_and_equally_long(page):
    text = (ROOT / f"docs/{page}.md").read_text().replace("\\\n", " ")
    blocks = re.findall(r"^```\w*\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    recipes = [block for block in blocks if re.search(r"^wfbench landscape ", block, re.MULTILINE)]
    assert recipes, "the page shows how a landscape is made"
    for command in re.findall(r"^ *wfbench run (.*)$", "\n".join(recipes), re.MULTILINE):
        assert "--inherit none --stop budget" in command
        assert re.search(r"--(training|preset) per-order", command), "joint is the default"


def git(*args):
    """Return git's answer; skip the test where the sources are not a git repository."""
    program = shutil.which("git")
    if program is None or not (ROOT / ".git").exists():
        pytest.skip("not a git repository")
    command = [program, "-c", f"safe.directory={ROOT}", *args]
    return subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)


@pytest.mark.parametrize("folder", ["", "plugins/peers/wfbench-gymnasium/"])
@pytest.mark.parametrize("file", ["runs/x/config.json", "checks/x/verdict.json"])
def test_git_ignores_runs(folder, file):
    assert git("check-ignore", "--no-index", "-q", f"{folder}results/{file}").returncode == 0


def test_no_run_is_in_git():
    names = git("ls-files").stdout.splitlines()
    assert "pyproject.toml" in names
    assert [name for name in names if re.search(r"(^|/)results/(runs|checks)/", name)] == []


def test_the_readme_is_a_front_page():
    text = (ROOT / "README.md").read_text()
    assert len(text.split()) <= 700
    assert len(re.findall(r"^\|[-| ]+\|$", text, re.MULTILINE)) <= 2


def test_every_promise_names_tests_that_exist():
    table = (ROOT / "docs/promises.md").read_text()
    rows = [row for row in table.splitlines() if row.startswith("| ")][1:]
    assert len(rows) >= 10
    for row in rows:
        places = re.findall(r"`(tests/[\w/.]+)`", row)
        assert places, row
        assert all((ROOT / place).exists() for place in places), row


def test_every_verb_the_readme_shows_is_a_verb():
    from wfbench.cli.verbs import VERBS

    shown = set(
        re.findall(r"^wfbench ([a-z][a-z-]*)", (ROOT / "README.md").read_text(), re.MULTILINE)
    )
    assert shown
    assert shown <= VERBS.keys()


def test_the_architecture_lists_every_package_and_module():
    listed = {}
    for row in (ROOT / "docs/architecture.md").read_text().splitlines():
        if match := re.fullmatch(r"\| `([\w/]+)` \| [^|]+ \| ([^|]+) \|", row):
            listed[match[1]] = set(re.findall(r"`(\w+)`", match[2]))
    core = ROOT / "wfbench"
    packages = {path.parent for path in core.glob("*/**/__init__.py")}
    assert listed == {
        str(folder.relative_to(core)): {path.stem for path in folder.glob("*.py")} - {"__init__"}
        for folder in packages
    }


def test_the_architecture_lists_every_bundled_plugin():
    text = (ROOT / "docs/architecture.md").read_text()
    bundled = {path.name for path in (ROOT / "plugins/bundled").iterdir() if path.is_dir()}
    assert set(re.findall(r"^\| `(wfbench_\w+)` \|", text, re.MULTILINE)) == bundled
