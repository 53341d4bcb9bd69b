"""What every command has in common: help, JSON, exit codes, colour, completion, Ctrl-C."""

from __future__ import annotations

import ast
import inspect
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from wfbench import __version__, cli
from wfbench.cli.verbs import VERBS
from wfbench.contract import load_object

COMMANDS = [
    *([verb] for verb in VERBS),
    *(["plugins", verb] for verb in ("list", "show", "check", "new", "freeze")),
    *(["baseline", verb] for verb in ("save", "list", "show", "rm")),
    *(["runs", verb] for verb in ("list", "show", "history", "rm", "validate")),
]
GROUPS = (["plugins"], ["baseline"], ["runs"])
HEAVY = ("torch", "numba", "gymnasium", "numpy", "pytest")


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_command_has_help(command: list[str], wfbench: Any) -> None:
    done = wfbench(*command, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"Usage: wfbench {' '.join(command)}")
    if command not in GROUPS:
        assert "--json" in done.stdout


def test_help_and_no_arguments_say_the_same(wfbench: Any) -> None:
    done = wfbench("--help")
    assert wfbench().stdout == done.stdout
    assert wfbench("-h").stdout == done.stdout
    for verb, (_, summary) in VERBS.items():
        assert re.search(rf"^  {verb} +{re.escape(summary)}$", done.stdout, flags=re.MULTILINE)
    assert "6 plugin error" in " ".join(done.stdout.split())
    assert wfbench("plugins").stdout == wfbench("plugins", "--help").stdout


