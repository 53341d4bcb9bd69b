"""The documents: links lead somewhere, and the commands they name exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

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


def test_every_promise_of_the_readme_names_tests_that_exist():
    table = (ROOT / "README.md").read_text().split("## What is promised")[1].split("##")[0]
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
