"""Which plugins calls use, what is said of them, and gymnasium."""

from __future__ import annotations

import importlib.util
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import wfbench
from wfbench import testing
from wfbench.api import gymnasium_ids, hosting, plugin_tools
from wfbench.api.results import Progress
from wfbench.contract import PluginError, SearcherSpec, UsageError
from wfbench.host import doctor
from wfbench.testing import fault_watch
from wfbench.testing.fault_watch import FAULTS, FaultSeen
from wfbench.testing.promise import PromiseResult


def test_plugins_are_loaded_once_and_as_they_were_chosen(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delenv("WFBENCH_LOAD_PLUGINS", raising=False)
    monkeypatch.delenv("WFBENCH_BLOCK_PLUGINS", raising=False)
    assert hosting._State() == hosting._State((), True, False, (), frozenset(), None)  # noqa: FBT003
    hosting.configure()
    settings = hosting.plugin_settings()
    assert (settings.external, settings.only, settings.blocked) == (True, None, frozenset())
    assert hosting.broken_plugins() == []
    hosting.configure(external=False)
    assert hosting.plugin_host() is hosting.plugin_host()
    assert hosting.plugin_settings().external is False
    (tmp_path / "broken_in_api_tests.py").write_text("raise RuntimeError('no luck')\n")
    wfbench.use_plugins(str(tmp_path), no_plugins=True)
    assert not hosting.plugin_settings().external
    [broken] = hosting.broken_plugins()
    assert "no luck" in hosting.broken_line(broken)
    with pytest.raises(PluginError, match="--strict-plugins: plugin broken_in_api_tests"):
        wfbench.use_plugins([tmp_path], no_plugins=True, strict_plugins=True)
    wfbench.use_plugins(no_plugins=True, strict_plugins=True)
    monkeypatch.setenv("WFBENCH_LOAD_PLUGINS", "a, b,")
    monkeypatch.setenv("WFBENCH_BLOCK_PLUGINS", "c")
    assert hosting.plugin_settings().only == {"a", "b"}
    assert hosting.plugin_settings().blocked == {"c"}


def test_plugins_are_listed_by_kind() -> None:
    every, only = wfbench.plugins(), wfbench.plugins("searcher")
    assert {row.kind for row in only} == {"searcher"}
    assert len(only) == sum(row.kind == "searcher" for row in every) < len(every)
    with pytest.raises(UsageError, match="--kind nope: choose from env"):
        wfbench.plugins("nope")


def test_promises_are_checked_told_and_shown_on_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    long = "a promise " * 20 + "ends"
    promises = (PromiseResult(long, kept=True), PromiseResult("other", kept=False))

    def check(_: SearcherSpec, options: Any, progress: Any) -> tuple[PromiseResult, ...]:
        seen.append(dict(options))
        for one in promises:
            progress(one)
        return promises

    seen: list[dict[str, Any]] = []
    told: list[Progress] = []
    monkeypatch.setattr(testing, "check_searcher", check)
    monkeypatch.setenv("COLUMNS", "80")
    found = wfbench.check_plugin("halving", "random", progress=told.append)
    assert [(one.done, one.total, one.value) for one in told] == [
        (number, 0, promise) for _ in range(2) for number, promise in enumerate(promises, start=1)
    ]
    assert (found.broken, found.exit_code, len(found.rows())) == (2, 6, 4)
    found.show()
    assert long in capsys.readouterr().out
    assert wfbench.check_plugin("random").broken == 1
    assert wfbench.check_plugin("given:119", options=None).exit_code == 6
    assert seen[-1] != seen[0]
    with pytest.raises(UsageError, match="makes no promises to check"):
        wfbench.check_plugin("local")


def test_a_headline_that_is_long_stays_on_one_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    spec = SearcherSpec(name="a-name-that-is-long-enough", summary="x", factory="a:b")
    found = plugin_tools.PluginCheckResult(((spec, (PromiseResult("p", kept=True),)),))
    found.show()
    assert len(capsys.readouterr().out.splitlines()) == 2


def test_faults_are_told_counted_and_written(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked: list[tuple[list[str], tuple[str, ...]]] = []

    def watch(collectors: Any, faults: Any, *, progress: Any) -> None:
        asked.append(([spec.name for spec, _ in collectors], tuple(faults)))
        progress(FaultSeen(asked[-1][0][0], faults[0], "reported"))

    monkeypatch.setattr(fault_watch, "watch_faults", watch)
    told: list[Progress] = []
    first = next(iter(FAULTS))
    found = wfbench.check_faults(["shm", "pipe"], fault=[first], to=tmp_path, progress=told.append)
    assert asked.pop() == (["shm", "pipe"], (first,))
    [step] = told
    assert (step.done, step.total) == (1, 2)
    assert step.text.startswith(f"shm  {FAULTS[first]}: ")
    assert (tmp_path / "faults.md").read_text() == found.report("md")
    assert (tmp_path / "faults.json").exists()
    assert set(found.sources) == {"shm", "pipe"}
    wfbench.check_faults(["all"])
    names, faults = asked.pop()
    assert faults == tuple(FAULTS)
    assert "shm" in names
    for given, says in (
        ({"fault": ["x", "w"]}, "--fault w is not known"),
        ({"to": tmp_path / "none"}, "there is no such directory"),
    ):
        with pytest.raises(UsageError, match=says):
            wfbench.check_faults(["shm"], **given)
    assert not asked


def test_the_doctor_only_looks_unless_told_to_fix(instead: Any) -> None:
    examined = instead(doctor, "examine", ())
    assert wfbench.doctor().exit_code == 0
    wfbench.doctor(fix=True)
    assert [given for _, given in examined.calls] == [{"fix": False}, {"fix": True}]


class Loader:
    """Loads nothing, and keeps that it did."""

    def __init__(self) -> None:
        self.loaded: list[ModuleType] = []

    def create_module(self, _: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        self.loaded.append(module)


def test_environments_are_registered_when_gymnasium_is_there(
    monkeypatch: pytest.MonkeyPatch, instead: Any
) -> None:
    registered = instead(gymnasium_ids, "_register")
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    monkeypatch.setitem(sys.modules, "gymnasium.envs.registration", ModuleType("x"))
    others = list(sys.meta_path)
    gymnasium_ids.register_with_gymnasium()
    assert len(registered.calls) == 1
    assert sys.meta_path == others
    monkeypatch.delitem(sys.modules, "gymnasium.envs.registration")
    gymnasium_ids.register_with_gymnasium()
    assert len(registered.calls) == 1
    assert isinstance(sys.meta_path[0], gymnasium_ids._AfterGymnasium)
    assert sys.meta_path[1:] == others


def test_the_finder_waits_for_gymnasium_and_then_goes(
    monkeypatch: pytest.MonkeyPatch, instead: Any
) -> None:
    registered = instead(gymnasium_ids, "_register")
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    loader = Loader()
    for spec in (None, ModuleSpec("gymnasium", None), ModuleSpec("gymnasium", loader)):  # type: ignore[arg-type]
        finder = gymnasium_ids._AfterGymnasium()
        sys.meta_path.insert(0, finder)
        monkeypatch.setattr(importlib.util, "find_spec", lambda _, found=spec: found)
        assert finder.find_spec("other", None) is None
        assert finder in sys.meta_path
        assert finder.find_spec("gymnasium", None) is spec
        assert finder not in sys.meta_path
    module = ModuleType("gymnasium")
    assert not registered.calls
    loader.exec_module(module)
    assert loader.loaded == [module]
    assert len(registered.calls) == 1
