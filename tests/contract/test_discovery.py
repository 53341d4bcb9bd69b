from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

HEAD = "from wfbench.contract import CollectorSpec, EnvSpec, hookimpl\n"
GOOD = (
    HEAD
    + """
@hookimpl
def wfbench_collectors():
    return [CollectorSpec(name="good", summary="Works", factory="some.module:Thing")]
"""
)


def returning(expression: str) -> str:
    return f"{HEAD}\n@hookimpl\ndef wfbench_collectors():\n    return {expression}\n"


def spec(**changes: object) -> str:
    fields = {"name": "bad", "summary": "Breaks", "factory": "some.module:Thing", **changes}
    return f"CollectorSpec({', '.join(f'{key}={value!r}' for key, value in fields.items())})"


WAYS_TO_BREAK = {
    "import-error": ("import no_such_library\n", "No module named 'no_such_library'"),
    "syntax-error": ("def broken(:\n", "SyntaxError"),
    "raises-on-import": ("raise RuntimeError('boom')\n", "RuntimeError: boom"),
    "exits-on-import": ("import sys\nsys.exit(3)\n", "SystemExit: 3"),
    "raises-at-registration": (
        f"{HEAD}\n@hookimpl\ndef wfbench_collectors():\n    return 1 / 0\n",
        "ZeroDivisionError",
    ),
    "raises-while-yielding": (
        f"{HEAD}\n@hookimpl\ndef wfbench_collectors():\n    yield {spec()}\n    open('/none')\n",
        "FileNotFoundError",
    ),
    "wrong-signature": (
        f"{HEAD}\n@hookimpl\ndef wfbench_collectors(config):\n    return []\n",
        "'config'",
    ),
    "unknown-hook": (
        f"{HEAD}\n@hookimpl\ndef wfbench_colectors():\n    return []\n",
        "unknown hook 'wfbench_colectors'",
    ),
    "no-hook": ("def wfbench_collectors():\n    return []\n", "mark its functions with @hookimpl"),
    "api-too-new": (returning(f"[{spec(api=99)}]"), "speaks API 99"),
    "api-too-old": (returning(f"[{spec(api=0)}]"), "speaks API 0"),
    "not-a-list": (returning(spec()), "not a list of CollectorSpec"),
    "none": (returning("None"), "not a list of CollectorSpec"),
    "not-a-descriptor": (returning("[{'name': 'bad'}]"), "returned a dict"),
    "wrong-descriptor": (
        returning("[EnvSpec(name='bad', summary='x', factory='a:b')]"),
        "returned a EnvSpec, not a CollectorSpec",
    ),
    "bad-name": (returning(f"[{spec(name='Bad Name')}]"), "lower-case letters"),
    "reserved-name": (returning(f"[{spec(name='all')}]"), "lower-case letters"),
    "no-summary": (returning(f"[{spec(summary='')}]"), "must be one line"),
    "bad-factory": (returning(f"[{spec(factory='some.module')}]"), "is not 'package.module:name'"),
    "capabilities-as-list": (
        returning(f"[{spec(capabilities=['deterministic'])}]"),
        "capabilities must be a frozenset",
    ),
    "options-not-a-dataclass": (returning(f"[{spec(options=3)}]"), "must be a dataclass"),
    "positional-without-options": (returning(f"[{spec(positional='x')}]"), "there are no options"),
    "option-without-default": (
        "from dataclasses import dataclass\n@dataclass\nclass Options:\n    size: int\n"
        + returning(f"[{spec()}]").replace(")]", ", options=Options)]"),
        "option 'size' has no default",
    ),
    "option-of-strange-type": (
        "from dataclasses import dataclass\n@dataclass\nclass Options:\n    size: list = None\n"
        + returning(f"[{spec()}]").replace(")]", ", options=Options)]"),
        "not bool, int, float or str",
    ),
    "taken-name": (
        returning(f"[{spec(name='sequential')}]"),
        "collector 'sequential' is already provided by collectors (wfbench",
    ),
    "one-good-one-bad": (
        returning(f"[{spec(name='fine')}, {spec(name='bad', api=99)}]"),
        "speaks API 99",
    ),
}


def rows(wfbench: Any, *args: str, **kwargs: Any) -> list[dict[str, str]]:
    done = wfbench(*args, "plugins", "list", "--json", **kwargs)
    assert done.returncode == 0, done.stderr
    found: list[dict[str, str]] = json.loads(done.stdout)["plugins"]
    return found


