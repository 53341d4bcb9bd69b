"""The verbs that train, measure, play and check: what they call the API with, and what is said."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from wfbench.api import (
    claims,
    evaluating,
    landscapes,
    measuring,
    plugin_tools,
    publishing,
    searching,
)
from wfbench.api.results import Progress, Result
from wfbench.cli.run import _by_run

LEFT_OUT = object()


class Found(Result, schema="found/1"):
    """What stands for any result."""

    report_path: Path | None = None
    problem: str = ""
    written: tuple[Path, ...] = ()
    broken: int = 0

    def show(self) -> None:
        print("shown")  # noqa: T201

    def save(self, path: str | Path) -> Path:
        return Path(path)

    def __repr__(self) -> str:
        return "found"

    def _rows(self) -> list[dict[str, Any]]:
        return [{}, {}, {}]


PAGE = Found(Path("page.html"))


@pytest.mark.parametrize(
    ("flags", "found", "out", "err"),
    [
        ((), PAGE, "shown\nreport: page.html\n", ""),
        ((), Found(None, "no page"), "shown\n", "wfbench: warning: no page\n"),
        (("--quiet",), PAGE, "shown\nreport: page.html\n", ""),
        (("--name", "x", "--smoke"), PAGE, "shown\nreport: page.html\n", ""),
        (("--json-lines",), PAGE, "", ""),
        (("--resume", "b1"), PAGE, "shown\nreport: page.html\n", ""),
    ],
)
def test_a_run_is_made_and_shown(
    call: Any, instead: Any, runs: Path, flags: tuple[str, ...], found: Found, out: str, err: str
) -> None:
    made = instead(searching, "run_resolved", found)
    resumed = instead(searching, "resume_resolved", found)
    done = call("run", "--out", str(runs), "--n-envs", "7", *flags)
    assert done == (0, out, err)
    if "--resume" in flags:
        [((resolved, path, view), _)] = resumed.calls
        assert path == runs / "b1"
        assert not made.calls
    else:
        [((resolved,), given)] = made.calls
        view = given.pop("progress")
        smoke = "--smoke" in flags
        assert given == {"out": runs, "name": "x" if smoke else None, "smoke": smoke}
        assert not resumed.calls
    assert resolved.config.n_envs == 7
    assert (view is None) == ("--quiet" in flags)


def test_a_run_as_json_is_one_object(call: Any, instead: Any, runs: Path) -> None:
    made = instead(searching, "run_resolved", PAGE)
    for flags in (("run", "--json"), ("--json", "run")):
        done = call(*flags, "--out", str(runs))
        assert done.answer["schema"] == "wfbench/found/1"
        assert made.calls[-1][1]["progress"] is None


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--resume", "b1", "--name", "x"), "--resume keeps the run as it is"),
        (("--resume", "b1", "--smoke"), "--resume keeps the run as it is"),
        (("--json-lines", "--quiet"), "choose one of --quiet"),
        (("--json-lines", "--json"), "choose one of --quiet"),
        (("--resume", "none"), "no run 'none'"),
        (("--smoke", "--preset", "best"), "--smoke is a preset of its own"),
    ],
    ids=str,
)
def test_what_a_run_cannot_use_is_refused(
    call: Any, instead: Any, runs: Path, flags: tuple[str, ...], said: str
) -> None:
    made = instead(searching, "run_resolved", PAGE)
    resumed = instead(searching, "resume_resolved", PAGE)
    done = call("run", "--out", str(runs), *flags)
    assert done.code == 2
    assert said in done.err
    assert not made.calls
    assert not resumed.calls


def test_each_search_of_a_run_has_one_observer(capsys: pytest.CaptureFixture[str]) -> None:
    told: dict[str, list[Any]] = {}
    watch = _by_run(lambda run: told.setdefault(run, []).append)
    for run in ("m/a", "m/b", "m/a"):
        watch(Progress(0, 0, "", {"run": run, "event": "x"}))
    assert {run: len(events) for run, events in told.items()} == {"m/a": 2, "m/b": 1}
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(("run", "label"), [("m/a", "a: "), ("alone", "")])
def test_lines_are_labelled_where_several_searches_run(
    call: Any, instead: Any, capsys: pytest.CaptureFixture[str], run: str, label: str
) -> None:
    made = instead(searching, "run_resolved", PAGE)
    assert call("run").code == 0
    made.calls[0][1]["progress"](Progress(0, 0, "", {"run": run, "event": "warning", "text": "w"}))
    assert capsys.readouterr().out == f"{label}warning: w\n"
    assert call("run", "--json-lines").code == 0
    event = {"run": run, "event": "warning", "text": "w"}
    made.calls[1][1]["progress"](Progress(0, 0, "", event))
    assert capsys.readouterr().out == f'{{"run": "{run}", "event": "warning", "text": "w"}}\n'


def test_the_configuration_is_printed_and_selected_on_request(call: Any) -> None:
    plain = call("config", "--n-envs", "7", "--collector", "shm", "-o", "shm.workers=2", "--json")
    assert plain.answer["config"]["n_envs"] == 7
    assert "shm" in str(plain.answer)
    assert call("config", "--collector", "nope").code == 0
    checked = call("config", "--collector", "nope", "--check")
    assert checked.code == 2
    assert "there is no collector 'nope'" in checked.err
    assert call("config", "-o", "nope.workers=2", "--check").code == 2


@pytest.mark.parametrize(
    ("arguments", "place", "positional", "named"),
    [
        (("bench", "--n-envs", "25, 200"), (measuring, "bench"), (), {"n_envs": [25, 200]}),
        (("bench", "--workers", "2"), (measuring, "bench"), (), {"workers": [2]}),
        (
            ("bench", "--budget", "2m", "--until-precision", "5%"),
            (measuring, "bench"),
            (),
            {"budget": 120.0, "until_precision": 0.05, "collector": LEFT_OUT},
        ),
        (("reproduce",), (claims, "reproduce"), (), {"quick": False, "to": None}),
        (("reproduce", "a", "b", "--quick"), (claims, "reproduce"), ("a", "b"), {"quick": True}),
        (("evaluate", "p"), (evaluating, "evaluate"), (), {"policy": "p", "red": LEFT_OUT}),
        (
            ("evaluate", "p", "--horizon", "30", "--horizon", "50", "--save"),
            (evaluating, "evaluate"),
            (),
            {"horizon": [30, 50], "save": True, "greedy": False},
        ),
        (("verify-transfer", "p"), (evaluating, "verify_transfer"), (), {"episodes": 250}),
        (("landscape", "a", "b", "--to", "x"), (landscapes, "landscape"), (), {"runs": ["a", "b"]}),
        (
            ("bench-search", "--synthetic", "pairs"),
            (landscapes, "bench_search"),
            (),
            {"synthetic": "pairs", "searcher": LEFT_OUT, "icc": LEFT_OUT, "options": {}},
        ),
        (("export", "p"), (publishing, "export"), (), {"to": "agent", "folder": LEFT_OUT}),
        (("board",), (publishing, "board"), (), {"env": "cage2", "greedy": False}),
        (("board", "p", "q", "--greedy"), (publishing, "board"), ("p", "q"), {"greedy": True}),
        (
            ("plugins", "check", "a", "-o", "a.x=1"),
            (plugin_tools, "check_plugin"),
            ("a",),
            {"options": {"a": {"x": "1"}}},
        ),
        (("plugins", "check"), (plugin_tools, "check_plugin"), (), {"options": {}}),
        (
            ("plugins", "check", "--report"),
            (plugin_tools, "check_faults"),
            (["all"],),
            {"fault": (), "to": None, "options": {}},
        ),
        (
            ("plugins", "check", "a", "--report", "--fault", "f", "--to", "x", "-o", "a.x=1"),
            (plugin_tools, "check_faults"),
            (["a"],),
            {"fault": ["f"], "to": Path("x"), "options": {"a": {"x": "1"}}},
        ),
    ],
)
def test_a_verb_calls_the_api_with_what_was_typed(
    call: Any,
    instead: Any,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    place: tuple[Any, str],
    positional: Any,
    named: dict[str, Any],
) -> None:
    recorder = instead(*place, Found())
    assert call(*arguments) == (0, "shown\n", "")
    [(args, given)] = recorder.calls
    assert args == positional
    assert {name: given.get(name, LEFT_OUT) for name in named} == named
    if "progress" in given:
        given["progress"](Progress(1, 2, "a step"))
        barred = "bench-search" in arguments or {"check", "--report"} & {*arguments} == {"check"}
        assert capsys.readouterr().err == ("" if barred else "a step\n")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("bench", "--n-envs", "x"), "--n-envs x: this is not a list of positive numbers"),
        (("bench", "--n-envs", "²"), "this is not a list of positive numbers"),
        (("bench", "--workers", "1,,2"), "--workers 1,,2: this is not a list"),
        (("bench", "--budget", "x"), "'x' is not a time"),
        (("bench", "--until-precision", "x"), "'x' is not a share"),
        (("plugins", "check", "shm", "--to", "x"), "give --report too"),
        (("plugins", "check", "shm", "--fault", "x"), "give --report too"),
        (("plugins", "check", "--report", "--fault", "x"), "--fault x is not known"),
        (("plugins", "check"), "name what to check"),
        (("plugins", "new", "collector", "shm"), "there is a collector 'shm' already, from "),
        (("plugins", "new", "collector", "Shm"), "lower-case"),
        (("plugins", "show", "nope"), "there is no plugin 'nope'"),
        (("plugins", "list", "--kind", "nope"), "--kind nope"),
    ],
)
def test_what_a_verb_cannot_use_is_refused(call: Any, arguments: Any, said: str) -> None:
    done = call(*arguments)
    assert (done.code, done.out) == (2, "")
    assert said in done.err


def test_files_that_were_written_are_named(call: Any, instead: Any) -> None:
    instead(claims, "reproduce", replace(Found(), written=(Path("a.json"), Path("a.md"))))
    assert call("reproduce").err == "wrote a.json\nwrote a.md\n"
    instead(publishing, "board", Found())
    done = call("board", "--to", "b.md", "--to", "b.csv")
    assert done == (0, "shown\n", "wrote b.md\nwrote b.csv\n")


def test_broken_promises_are_counted(call: Any, instead: Any) -> None:
    instead(plugin_tools, "check_plugin", replace(Found(), broken=2))
    assert call("plugins", "check", "a", "b").err == "wfbench: a, b breaks 2 of 3 promises\n"


def test_packages_of_plugins_are_pinned_unless_they_are_ours(
    call: Any, commands: str, broken: str, instead: Any
) -> None:
    from wfbench.api import hosting

    places = ("--plugins-dir", commands, "--plugins-dir", broken)
    done = call(*places, "plugins", "freeze")
    assert done == (0, "", "")
    source = SimpleNamespace(distribution="other", version="1.2", bundled=False)
    ours = SimpleNamespace(distribution="wfbench", version="1", bundled=True)
    loose = SimpleNamespace(distribution="", version="", bundled=False)
    host = SimpleNamespace(loaded=[ours, source], broken=[], blocked=[loose])
    instead(hosting, "plugin_host", host)
    assert call("plugins", "freeze").out == "other==1.2\n"
    assert call("plugins", "freeze", "--json").answer["requirements"] == ["other==1.2"]


def test_a_package_is_written_where_one_is_or_elsewhere(call: Any, tmp_path: Path) -> None:
    here = call("plugins", "new", "searcher", "mine")
    assert here.code == 0
    assert "pip install -e ./" in here.out
    assert not list(tmp_path.rglob("*.yml"))
    there = tmp_path / "there"
    there.mkdir()
    done = call("plugins", "new", "collector", "extra", "--into", str(there), "--ci", "--json")
    made = Path(done.answer["path"])
    assert made.parent == there
    assert list(made.rglob("*.yml"))
    assert not (tmp_path / made.name).exists()
    shown = call("plugins", "new", "searcher", "third", "--into", str(there))
    assert f"pip install -e {there}" in shown.out


def test_plugins_and_the_machine_are_listed(call: Any) -> None:
    kinds = {one["kind"] for one in call("plugins", "list", "--json").answer["plugins"]}
    assert {"env", "collector", "searcher"} <= kinds
    only = call("plugins", "list", "--kind", "searcher", "--json").answer["plugins"]
    assert {one["kind"] for one in only} == {"searcher"}
    assert "workers" in call("plugins", "show", "shm").out
    assert "Usage" not in call("plugins", "show", "shm").out
