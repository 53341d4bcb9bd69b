"""What a host offers, refuses and says of plugins, in this process."""

from __future__ import annotations

import json
import logging
import sys
from dataclasses import FrozenInstanceError, dataclass, field
from importlib.metadata import EntryPoint, entry_points, version
from pathlib import Path
from typing import Any

import pytest

from wfbench.contract import CollectorSpec, PluginError, UsageError, hookimpl
from wfbench.host import discovery, manager
from wfbench.host.discovery import Candidate, Source
from wfbench.host.manager import PluginHost, PluginSettings, load_plugins
from wfbench.host.options import without_options

GOOD = """
from wfbench.contract import CollectorSpec, hookimpl

@hookimpl
def wfbench_collectors():
    return [
        CollectorSpec(name=name, summary="Works", factory="some.module:Thing")
        for name in ("hosted-one", "hosted-two")
    ]
"""


class HostedFastCollector:
    """Is fast.

    And nothing else.
    """

    capabilities = frozenset({"workers"})

    def __init__(self, plan: object, workers: int = 3, other: object = None) -> None:
        self.given = plan, workers, other


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A plugin directory with a good and a broken plugin, and what is none."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "hosted_good.py").write_text(GOOD)
    (tmp_path / "hosted_bad.py").write_text("\n\nraise RuntimeError('no  luck\\n today')\n")
    package = tmp_path / "hosted_package"
    package.mkdir()
    (package / "__init__.py").write_text(GOOD.replace("hosted-", "packed-"))
    for name in ("_hidden.py", ".dotted.py", "readme.txt"):
        (tmp_path / name).write_text("raise RuntimeError")
    (tmp_path / "empty").mkdir()
    (tmp_path / "json.py").write_text(GOOD)
    (tmp_path / "sys.py").write_text(GOOD)
    return tmp_path


def test_a_directory_offers_what_works_and_names_what_does_not(folder: Path) -> None:
    host = load_plugins(PluginSettings(directories=(folder,), external=False))
    names = [offer.spec.name for offer in host.offers("collector")]
    assert names == sorted(names)
    assert {"hosted-one", "hosted-two", "packed-one", "shm"} <= set(names)
    assert host.find("collector", "hosted-one").source.file == str(folder / "hosted_good.py")
    assert [offer.spec.name for offer in host.named("hosted_good")] == ["hosted-one", "hosted-two"]
    assert [offer.spec.kind for offer in host.named("shm")] == ["collector"]
    rows = {row.name: row for row in host.inventory()}
    assert (rows["hosted-one"].status, rows["hosted_bad"].status) == ("ok", "broken")
    where = f"{folder / 'hosted_bad.py'}, line 3"
    assert rows["hosted_bad"].cause == f"RuntimeError: no luck today ({where})"
    assert f"'json' is also the name of {json.__file__}; rename it" in rows["json"].cause
    assert "'sys' is also the name of a built-in; rename it" in rows["sys"].cause
    assert not {"_hidden", ".dotted", "readme", "empty"} & set(rows)
    assert "observer" not in {row.kind for row in rows.values()}
    with pytest.raises(PluginError, match=r"plugin 'hosted_bad' .* is broken: RuntimeError"):
        host.find("collector", "hosted_bad")
    with pytest.raises(UsageError, match=r"there is no collector 'nobody'.*hosted-one"):
        host.find("collector", "nobody")


def test_what_is_blocked_is_not_offered_and_said(folder: Path) -> None:
    settings = PluginSettings(
        directories=(folder,), external=False, blocked=frozenset({"hosted_good"})
    )
    host = load_plugins(settings)
    with pytest.raises(UsageError, match=r"plugin 'hosted_good' is blocked"):
        host.named("hosted_good")
    assert {row.name: row.status for row in host.inventory()}["hosted_good"] == "blocked"
    with pytest.raises(UsageError, match=r"--plugins-dir .*gone: there is no such directory"):
        load_plugins(PluginSettings(directories=(folder / "gone",), external=False))


def test_a_class_is_offered_under_its_name_with_its_parameters_as_options() -> None:
    host = load_plugins(PluginSettings(external=False))
    offer = host.offer_class("collector", HostedFastCollector)
    assert isinstance(offer.spec, CollectorSpec)
    assert (offer.spec.name, offer.spec.summary) == ("hosted-fast", "Is fast.")
    assert offer.spec.capabilities == {"workers"}
    assert offer.spec.options is not None
    assert vars(offer.spec.options()) == {"workers": 3}
    again = host.offer_class("collector", HostedFastCollector)
    assert host.find("collector", "hosted-fast") is again
    taken = type("ShmCollector", (), {"__doc__": "Is taken."})
    with pytest.raises(UsageError, match=r"collector 'shm' is already provided by wfbench"):
        host.offer_class("collector", taken)
    with pytest.raises(FrozenInstanceError):
        offer.spec.options().workers = 4
    kinds = ("preset", "reporter", "health-check")
    for kind, found in (
        *((kind, HostedFastCollector) for kind in kinds),
        ("collector", HostedFastCollector(None)),
    ):
        with pytest.raises(UsageError, match=r"cannot be used as a"):
            host.offer_class(kind, found)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Options:
    """Options of which one belongs to another."""

    costs: str = "none"
    step: float = field(default=1.0, metadata={"of": "costs"})
    size: int = 2


