"""How the kit is used: what it says of excuses, hangs and misuse, from pytest and from a script."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from wfbench.contract import PluginError, UsageError
from wfbench.testing import CollectorConformance, check_collector
from wfbench.testing.collector_promises import COLLECTOR


def test_a_broken_promise_does_not_spoil_the_next(bad):
    seen = []
    promises = check_collector(
        bad("HangsInClose"),
        only=["same-transitions", "close-in-any-state", "own-seeds"],
        limit=1.0,
        progress=seen.append,
    )
    assert promises == seen
    assert [promise.kept for promise in promises] == [False, False, False]
    assert all("hung" in promise.detail for promise in promises)


def test_what_a_collector_does_not_declare_does_not_apply(bad):
    [promise] = check_collector(bad("StaleRows"), only=["killed"])
    assert promise.kept is None
    assert promise.detail == "it does not declare workers"


def test_a_declared_exception_is_tested_and_excused(bad):
    declared = replace(bad("StaleRows"), cannot={"same-transitions": "it is slow to notice"})
    [promise] = check_collector(declared, only=["same-transitions"])
    assert (promise.kept, promise.broken, promise.stale) == (False, False, False)
    assert promise.excuse == "it is slow to notice"
    assert "rollout 1 is not" in promise.detail


def test_an_excuse_survives_a_subject_that_hangs(bad):
    declared = replace(bad("HangsInClose"), cannot={"close-in-any-state": "it never ends"})
    [promise] = check_collector(declared, only=["close-in-any-state"], limit=1.0)
    assert (promise.kept, promise.broken) == (False, False)
    assert "hung" in promise.detail


def test_a_declared_exception_that_is_kept_is_reported(bad):
    declared = replace(bad("StaleRows"), cannot={"own-seeds": "it has only one"})
    [promise] = check_collector(declared, only=["own-seeds"])
    assert (promise.kept, promise.broken, promise.stale) == (True, False, True)


def test_a_declared_exception_must_be_a_promise(bad):
    declared = replace(bad("StaleRows"), cannot={"speed": "it is slow"})
    with pytest.raises(PluginError, match="cannot keep 'speed', but there is no such promise"):
        check_collector(declared, only=["own-seeds"])


def test_a_collector_by_name_and_its_options():
    [promise] = check_collector("shm", {"workers": 3}, only=["one-environment"])
    assert promise.kept is True


@pytest.mark.parametrize(
    ("name", "options", "only", "message"),
    [
        ("no-such", {}, [], "there is no collector 'no-such'"),
        ("shm", {"wokers": 2}, [], "has no option 'wokers'"),
        ("shm", {}, ["fast"], "there is no promise 'fast'"),
    ],
)
def test_misuse_of_the_kit_is_named(name, options, only, message):
    with pytest.raises(UsageError, match=message):
        check_collector(name, options, only=only)


MODULE = """
from wfbench.testing import CollectorConformance


class TestMine(CollectorConformance):
    collector = "sequential"
"""


def test_every_promise_is_a_test_of_pytest(tmp_path: Path):
    module = tmp_path / "test_mine.py"
    module.write_text(MODULE)
    chosen = ["-k", "own-seeds or killed", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *chosen, str(module)],
        check=False,
        capture_output=True,
        text=True,
        timeout=110,
        cwd=tmp_path,
    )
    others = len(COLLECTOR.by_slug) - 3
    told = f"1 passed, 2 skipped, {others} deselected in "
    assert done.stdout.splitlines()[-1].startswith(told), done.stdout


SCRIPT = """
from wfbench.testing import check_collector
from wfbench_collectors.shm import ShmCollector


class MyCollector(ShmCollector):
    capabilities = frozenset({"deterministic", "workers"})
    cannot = {"own-seeds": "it has only one"}

    def __init__(self, workers: int = 2) -> None:
        super().__init__(workers=workers)


for result in check_collector(MyCollector, {"workers": 3}, only=SLUGS):
    print(result.slug, result.kept, result.excuse)
"""


def test_a_class_of_a_script_can_be_tested(tmp_path: Path):
    slugs = ["own-seeds", "misuse", "interrupted", "replaced-worker"]
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.replace("SLUGS", repr(slugs)))
    done = subprocess.run(
        [sys.executable, str(script)], check=False, capture_output=True, text=True, timeout=110
    )
    assert done.stdout.splitlines() == [
        "own-seeds True it has only one",
        "misuse True ",
        "interrupted True ",
        "replaced-worker None ",
    ], done.stderr


def test_the_class_is_not_collected_on_its_own():
    assert not CollectorConformance.__name__.startswith("Test")
