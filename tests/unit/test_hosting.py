"""What a host offers, refuses and says of plugins, in this process."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from wfbench.contract import CollectorSpec, PluginError, UsageError
from wfbench.host.discovery import Source
from wfbench.host.manager import PluginSettings, load_plugins
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
    assert "'json' is also the name of" in rows["json"].cause
    assert not {"_hidden", ".dotted", "readme", "empty"} & set(rows)
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
    for kind, found in (("preset", HostedFastCollector), ("collector", HostedFastCollector(None))):
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


def test_a_plugin_is_named_with_the_libraries_it_needs() -> None:
    assert Source("p", "", "", "here.py").with_libraries() == "here.py"
    assert Source("p", "wfbench", "1.0", "f").with_libraries() == "wfbench 1.0"
    told = Source("p", "pytest-timeout", "9", "f").with_libraries()
    assert told.startswith("pytest-timeout 9 (pytest ")
