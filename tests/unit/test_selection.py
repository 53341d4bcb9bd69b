from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pytest

from wfbench.contract import CollectorSpec, EnvSpec, PluginError, Spec, TrainerSpec, UsageError
from wfbench.host.discovery import Candidate, Source
from wfbench.host.manager import PluginHost, PluginSettings, load_plugins
from wfbench.host.options import completed_options, resolve_options
from wfbench.settings.selection import (
    env_ref,
    format_selector,
    mismatch,
    parse_options,
    parse_selector,
    select,
    spec_ref,
)


@dataclass(frozen=True)
class Options:
    workers: int = field(default=0, metadata={"help": "how many"})
    payload: Literal["mask", "true-state"] = "mask"
    ratio: float = 0.5
    quiet: bool = False
    limit: int | None = None
    label: str = ""

    def __post_init__(self) -> None:
        if self.workers < 0:
            raise ValueError(f"workers is {self.workers}; it must not be negative")


class Made:
    def __init__(self, *arguments: object, **options: object) -> None:
        self.arguments, self.options = arguments, options


class Refusing:
    def __init__(self) -> None:
        raise RuntimeError("no more today")


HERE = "wfbench_selection_subjects"


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> PluginHost:
    """A host with one plugin, whose factories live in a module made for it."""
    import sys
    from types import ModuleType

    from wfbench.contract import hookimpl

    module = ModuleType(HERE)
    module.Made, module.Refusing = Made, Refusing  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, HERE, module)
    factory = f"{HERE}:Made"

    class Plugin:
        @hookimpl
        def wfbench_collectors(self) -> list[Spec]:
            return [
                CollectorSpec(
                    name="tuned",
                    summary="x",
                    factory=factory,
                    options=Options,
                    positional="payload",
                ),
                CollectorSpec(name="plain", summary="x", factory=factory),
                CollectorSpec(name="refusing", summary="x", factory=f"{HERE}:Refusing"),
                CollectorSpec(name="hollow", summary="x", factory="no_such_module:Thing"),
                CollectorSpec(
                    name="batcher",
                    summary="x",
                    factory=factory,
                    capabilities=frozenset({"batched-only"}),
                ),
            ]

        @hookimpl
        def wfbench_envs(self) -> Iterator[Spec]:
            yield EnvSpec(name="world", summary="x", factory=factory, options=Options)
            yield EnvSpec(name="wide", summary="x", factory=factory, batched=f"{HERE}:Made")

        @hookimpl
        def wfbench_trainers(self) -> list[Spec]:
            return [TrainerSpec(name="learner", summary="x", factory=factory, options=Options)]

    made = PluginHost()
    made.add(Candidate(Source("test", "wfbench-test", "1", "test.py"), Plugin))
    assert made.broken == []
    return made


def test_a_selector_gives_name_and_typed_options(host: PluginHost) -> None:
    selector = "tuned:workers=2,ratio=1,quiet=yes,limit=none,label=a b"
    [choice] = select(host, {"collector": [selector]})["collector"]
    assert choice.options == {
        "workers": 2,
        "payload": "mask",
        "ratio": 1.0,
        "quiet": True,
        "limit": None,
        "label": "a b",
    }
    assert choice.label == "tuned:workers=2,ratio=1.0,quiet=true,label=a b"
    assert choice.build("setup").options == choice.options
    assert choice.build("setup").arguments == ("setup",)


def test_a_bare_value_sets_the_positional_option(host: PluginHost) -> None:
    [choice] = select(host, {"collector": ["tuned:true-state,workers=1"]})["collector"]
    assert (choice.options["payload"], choice.options["workers"]) == ("true-state", 1)


def test_the_label_selects_the_same_again(host: PluginHost) -> None:
    [choice] = select(host, {"collector": ["tuned:workers=3,true-state"]})["collector"]
    [again] = select(host, {"collector": [choice.label]})["collector"]
    assert again == choice


def test_options_by_name_set_the_same_and_may_hold_commas(host: PluginHost) -> None:
    options = parse_options(["tuned.workers=2", "tuned.label=a,b=c", "tuned.workers=4"])
    [choice] = select(host, {"collector": ["tuned"]}, options)["collector"]
    assert (choice.options["workers"], choice.options["label"]) == (4, "a,b=c")


def test_options_that_a_stored_run_lacks_have_the_value_from_before_they_existed() -> None:
    @dataclass(frozen=True)
    class Newer:
        old: int = 1
        cut: bool = field(default=True, metadata={"before": False})
        names: tuple[str, ...] = field(default=("a",), metadata={"before": ("b", "c")})

    spec = TrainerSpec(name="learner", summary="x", factory=f"{HERE}:Made", options=Newer)
    assert completed_options(spec, {"old": 5}) == {"old": 5, "cut": False, "names": ("b", "c")}
    assert completed_options(spec, {"old": 5, "cut": True})["cut"] is True
    assert resolve_options(spec, completed_options(spec, {}))["names"] == ("b", "c")


def test_one_plugin_can_be_selected_with_different_options(host: PluginHost) -> None:
    wanted = {"collector": ["tuned:workers=1", "tuned:workers=2"]}
    chosen = select(host, wanted, {"tuned": {"ratio": 0.25}})["collector"]
    assert [choice.label for choice in chosen] == [
        "tuned:workers=1,ratio=0.25",
        "tuned:workers=2,ratio=0.25",
    ]


