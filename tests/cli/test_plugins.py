from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

PLUGIN = """
from dataclasses import dataclass, field
from typing import Literal
from wfbench.contract import CollectorSpec, EnvSpec, SearcherSpec, hookimpl


@dataclass(frozen=True)
class Options:
    workers: int = field(default=0, metadata={"help": "worker processes; 0: one per core"})
    payload: Literal["mask", "true-state"] = field(
        default="mask", metadata={"help": "what crosses"}
    )


class Rotate:
    def __init__(self, setup):
        self.num_units, self.asked = setup.num_units, 0

    def ask(self):
        return tuple((self.asked + unit) % self.num_units for unit in range(self.num_units))

    def tell(self, order, outcome):
        self.asked += 1

    def state(self):
        return {"asked": self.asked}

    def load(self, state):
        self.asked = state["asked"]


class Stuck(Rotate):
    def __init__(self, setup, skip=0):
        super().__init__(setup)

    def load(self, state):
        pass


@hookimpl
def wfbench_collectors():
    return [
        CollectorSpec(
            name="fast",
            summary="A collector of someone else",
            factory="golden_plugin:Fast",
            options=Options,
            positional="payload",
            capabilities=frozenset({"workers", "deterministic"}),
        )
    ]


@hookimpl
def wfbench_envs():
    return [EnvSpec(name="world", summary="An environment", factory="golden_plugin:World")]


@hookimpl
def wfbench_searchers():
    return [
        SearcherSpec(name="rotate", summary="In turn", factory="golden_plugin:Rotate"),
        SearcherSpec(name="stuck", summary="Forgets", factory="golden_plugin:Stuck"),
    ]
"""


@pytest.fixture
def site(make_distribution: Callable[..., Path]) -> Path:
    """A good plugin and a broken one, and none of ours."""
    make_distribution("wfbench-golden", {"golden_plugin.py": PLUGIN}, {"golden": "golden_plugin"})
    broken = {"golden_broken.py": "import no_such_library\n"}
    return make_distribution("wfbench-broken", broken, {"bad": "golden_broken"}, "0.9")


@pytest.fixture
def env(site: Path) -> dict[str, str]:
    return {
        "PYTHONPATH": str(site),
        "WFBENCH_LOAD_PLUGINS": "golden,bad",
        "WFBENCH_BLOCK_PLUGINS": "wfbench",
    }


def anywhere(text: str, site: Path) -> str:
    """The text with SITE for where the plugins are."""
    return text.replace(str(site), "SITE")


def without_blocked(text: str) -> str:
    """The table without our own plugins, which these tests block, and whose names widen it."""
    lines = [line.rstrip() for line in text.splitlines()]
    return "\n".join(re.sub(" {2,}", "  ", line) for line in lines if not line.endswith("blocked"))


def test_the_list_is_a_table_that_ends_with_what_is_broken(
    wfbench: Any, env: dict[str, str], site: Path, golden: Any
) -> None:
    done = wfbench("plugins", "list", env=env)
    assert (done.returncode, done.stderr) == (0, "")
    golden("plugins-list.txt", anywhere(without_blocked(done.stdout), site))


def test_the_list_can_be_of_one_kind(wfbench: Any, env: dict[str, str]) -> None:
    done = wfbench("plugins", "list", "--kind", "searcher", "--json", env=env)
    assert [row["name"] for row in json.loads(done.stdout)["plugins"]] == ["rotate", "stuck"]


def test_the_list_as_json_has_every_column(wfbench: Any, env: dict[str, str], site: Path) -> None:
    answer = json.loads(wfbench("plugins", "list", "--json", env=env).stdout)
    assert answer["schema"] == "wfbench/plugins-list/1"
    [fast] = [row for row in answer["plugins"] if row["name"] == "fast"]
    assert fast == {
        "kind": "collector",
        "name": "fast",
        "summary": "A collector of someone else",
        "status": "ok",
        "plugin": "golden",
        "distribution": "wfbench-golden",
        "version": "1.2.3",
        "file": str(site / "golden_plugin.py"),
        "cause": "",
    }


def test_show_tells_options_capabilities_and_origin(
    wfbench: Any, env: dict[str, str], site: Path, golden: Any
) -> None:
    done = wfbench("plugins", "show", "fast", env=env)
    assert done.returncode == 0
    golden("plugins-show.txt", anywhere(done.stdout, site))


def test_show_as_json(wfbench: Any, env: dict[str, str], site: Path) -> None:
    answer = json.loads(wfbench("plugins", "show", "fast", "--json", env=env).stdout)
    assert answer["schema"] == "wfbench/plugins-show/1"
    [plugin] = answer["plugins"]
    assert plugin["capabilities"] == ["deterministic", "workers"]
    assert plugin["positional"] == "payload"
    assert plugin["file"] == str(site / "golden_plugin.py")
    assert plugin["options"][0] == {
        "name": "workers",
        "type": "int",
        "default": 0,
        "help": "worker processes; 0: one per core",
    }