@pytest.fixture(scope="session")
def bundled() -> set[tuple[str, str]]:
    from wfbench.host.manager import PluginSettings, load_plugins

    host = load_plugins(PluginSettings(external=False))
    return {(offer.spec.kind, offer.spec.name) for offer in host.offers()}


@pytest.mark.parametrize("way", WAYS_TO_BREAK)
def test_a_broken_plugin_is_listed_and_changes_nothing_else(
    way: str, make_distribution: Callable[..., Path], wfbench: Any, bundled: set[tuple[str, str]]
) -> None:
    code, cause = WAYS_TO_BREAK[way]
    files = {"broken_one/__init__.py": "", "broken_one/plugin.py": code}
    site = make_distribution("wfbench-broken-one", files, {"bad": "broken_one.plugin"})
    found = rows(wfbench, env={"PYTHONPATH": str(site)})
    [broken] = [row for row in found if row["status"] != "ok"]
    assert broken["status"] == "broken"
    assert (broken["plugin"], broken["distribution"], broken["version"]) == (
        "bad",
        "wfbench-broken-one",
        "1.2.3",
    )
    assert broken["file"] == str(site / "broken_one/plugin.py")
    assert cause in broken["cause"]
    assert "\n" not in broken["cause"]
    assert {(row["kind"], row["name"]) for row in found if row["status"] == "ok"} == bundled


@pytest.mark.parametrize("way", ["raises-on-import", "api-too-new", "unknown-hook"])
def test_selecting_a_broken_plugin_is_one_line_and_exit_code_6(
    way: str, make_distribution: Callable[..., Path], wfbench: Any
) -> None:
    files = {"broken_two.py": WAYS_TO_BREAK[way][0]}
    site = make_distribution("wfbench-bad", files, {"bad": "broken_two"})
    for command in (
        ("run", "--collector", "bad", "--env", "synthetic"),
        ("plugins", "show", "bad"),
        ("plugins", "check", "bad"),
    ):
        done = wfbench(*command, env={"PYTHONPATH": str(site), "WFBENCH_LOAD_PLUGINS": "bad"})
        assert done.returncode == 6, command
        [line] = done.stderr.splitlines()
        assert line.startswith("wfbench: plugin 'bad' (wfbench-bad 1.2.3) is broken: ")


def test_every_other_command_goes_on_with_a_warning(
    make_distribution: Callable[..., Path], wfbench: Any
) -> None:
    site = make_distribution("wfbench-bad", {"broken_three.py": "1 / 0\n"}, {"bad": "broken_three"})
    env = {"PYTHONPATH": str(site)}
    for command in (("--help",), ("run", "--help"), ("config", "--help")):
        done = wfbench(*command, env=env)
        assert done.returncode == 0
        assert "Usage: wfbench" in done.stdout
        assert done.stderr.startswith("wfbench: warning: plugin bad (wfbench-bad 1.2.3) is broken")
        assert len(done.stderr.splitlines()) == 1
    doctor = wfbench("doctor", env=env)
    assert doctor.returncode == 3
    assert "to repair: upgrade or uninstall wfbench-bad" in doctor.stdout


def test_strict_plugins_turns_a_broken_plugin_into_an_error(
    make_distribution: Callable[..., Path], wfbench: Any
) -> None:
    site = make_distribution("wfbench-bad", {"broken_four.py": "1 / 0\n"}, {"bad": "broken_four"})
    done = wfbench("--strict-plugins", "plugins", "list", env={"PYTHONPATH": str(site)})
    assert done.returncode == 6
    assert done.stderr.startswith("wfbench: --strict-plugins: plugin bad (wfbench-bad 1.2.3)")
    debug = wfbench("--debug", "plugins", "show", "bad", env={"PYTHONPATH": str(site)})
    assert debug.returncode == 6
    assert 'broken_four.py", line 1, in <module>' in debug.stderr
    assert wfbench("--strict-plugins", "plugins", "list").returncode == 0


def test_a_good_plugin_of_another_distribution_is_on_offer(
    make_distribution: Callable[..., Path], wfbench: Any
) -> None:
    site = make_distribution("wfbench-good", {"good_one.py": GOOD}, {"good": "good_one"})
    [row] = [r for r in rows(wfbench, env={"PYTHONPATH": str(site)}) if r["name"] == "good"]
    assert (row["kind"], row["status"], row["distribution"]) == ("collector", "ok", "wfbench-good")


