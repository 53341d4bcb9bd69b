"""Classes of a script or notebook as plugins, without a package around them."""

from __future__ import annotations

import sys

import pytest

from wfbench.contract import (
    PluginError,
    UsageError,
    load_object,
    register_local,
    ship_local,
)
from wfbench.host.manager import PluginHost, PluginSettings, load_plugins
from wfbench.settings.selection import select
from wfbench_collectors.sequential import SequentialCollector


class FastPathCollector:
    """Collect as fast as it goes.

    More about it.
    """

    capabilities = frozenset({"deterministic"})

    def __init__(self, batch: int = 3, extra: object = None) -> None:
        self.batch, self.extra = batch, extra


@pytest.fixture
def host() -> PluginHost:
    return load_plugins(PluginSettings(external=False))


def test_a_class_is_selected_like_a_plugin(host: PluginHost) -> None:
    wanted = {"collector": [FastPathCollector, "sequential"]}
    choice, other = select(host, wanted, {"fast-path": {"batch": "7"}})["collector"]
    assert choice.spec.name == "fast-path"
    assert choice.spec.summary == "Collect as fast as it goes."
    assert choice.spec.capabilities == {"deterministic"}
    assert choice.label == "fast-path:batch=7"
    assert choice.build().batch == 7
    assert other.spec.name == "sequential"
    assert select(host, {"collector": ["fast-path"]})["collector"][0].build().batch == 3


def test_a_class_defined_again_replaces_itself(host: PluginHost) -> None:
    for summary in ("First try.", "Second try."):
        again = type("FastPathCollector", (), {"__doc__": summary})
        [choice] = select(host, {"collector": [again]})["collector"]
        assert choice.spec.summary == summary
        assert type(choice.build()) is again


def test_a_class_may_not_take_the_name_of_a_plugin(host: PluginHost) -> None:
    taken = type("SequentialCollector", (), {})
    with pytest.raises(UsageError, match=r"already provided by .*; rename the class Sequential"):
        select(host, {"collector": [taken]})


def test_a_wrong_attribute_of_a_class_is_named(host: PluginHost) -> None:
    wrong = type("WrongCollector", (), {"capabilities": ["deterministic"]})
    with pytest.raises(UsageError, match=r"class WrongCollector cannot be used: .*frozenset"):
        select(host, {"collector": [wrong]})


def test_a_class_does_not_inherit_the_name_of_a_plugin(host: PluginHost) -> None:
    mine = type("MineCollector", (SequentialCollector,), {})
    assert select(host, {"collector": [mine]})["collector"][0].spec.name == "mine"


def test_what_is_no_class_cannot_be_selected(host: PluginHost) -> None:
    with pytest.raises(UsageError, match="give a selector or a class"):
        select(host, {"collector": [FastPathCollector()]})  # type: ignore[list-item] # wrong


def test_an_object_that_another_process_can_import_is_not_shipped() -> None:
    assert ship_local("os.path:join") is None


def test_an_object_that_cannot_be_shipped_is_named() -> None:
    path = register_local("Frozen", sys._getframe())
    with pytest.raises(PluginError, match="Frozen cannot be sent to another process"):
        ship_local(path)


def test_a_local_object_of_another_process_is_refused() -> None:
    with pytest.raises(PluginError, match="'NeverRegistered' was defined in another process"):
        load_object("local:NeverRegistered")