def test_all_means_every_one_of_the_kind(host: PluginHost) -> None:
    chosen = select(host, {"collector": ["all"]})["collector"]
    names = [choice.spec.name for choice in chosen]
    assert names == ["batcher", "hollow", "plain", "refusing", "tuned"]


def test_shared_values_reach_those_of_the_kind_that_declare_them(host: PluginHost) -> None:
    wanted = {"collector": ["plain", "tuned"], "trainer": ["learner:workers=9"]}
    shared = {"collector": {"workers": 5, "unheard": 1}, "trainer": {"workers": 6, "ratio": 2}}
    chosen = select(host, wanted, shared=shared)
    assert [choice.options.get("workers") for choice in chosen["collector"]] == [None, 5]
    assert chosen["trainer"][0].options["workers"] == 9
    assert chosen["trainer"][0].options["ratio"] == 2.0


@pytest.mark.parametrize(
    ("selector", "options", "message"),
    [
        ("tuned:wokers=2", [], r"no option 'wokers'; its options are workers=0 \(int\), payload="),
        ("tuned:workers=two", [], r"tuned\.workers: 'two' is not of type int; its options are"),
        ("tuned:payload=all", [], r"'all' is not one of mask, true-state"),
        ("tuned:workers=-1", [], "workers is -1; it must not be negative"),
        ("tuned:workers=1", ["tuned.workers=2"], r"tuned\.workers is given twice"),
        ("tuned:mask,payload=mask", [], r"tuned\.payload is given twice"),
        ("plain:3", [], "takes no bare value"),
        ("plain:size=3", [], "has no option 'size'; it has none"),
        ("plain:", [], "is not NAME or NAME:KEY=VALUE"),
        ("tuned:workers=1,,quiet=on", [], "is not NAME or NAME:KEY=VALUE"),
        (":workers=1", [], "is not NAME or NAME:KEY=VALUE"),
        ("plain", ["tuned.workers=2"], "given for 'tuned', but the selection is plain"),
        ("plain", ["workers=2"], "this is not NAME.KEY=VALUE"),
        ("plain", ["plain.workers"], "this is not NAME.KEY=VALUE"),
        ("unheard", [], "there is no collector 'unheard'; choose from: batcher, hollow, plain"),
    ],
)
def test_what_makes_no_sense_is_a_usage_error_that_names_what_does(
    host: PluginHost, selector: str, options: list[str], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        select(host, {"collector": [selector]}, parse_options(options))


def test_the_same_choice_twice_is_refused(host: PluginHost) -> None:
    with pytest.raises(UsageError, match="'tuned' is selected twice"):
        select(host, {"collector": ["tuned", "tuned:workers=0"]})
    with pytest.raises(UsageError, match="already means every collector"):
        select(host, {"collector": ["all", "plain"]})


def test_a_factory_that_fails_is_a_plugin_error(host: PluginHost) -> None:
    for name, message in (
        ("hollow", "cannot load no_such_module:Thing: No module named"),
        ("refusing", "its factory raised RuntimeError: no more today"),
    ):
        [choice] = select(host, {"collector": [name]})["collector"]
        with pytest.raises(PluginError, match=message) as caught:
            choice.build()
        assert "wfbench-test 1" in str(caught.value)


def test_an_env_becomes_a_reference_that_any_process_can_build(host: PluginHost) -> None:
    [choice] = select(host, {"env": ["world:workers=2"]})["env"]
    ref = env_ref(choice)
    assert (ref.name, ref.factory, ref.batched) == ("world", f"{HERE}:Made", None)
    assert json.loads(json.dumps(dict(ref.options))) == dict(choice.options)
    with pytest.raises(TypeError, match="is a collector, not an env"):
        env_ref(select(host, {"collector": ["plain"]})["collector"][0])


@dataclass(frozen=True)
class Holding:
    hold: str = "never"
    size: int = 1


def test_an_option_of_its_own_is_no_form_of_an_env() -> None:
    workflow = frozenset({"workflow"})
    spec = EnvSpec(name="held", summary="x", factory="a:b", capabilities=workflow, options=Holding)
    ref = spec_ref(spec, resolve_options(spec, {"hold": "often", "size": 2, "orders": "all"}))
    assert ref.options == {"hold": "often", "size": 2}
    assert (ref.form["orders"], ref.form["hold"]) == ("all", "")


def test_a_batched_only_collector_needs_a_batched_env(host: PluginHost) -> None:
    chosen = select(host, {"collector": ["batcher", "plain"], "env": ["world", "wide"]})
    (batcher, plain), (world, wide) = chosen["collector"], chosen["env"]
    assert "has no batched form" in (mismatch(batcher, world) or "")
    assert mismatch(batcher, wide) is None
    assert mismatch(plain, world) is None


@pytest.mark.parametrize("text", ["shm", "shm:workers=2", "tabular:file", "a:b,c=d=e,f="])
def test_selectors_are_parsed_and_formatted_without_loss(text: str) -> None:
    assert format_selector(*parse_selector(text)) == text


def test_the_bundled_plugins_are_sound_and_need_no_compiler_to_be_listed(tmp_path: Path) -> None:
    host = load_plugins(PluginSettings(directories=(tmp_path,), external=False))
    assert host.broken == []
    names = {(offer.spec.kind, offer.spec.name) for offer in host.offers()}
    expected: set[Any] = {("collector", name) for name in ("sequential", "pipe", "shm", "vector")}
    assert expected | {("env", "cage2"), ("env", "synthetic")} <= names