@pytest.mark.parametrize(
    ("variables", "flags", "loaded"),
    [
        ({}, (), {"good", "other"}),
        ({}, ("--no-plugins",), set()),
        ({"WFBENCH_LOAD_PLUGINS": "good"}, (), {"good"}),
        ({"WFBENCH_LOAD_PLUGINS": "wfbench-other"}, (), {"other"}),
        ({"WFBENCH_LOAD_PLUGINS": ""}, (), set()),
        ({"WFBENCH_BLOCK_PLUGINS": "good"}, (), {"other"}),
        ({"WFBENCH_BLOCK_PLUGINS": "good, other"}, (), set()),
        ({"WFBENCH_LOAD_PLUGINS": "good,other", "WFBENCH_BLOCK_PLUGINS": "good"}, (), {"other"}),
    ],
)
def test_which_plugins_are_loaded_can_be_chosen(
    variables: dict[str, str],
    flags: tuple[str, ...],
    loaded: set[str],
    make_distribution: Callable[..., Path],
    wfbench: Any,
    bundled: set[tuple[str, str]],
) -> None:
    site = make_distribution("wfbench-good", {"good_two.py": GOOD}, {"good": "good_two"})
    other = GOOD.replace('"good"', '"other"')
    make_distribution("wfbench-other", {"other_two.py": other}, {"other": "other_two"})
    found = rows(wfbench, *flags, env={"PYTHONPATH": str(site), **variables})
    usable = {(row["kind"], row["name"]) for row in found if row["status"] == "ok"}
    assert usable == bundled | {("collector", name) for name in loaded}


def test_a_blocked_plugin_is_listed_as_such_and_cannot_be_selected(
    make_distribution: Callable[..., Path], wfbench: Any
) -> None:
    site = make_distribution("wfbench-good", {"good_three.py": GOOD}, {"good": "good_three"})
    env = {"PYTHONPATH": str(site), "WFBENCH_BLOCK_PLUGINS": "good,synthetic"}
    found = rows(wfbench, env=env)
    blocked = {row["name"] for row in found if row["status"] == "blocked"}
    assert blocked == {"good", "synthetic"}
    done = wfbench("plugins", "show", "good", env=env)
    assert (done.returncode, "blocked" in done.stderr) == (2, True)


def test_a_plugin_that_is_to_be_loaded_but_missing_is_told(wfbench: Any) -> None:
    [row] = [
        row
        for row in rows(wfbench, env={"WFBENCH_LOAD_PLUGINS": "tpyo"})
        if row["status"] == "broken"
    ]
    assert (row["name"], row["cause"]) == ("tpyo", "it should be loaded, but is not installed")


def test_a_directory_gives_files_and_packages(tmp_path: Path, wfbench: Any) -> None:
    (tmp_path / "single_file.py").write_text(GOOD)
    package = tmp_path / "whole_package"
    package.mkdir()
    (package / "__init__.py").write_text(
        "from .inner import wfbench_collectors\n__all__ = ['wfbench_collectors']\n"
    )
    (package / "inner.py").write_text(GOOD.replace('"good"', '"packaged"'))
    (tmp_path / "_private.py").write_text("1 / 0\n")
    (tmp_path / "notes.txt").write_text("no plugin")
    (tmp_path / "data").mkdir()
    (tmp_path / "broken_file.py").write_text("1 / 0\n")
    found = rows(wfbench, "--plugins-dir", str(tmp_path))
    mine = {(r["name"], r["status"], r["file"]) for r in found if r["distribution"] != "wfbench"}
    assert mine == {
        ("good", "ok", str(tmp_path / "single_file.py")),
        ("packaged", "ok", str(package / "__init__.py")),
        ("broken_file", "broken", str(tmp_path / "broken_file.py")),
    }


def test_directories_can_come_from_the_environment_and_repeat(tmp_path: Path, wfbench: Any) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"dir_{name}.py").write_text(GOOD.replace('"good"', f'"{name}"'))
    both = [argument for name in ("one", "two") for argument in ("--plugins-dir", tmp_path / name)]
    assert {"one", "two"} <= {row["name"] for row in rows(wfbench, *map(str, both))}
    from_env = rows(wfbench, env={"WFBENCH_PLUGINS_DIR": str(tmp_path / "one")})
    assert "one" in {row["name"] for row in from_env}