def test_what_belongs_to_a_replaced_option_goes_with_it() -> None:
    spec = CollectorSpec(name="x", summary="x", factory="a:b", options=Options)
    given = {"costs": "high", "step": 2.0, "size": 3}
    assert without_options(spec, given, {"costs"}) == {"size": 3}
    assert without_options(spec, given, {"size"}) == {"costs": "high", "step": 2.0}
    assert without_options(spec, given, ()) == given


def test_a_plugin_is_named_with_the_libraries_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Source("p", "", "", "here.py").with_libraries() == "here.py"
    assert Source("p", "wfbench", "1.0", "f").with_libraries() == "wfbench 1.0"
    told = Source("p", "pytest-timeout", "9", "f").with_libraries()
    assert told.startswith("pytest-timeout 9 (pytest ")
    monkeypatch.setattr(
        discovery,
        "requires",
        lambda name: (
            ["wfbench>=1", "pluggy<9,>1", "no-such-library", "rich; extra == 'x'"]
            if name == "some"
            else None
        ),
    )
    pluggy = f"pluggy {version('pluggy')}"
    assert Source("p", "some", "9", "f").with_libraries() == f"some 9 ({pluggy})"
    assert Source("p", "other", "9", "f").with_libraries() == "other 9"


def test_the_file_of_an_entry_point_is_found_without_importing_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "hosted_space").mkdir()
    (tmp_path / "hosted_tree" / "inner").mkdir(parents=True)
    for file in ("hosted_one.py", "hosted_tree/__init__.py", "hosted_tree/plugin.py"):
        (tmp_path / file).write_text("raise RuntimeError")
    (tmp_path / "hosted_tree/inner/__init__.py").write_text("raise RuntimeError")
    files = {
        "hosted_one": "hosted_one.py",
        "hosted_space": "",
        "hosted_tree": "hosted_tree/__init__.py",
        "hosted_tree.inner": "hosted_tree/inner/__init__.py",
        "hosted_tree.none": "hosted_tree/__init__.py",
        "hosted_tree.plugin": "hosted_tree/plugin.py",
        "hosted_nowhere": "",
    }
    bundled = [*entry_points(group="wfbench")]
    assert bundled
    entries = [*(EntryPoint(name, name, "wfbench") for name in reversed(files)), *bundled]
    monkeypatch.setattr(discovery, "entry_points", lambda **_: entries)
    sources = [candidate.source for candidate in discovery.installed()]
    ours, found = sources[: len(bundled)], sources[len(bundled) :]
    assert all(source.bundled for source in ours)
    assert [(source.plugin, source.file) for source in found] == [
        (name, file and str(tmp_path / file)) for name, file in sorted(files.items())
    ]


def test_everything_is_loaded_that_is_not_left_out() -> None:
    assert vars(PluginSettings()) == {
        "directories": (),
        "external": True,
        "only": None,
        "blocked": frozenset(),
        "reserved_commands": frozenset(),
    }


class Watching:
    """Counts what starts."""

    def __init__(self) -> None:
        self.seen: list[Any] = []

    @hookimpl
    def wfbench_collectors(self) -> list[CollectorSpec]:
        return []

    @hookimpl
    def wfbench_run_started(self, event: Any) -> None:
        self.seen.append(event)


class Raising:
    """Offers nothing sound."""

    @hookimpl
    def wfbench_collectors(self) -> None:
        raise RuntimeError("no luck")


class Failing:
    """Fails when something starts."""

    @hookimpl
    def wfbench_run_started(self, event: Any) -> None:
        raise RuntimeError(f"not {event}")


def test_an_observer_that_fails_is_logged_and_the_others_are_told(
    caplog: pytest.LogCaptureFixture,
) -> None:
    host, first, last = PluginHost(), Watching(), Watching()
    for name, plugin in (("first", first), ("ill", Failing()), ("last", last)):
        host.add(Candidate(Source(name, "", "", "here"), lambda plugin=plugin: plugin))
    assert [(row.kind, row.name) for row in host.inventory()] == [
        *(("observer", "first"), ("observer", "ill"), ("observer", "last")),
    ]
    host.notify("wfbench_run_started", {"event": "x"})
    assert first.seen == last.seen == [{"event": "x"}]
    [record] = caplog.records
    assert record.getMessage() == "plugin ill (here) failed in wfbench_run_started"
    assert record.exc_info is not None
    assert str(record.exc_info[1]) == "not {'event': 'x'}"


def test_what_loading_did_is_in_the_log(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = iter((10.0, 12.5, 20.0))
    monkeypatch.setattr(manager, "perf_counter", lambda: next(now))
    caplog.set_level(logging.DEBUG, logger=manager.log.name)
    host = PluginHost()
    host.add(Candidate(Source("well", "", "", "here"), Watching))
    host.add(Candidate(Source("ill", "", "", "there"), Raising))
    said = [record.getMessage() for record in caplog.records]
    assert "loaded: well (here) in 2.500 s" in said
    assert [line for line in said if line.startswith("wfbench_collectors ")] == [
        *("wfbench_collectors returned", "wfbench_collectors raised"),
    ]
    assert [line for line in said if line.startswith("broken: ill (there): ")]