def test_show_knows_a_whole_plugin_by_its_name(wfbench: Any, env: dict[str, str]) -> None:
    answer = json.loads(wfbench("plugins", "show", "golden", "--json", env=env).stdout)
    names = [plugin["name"] for plugin in answer["plugins"]]
    assert names == ["fast", "world", "rotate", "stuck"]


def test_check_tells_each_promise_and_ends_with_0_if_all_are_kept(
    wfbench: Any, env: dict[str, str], golden: Any
) -> None:
    done = wfbench("plugins", "check", "rotate", env=env)
    assert (done.returncode, done.stderr) == (0, "")
    golden("plugins-check.txt", done.stdout)


def test_check_ends_with_6_if_a_promise_is_broken(wfbench: Any, env: dict[str, str]) -> None:
    done = wfbench("plugins", "check", "stuck", env=env)
    assert done.returncode == 6
    assert done.stderr == "wfbench: stuck breaks 1 of 5 promises\n"
    assert "BROKEN  state() is JSON, and load() goes on as if never interrupted: " in done.stdout
    as_json = wfbench("--json", "plugins", "check", "stuck", env=env)
    assert as_json.returncode == 6
    answer = json.loads(as_json.stdout)
    assert answer["schema"] == "wfbench/plugins-check/1"
    kept = [promise["kept"] for promise in answer["promises"]]
    assert kept == [True, True, False, True, None], "it declares no batches"


def test_a_report_of_faults_as_table_and_as_json(wfbench: Any, tmp_path: Path) -> None:
    command = ("plugins", "check", "shm", "--report", "--fault", "raise@3", "--fault", "kill@3")
    done = wfbench(*command, "--to", tmp_path)
    assert done.returncode == 0, done.stderr
    assert "\n| fault | shm |\n" in done.stdout
    assert (tmp_path / "faults.md").read_text() == done.stdout
    kept = json.loads((tmp_path / "faults.json").read_text())
    assert kept["schema"] == "wfbench/plugins-faults/1"
    assert [(seen["fault"], seen["outcome"]) for seen in kept["seen"]] == [
        ("raise@3", "told"),
        ("kill@3", "told"),
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "name what to check"),
        (["shm", "--to", "."], "give --report too"),
        (["shm", "--report", "--to", "nowhere"], "there is no such directory"),
        (["shm", "--report", "--fault", "flood"], "--fault flood is not known"),
    ],
)
def test_what_cannot_be_checked_or_reported_is_refused(
    wfbench: Any, arguments: list[str], message: str
) -> None:
    done = wfbench("plugins", "check", *arguments)
    assert done.returncode == 2
    assert message in done.stderr


def test_what_makes_no_promises_cannot_be_checked(wfbench: Any, tmp_path: Path) -> None:
    (tmp_path / "only_claims.py").write_text(
        "from wfbench.contract import ClaimSpec, hookimpl\n@hookimpl\ndef wfbench_claims():\n"
        "    return [ClaimSpec(name='big', summary='x', documented='1', conditions='-',"
        " measure='a:b')]\n"
    )
    done = wfbench("--plugins-dir", str(tmp_path), "plugins", "check", "big")
    assert done.returncode == 2
    assert "makes no promises to check" in done.stderr


def test_new_writes_a_package_and_says_what_to_do_next(wfbench: Any, tmp_path: Path) -> None:
    done = wfbench("plugins", "new", "searcher", "fastpath", cwd=tmp_path)
    assert done.returncode == 0
    assert done.stdout.splitlines() == [
        "created wfbench-fastpath; next:",
        "  pip install -e ./wfbench-fastpath",
        "  wfbench plugins check fastpath",
    ]
    again = wfbench("plugins", "new", "searcher", "fastpath", cwd=tmp_path)
    assert (again.returncode, "already exists" in again.stderr) == (2, True)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    into = ("--into", str(elsewhere), "--json")
    answer = json.loads(wfbench("plugins", "new", "env", "small", *into).stdout)
    assert answer["path"] == str(elsewhere / "wfbench-small")
    assert (elsewhere / "wfbench-small" / "pyproject.toml").is_file()
    refused = wfbench("plugins", "new", "env", "small", "--into", "/proc")
    assert refused.returncode == 3
    assert refused.stderr.startswith("wfbench: cannot write /proc/wfbench-small: ")


def test_freeze_gives_requirements_of_others_only(wfbench: Any, env: dict[str, str]) -> None:
    pins = ["wfbench-broken==0.9", "wfbench-golden==1.2.3"]
    assert wfbench("plugins", "freeze", env=env).stdout.splitlines() == pins
    answer = json.loads(wfbench("plugins", "freeze", "--json", env=env).stdout)
    assert answer == {"schema": "wfbench/plugins-freeze/1", "requirements": pins}
    assert wfbench("plugins", "freeze").stdout == ""
