from __future__ import annotations

import inspect
import re
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FunctionType
from typing import Any

import pytest

from wfbench.benchmarks.reproduce.laboratory import Laboratory
from wfbench.benchmarks.reproduce.running import reproduce
from wfbench.collecting.seeding import make_plan
from wfbench.contract import Call, EnvRef, Event, FactorySpec, Health, load_object
from wfbench.host import hookspecs
from wfbench.host.manager import PluginHost, PluginSettings, load_plugins
from wfbench.policies import RandomPolicy
from wfbench.settings.selection import Choice
from wfbench.testing import check_env, check_searcher, check_trainer

HOOKS: dict[str, FunctionType] = {
    name: function
    for name, function in vars(hookspecs).items()
    if name.startswith("wfbench_") and inspect.isfunction(function)
}
DOCS = Path(__file__).parents[2] / "docs"


def example(hook: str) -> str:
    """The plugin in a hook specification's docstring."""
    text = inspect.getdoc(HOOKS[hook]) or ""
    _, found, code = text.partition("For example::\n")
    assert found, f"{hook} has no example"
    return textwrap.dedent(code)


@pytest.fixture
def load_example(tmp_path: Path) -> Iterator[Callable[[str], PluginHost]]:
    """Load the example of a hook as a user's own file."""
    names = []

    def load(hook: str) -> PluginHost:
        names.append(f"example_of_{hook}")
        (tmp_path / f"{names[-1]}.py").write_text(example(hook))
        return load_plugins(PluginSettings(directories=(tmp_path,), external=False))

    yield load
    for name in names:
        sys.modules.pop(name, None)
    sys.path.remove(str(tmp_path))


def only_offer(host: PluginHost) -> Any:
    assert host.broken == []
    [offer] = [offer for offer in host.offers() if not offer.source.bundled]
    return offer


def test_every_hook_is_specified_and_either_registers_or_observes() -> None:
    observers = {name for name, function in HOOKS.items() if inspect.signature(function).parameters}
    assert observers == {
        "wfbench_run_started",
        "wfbench_update_finished",
        "wfbench_workflow_finished",
        "wfbench_run_finished",
    }
    assert set(hookspecs.REGISTRATION) == HOOKS.keys() - observers


def test_the_env_of_the_example_keeps_its_promises(load_example: Any) -> None:
    offer = only_offer(load_example("wfbench_envs"))
    assert not [p for p in check_env(offer.spec) if p.kept is False]


def test_the_collector_of_the_example_collects(load_example: Any) -> None:
    host = load_example("wfbench_collectors")
    offer = only_offer(host)
    env = host.find("env", "synthetic").spec
    plan = make_plan(EnvRef(env.name, env.factory), 2, seed=1)
    with Choice(offer, offer.spec).build() as collector:
        info = collector.open(plan)
        assert collector.collect(RandomPolicy(info.num_actions), 3).transitions == 6


def test_the_trainer_of_the_example_keeps_its_promises(load_example: Any) -> None:
    offer = only_offer(load_example("wfbench_trainers"))
    assert not [p for p in check_trainer(offer.spec) if p.kept is False]


def test_the_searcher_of_the_example_keeps_its_promises(load_example: Any) -> None:
    offer = only_offer(load_example("wfbench_searchers"))
    assert not [p for p in check_searcher(offer.spec) if p.kept is False]


def test_the_executor_of_the_example_runs_calls_by_turns(load_example: Any) -> None:
    offer = only_offer(load_example("wfbench_executors"))
    executor = Choice(offer, offer.spec).build()
    for key in (1, 2):
        executor.submit(key, Call("builtins:iter", range(key)))
    news = [executor.wait(1.0)[0] for _ in range(5)]
    assert [(n.key, n.kind, n.value) for n in news] == [
        (1, "value", 0),
        (2, "value", 0),
        (1, "ended", None),
        (2, "value", 1),
        (2, "ended", None),
    ]


def test_the_reporter_of_the_example_renders(load_example: Any) -> None:
    offer = only_offer(load_example("wfbench_reporters"))
    assert isinstance(offer.spec, FactorySpec)
    assert load_object(offer.spec.factory)().render({"b": 2, "a": 1}) == "a: 1; b: 2"


def test_the_claim_of_the_example_is_measured(load_example: Any) -> None:
    host = load_example("wfbench_claims")
    lab = Laboratory(host, seed=0, quick=True, say=lambda _: None)
    [claim] = reproduce(lab, [only_offer(host).spec.name]).claims
    assert claim.failure is None
    assert claim.finding is not None
    assert (claim.finding.verdict, claim.finding.values) == ("reproduced", {"per_step": 4.0})


def test_the_health_check_of_the_example_answers(load_example: Any) -> None:
    assert isinstance(only_offer(load_example("wfbench_health_checks")).spec.check(), Health)


def test_the_command_of_the_example_runs(tmp_path: Path, wfbench: Any) -> None:
    (tmp_path / "greeting.py").write_text(example("wfbench_commands"))
    done = wfbench("--plugins-dir", str(tmp_path), "hello", "--name", "you")
    assert (done.returncode, done.stdout, done.stderr) == (0, "hello you\n", "")
    listed = wfbench("--plugins-dir", str(tmp_path), "--help").stdout
    assert re.search(r"hello +Say hello", listed)


@pytest.mark.parametrize(
    "hook", ["run_started", "update_finished", "workflow_finished", "run_finished"]
)
def test_the_observers_of_the_examples_are_told(
    hook: str, load_example: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    host = load_example(f"wfbench_{hook}")
    assert host.broken == []
    host.notify(f"wfbench_{hook}", Event("run-7", {"order": (1, 0)}))
    assert "run-7" in capsys.readouterr().err


def test_the_documentation_lists_exactly_the_hooks_with_their_signatures() -> None:
    text = (DOCS / "hooks.md").read_text(encoding="utf-8")
    documented = re.findall(r"^### `(\w+)\((.*)\)`$", text, flags=re.MULTILINE)
    specified = [
        (name, ", ".join(inspect.signature(function).parameters))
        for name, function in HOOKS.items()
    ]
    assert documented == specified