def test_a_verb_has_only_flags_that_the_api_takes() -> None:
    seen = 0
    for file in Path(cli.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            for call in getattr(node, "decorator_list", ()):
                if (
                    isinstance(call, ast.Call)
                    and call.args
                    and isinstance(call.args[0], ast.Constant)
                ):
                    path = str(call.args[0].value)
                    if not path.startswith("wfbench.api."):
                        continue
                    flags = {argument.arg for argument in (*node.args.args, *node.args.kwonlyargs)}
                    taken = inspect.signature(load_object(path)).parameters.keys()
                    assert flags - {"option"} <= taken, path
                    assert "option" not in flags or "options" in taken, path
                    seen += 1
    assert seen >= 8


@pytest.mark.parametrize("arguments", [["--help"], ["plugins", "list"], ["--version"]], ids=str)
def test_light_commands_import_nothing_heavy(
    arguments: list[str], clean_environ: dict[str, str]
) -> None:
    code = (
        "import sys\nfrom wfbench.cli.main import main\n"
        f"code = main({arguments!r})\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)\n"
        "sys.exit(code)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=clean_environ,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "[]\n")


def test_the_version_names_what_can_change_a_result(wfbench: Any) -> None:
    lines = wfbench("--version").stdout.splitlines()
    assert lines[0] == f"wfbench {__version__}"
    assert {line.split()[0] for line in lines} >= {"python", "numpy", "numba", "gymnasium", "torch"}
    answer = json.loads(wfbench("--version", "--json").stdout)
    assert answer["schema"] == "wfbench/version/1"
    assert answer["wfbench"] == __version__
    assert answer["libraries"].keys() >= {"numpy", "numba", "gymnasium", "torch"}


@pytest.mark.parametrize(
    ("arguments", "code", "line"),
    [
        (["nope"], 2, "No such command 'nope'"),
        (["plugins", "nope"], 2, "No such command 'nope'"),
        (["doctor", "--nope"], 2, "No such option: --nope (see `wfbench doctor --help`)"),
        (["plugins", "show"], 2, "Missing argument"),
        (["plugins", "show", "nope"], 2, "there is no plugin 'nope'; choose from: "),
        (["plugins", "list", "--kind", "nope"], 2, "--kind nope: choose from env, collector"),
        (["plugins", "new", "nope", "x"], 2, "there is no template for 'nope'"),
        (["plugins", "new", "collector", "shm"], 2, "there is a collector 'shm' already"),
        (["plugins", "check", "shm:nope=1"], 2, "has no option 'nope'; its options are"),
        (["config", "--n-envs", "many"], 2, "--n-envs"),
        (["config", "--preset", "nope"], 2, "there is no preset 'nope'; choose from"),
        (["config", "--config", "none.toml"], 2, "--config none.toml: No such file"),
        (["config", "-o", "nope"], 2, "-o nope: this is not NAME.KEY=VALUE"),
        (["run", "--env", "nope"], 2, "there is no env 'nope'; choose from: "),
        (["run", "--env", "synthetic", "--collector", "nope"], 2, "there is no collector 'nope'"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_errors_are_one_line_with_a_code_and_json_on_request(
    arguments: list[str], code: int, line: str, wfbench: Any, tmp_path: Path
) -> None:
    done = wfbench(*arguments, cwd=tmp_path)
    assert done.returncode == code
    assert done.stdout == ""
    [only] = done.stderr.splitlines()
    assert only.startswith("wfbench: ")
    assert line in only
    as_json = wfbench(*arguments, "--json", cwd=tmp_path)
    assert as_json.returncode == code
    answer = json.loads(as_json.stdout)
    assert answer == {
        "schema": "wfbench/error/1",
        "error": as_json.stderr.removeprefix("wfbench: ").rstrip("\n"),
        "exit_code": code,
    }


def test_the_traceback_of_a_handled_error_is_shown_on_request(wfbench: Any) -> None:
    for done in (
        wfbench("--debug", "plugins", "show", "nope"),
        wfbench("plugins", "show", "nope", env={"WFBENCH_TRACEBACK": "1"}),
    ):
        assert done.returncode == 2
        assert "Traceback (most recent call last)" in done.stderr
        assert done.stderr.splitlines()[-1].startswith("wfbench: there is no plugin")
    assert "Traceback" not in wfbench("plugins", "show", "x", env={"WFBENCH_TRACEBACK": "0"}).stderr


COMMAND = """
from wfbench.contract import CommandSpec, CollectError, WorkerError, hookimpl

def bug():
    raise ZeroDivisionError("a bug")

def ended():
    raise EOFError("no more bytes")

def lost():
    raise WorkerError("gone", worker=3, traceback="the worker's own trace")

def wait():
    import time
    print("waiting", flush=True)
    time.sleep(100)

def answer():
    import typer
    raise typer.Exit(4)

@hookimpl
def wfbench_commands():
    names = ("bug", "ended", "lost", "wait", "answer")
    return [CommandSpec(name=n, summary="x", app=f"{__name__}:{n}") for n in names]
"""


@pytest.fixture
def commands(tmp_path: Path) -> str:
    (tmp_path / "some_commands.py").write_text(COMMAND)
    return str(tmp_path)


def test_a_bug_keeps_its_traceback_and_has_its_own_code(commands: str, wfbench: Any) -> None:
    done = wfbench("--plugins-dir", commands, "bug")
    assert done.returncode == 70
    assert "ZeroDivisionError: a bug" in done.stderr


def test_a_file_that_ends_early_is_a_bug_and_no_interruption(commands: str, wfbench: Any) -> None:
    done = wfbench("--plugins-dir", commands, "ended")
    assert done.returncode == 70
    assert "EOFError: no more bytes" in done.stderr


def test_a_failed_trial_ends_with_3_and_shows_the_workers_trace_on_request(
    commands: str, wfbench: Any
) -> None:
    done = wfbench("--plugins-dir", commands, "lost")
    assert (done.returncode, done.stderr) == (3, "wfbench: worker 3: gone\n")
    debug = wfbench("--plugins-dir", commands, "--debug", "lost")
    assert "the worker's own trace" in debug.stderr


def test_a_verb_chooses_its_own_code(commands: str, wfbench: Any) -> None:
    assert wfbench("--plugins-dir", commands, "answer").returncode == 4


def test_ctrl_c_ends_with_130_and_one_line(commands: str, clean_environ: dict[str, str]) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "wfbench", "--plugins-dir", commands, "wait"],
        env=clean_environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == "waiting\n"
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (130, "wfbench: interrupted\n")


def test_a_reader_that_goes_away_is_no_error(clean_environ: dict[str, str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as pipe:
        done = subprocess.run(
            [sys.executable, "-m", "wfbench", "plugins", "list"],
            env=clean_environ,
            stdout=pipe,
            stderr=subprocess.PIPE,
            text=True,
            timeout=100,
            check=False,
        )
    assert (done.returncode, done.stderr) == (0, "")


def test_colour_only_on_request_of_the_terminal(wfbench: Any) -> None:
    assert "\x1b[" not in wfbench("plugins", "list").stdout
    assert "\x1b[" in wfbench("plugins", "list", env={"FORCE_COLOR": "1"}).stdout
    both = {"FORCE_COLOR": "1", "NO_COLOR": "1"}
    assert not re.search(r"\x1b\[[0-9;]*3[0-9]m", wfbench("plugins", "list", env=both).stdout)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("wfbench ", ["run", "config", "plugins", "doctor"]),
        ("wfbench plugins ", ["list", "show", "check", "new", "freeze"]),
        ("wfbench run --collector s", ["sequential", "shm"]),
        ("wfbench config --preset doc", ["documented-25", "documented-200"]),
        ("wfbench doctor --f", ["--fix"]),
    ],
)
def test_the_shell_completes_verbs_options_and_plugins(
    words: str, expected: list[str], wfbench: Any
) -> None:
    env = {
        "_WFBENCH_COMPLETE": "complete_bash",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split(" ")) - 1),
    }
    assert set(expected) <= set(wfbench(env=env).stdout.split())


def test_the_script_is_installed(clean_environ: dict[str, str]) -> None:
    script = Path(sys.executable).parent / "wfbench"
    done = subprocess.run(
        [script, "--version"],
        env=clean_environ,
        capture_output=True,
        text=True,
        timeout=100,
        check=True,
    )
    assert done.stdout.startswith(f"wfbench {__version__}\n")