def test_a_file_named_like_a_library_is_refused_not_mixed_up(tmp_path: Path, wfbench: Any) -> None:
    (tmp_path / "json.py").write_text(GOOD)
    [row] = [
        r for r in rows(wfbench, "--plugins-dir", str(tmp_path)) if r["distribution"] != "wfbench"
    ]
    assert row["status"] == "broken"
    assert "rename it" in row["cause"]


def test_what_a_plugin_prints_while_it_is_loaded_stays_out_of_the_answer(
    tmp_path: Path, wfbench: Any
) -> None:
    (tmp_path / "chatty.py").write_text("print('hello from import')\n" + GOOD)
    done = wfbench("--plugins-dir", str(tmp_path), "plugins", "list", "--json")
    assert "good" in {row["name"] for row in json.loads(done.stdout)["plugins"]}
    assert done.stderr == "hello from import\n"


def test_a_missing_directory_is_a_usage_error(tmp_path: Path, wfbench: Any) -> None:
    done = wfbench("--plugins-dir", str(tmp_path / "nowhere"), "plugins", "list")
    assert done.returncode == 2
    assert "there is no such directory" in done.stderr


def test_a_command_of_a_plugin_may_not_replace_one_of_ours(tmp_path: Path, wfbench: Any) -> None:
    (tmp_path / "greedy.py").write_text(
        "from wfbench.contract import CommandSpec, hookimpl\n@hookimpl\ndef wfbench_commands():\n"
        "    return [CommandSpec(name='doctor', summary='Mine', app='greedy:main')]\n"
    )
    [row] = [
        r for r in rows(wfbench, "--plugins-dir", str(tmp_path)) if r["distribution"] != "wfbench"
    ]
    assert (row["status"], row["cause"]) == ("broken", "'doctor' is a command of wfbench itself")


def test_a_command_that_cannot_be_loaded_ends_with_6(tmp_path: Path, wfbench: Any) -> None:
    (tmp_path / "hollow.py").write_text(
        "from wfbench.contract import CommandSpec, hookimpl\n@hookimpl\ndef wfbench_commands():\n"
        "    return [CommandSpec(name='hollow', summary='Empty', app='hollow:missing')]\n"
    )
    done = wfbench("--plugins-dir", str(tmp_path), "hollow")
    assert done.returncode == 6
    assert done.stderr.startswith("wfbench: command 'hollow'")


def test_tracing_tells_what_is_loaded_and_called(tmp_path: Path, wfbench: Any) -> None:
    (tmp_path / "traced.py").write_text(GOOD)
    env = {"WFBENCH_TRACE_PLUGINS": "1"}
    done = wfbench("--plugins-dir", str(tmp_path), "plugins", "list", env=env)
    lines = done.stderr.splitlines()
    assert all(line.startswith("wfbench: trace: ") for line in lines)
    loaded = f"wfbench: trace: loaded: traced ({tmp_path / 'traced.py'}) in "
    assert any(line.startswith(loaded) for line in lines)
    assert any("call wfbench_collectors()" in line for line in lines)
    assert wfbench("plugins", "list", env={"WFBENCH_TRACE_PLUGINS": "0"}).stderr == ""


def test_a_failing_observer_is_logged_and_keeps_no_other_from_being_told(
    tmp_path: Path, wfbench: Any
) -> None:
    head = "from wfbench.contract import Event, hookimpl\n@hookimpl\n"
    (tmp_path / "a_fails.py").write_text(f"{head}def wfbench_run_started(event):\n    1 / 0\n")
    (tmp_path / "b_tells.py").write_text(
        f"{head}def wfbench_run_started(event):\n    print('told', event.run_id)\n"
    )
    (tmp_path / "caller.py").write_text(
        "from pathlib import Path\n"
        "from wfbench.contract import CommandSpec, Event, hookimpl\n"
        "from wfbench.host.manager import PluginSettings, load_plugins\n"
        "def main():\n"
        "    host = load_plugins(PluginSettings(directories=(Path(__file__).parent,)))\n"
        "    host.notify('wfbench_run_started', Event('run-1', {}))\n"
        "@hookimpl\ndef wfbench_commands():\n"
        "    return [CommandSpec(name='tell', summary='Tell', app='caller:main')]\n"
    )
    done = wfbench("--plugins-dir", str(tmp_path), "tell")
    assert done.returncode == 0
    assert done.stdout == "told run-1\n"
    assert "failed in wfbench_run_started" in done.stderr
    assert "ZeroDivisionError" in done.stderr
