"""How a command ends: its code, its last line, and the warnings after it."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from typing import Any

import numpy as np
import pytest

from wfbench.api import hosting
from wfbench.cli.main import main


@pytest.mark.parametrize(
    ("command", "code", "last"),
    [
        ("lost", 3, "wfbench: worker 3: gone"),
        ("interrupt", 130, "wfbench: interrupted"),
        ("terminate", 143, "wfbench: terminated"),
        ("bug", 70, "ZeroDivisionError: a bug"),
        ("missing", 6, "wfbench: command 'missing' ("),
        ("nope", 2, "wfbench: No such command 'nope'. (see `wfbench --help`)"),
    ],
)
def test_every_end_has_its_code_and_its_line(
    call: Any, commands: str, command: str, code: int, last: str
) -> None:
    before = signal.getsignal(signal.SIGTERM)
    done = call("--plugins-dir", commands, command)
    assert (done.code, done.out) == (code, "")
    *traced, line = done.err.splitlines()
    assert line.startswith(last)
    assert bool(traced) == (command == "bug")
    assert signal.getsignal(signal.SIGTERM) is before
    if command != "bug":
        as_json = call("--plugins-dir", commands, "--json", command)
        said = {"schema": "wfbench/error/1", "error": line[9:], "exit_code": code}
        assert (as_json.answer, as_json.err) == (said, line + "\n")


def test_the_cause_of_a_verb_that_cannot_be_loaded_is_named(call: Any, commands: str) -> None:
    done = call("--plugins-dir", commands, "missing")
    assert "cannot load commands_of_cli_tests:missing: " in done.err
    assert call("plugins", "nope").code == 2


@pytest.mark.parametrize(
    ("variable", "flags", "traced"),
    [("", (), False), ("0", (), False), ("1", (), True), ("0", ("--debug",), True)],
)
def test_tracebacks_are_shown_on_request(
    call: Any,
    commands: str,
    monkeypatch: pytest.MonkeyPatch,
    *,
    variable: str,
    flags: tuple[str, ...],
    traced: bool,
) -> None:
    monkeypatch.setenv("WFBENCH_TRACEBACK", variable)
    done = call("--plugins-dir", commands, *flags, "lost")
    assert done.code == 3
    assert ("Traceback (most recent call last)" in done.err) == traced
    assert ("the worker's own trace" in done.err) == traced


def test_what_is_typed_is_read_where_no_arguments_are_given(
    call: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    del call  # an empty folder, and everything put back afterwards
    monkeypatch.setattr(sys, "argv", ["wfbench", "--no-plugins", "config", "--json"])
    assert main() == 0
    assert json.loads(capsys.readouterr().out)["schema"] == "wfbench/config/1"
    assert hosting.command_line() == ("--no-plugins", "config", "--json")
    assert hosting.plugin_settings().external is False
    assert "run" in hosting.plugin_settings().reserved_commands
    assert main(["config"]) == 0
    assert hosting.plugin_settings().external is True


def test_a_command_runs_beside_the_main_thread(
    call: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    ended: list[int] = []
    thread = threading.Thread(target=lambda: ended.append(call("config").code))
    thread.start()
    thread.join()
    assert ended == [0]
    assert capsys.readouterr().err == ""


def test_a_reader_that_goes_away_is_no_error_and_any_other_exit_stays_one(
    call: Any, commands: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(SystemExit, match="7"):
        call("--plugins-dir", commands, "leave")
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as pipe, monkeypatch.context() as patched:
        patched.setattr(sys, "stdout", pipe)
        assert main(["--no-plugins", "config", "--json"]) == 0


def test_versions_are_those_of_libraries_and_of_plugins_that_are_not_ours(
    call: Any, commands: str, broken: str
) -> None:
    done = call("--plugins-dir", commands, "--plugins-dir", broken, "--version")
    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    assert f"numpy {np.__version__}" in lines
    assert [line.partition(" ")[0] for line in lines].count("wfbench") == 1
    answer = call("--plugins-dir", commands, "--version", "--json").answer
    assert answer["plugins"] == {}
    assert answer["libraries"]["numpy"] == np.__version__
    assert "Usage" not in done.out


@pytest.mark.parametrize(
    ("arguments", "warned"),
    [
        (("config",), False),
        (("config", "--check"), True),
        (("--help",), True),
        (("plugins", "list"), False),
        (("plugins", "freeze"), False),
        (("plugins", "freeze", "--json"), False),
        (("plugins", "show", "broken_in_cli_tests"), False),
        (("run", "--trainer", "broken_in_cli_tests"), False),
    ],
    ids=str,
)
def test_broken_plugins_are_told_once(
    call: Any, broken: str, arguments: tuple[str, ...], *, warned: bool
) -> None:
    done = call("--plugins-dir", broken, *arguments)
    warning = "wfbench: warning: plugin broken_in_cli_tests ("
    assert done.err.count("no luck") == (warned or done.code != 0)
    assert done.err.startswith(warning) == warned
    assert done.err.endswith("; see `wfbench plugins list`\n") == warned


def test_a_broken_plugin_is_an_error_where_that_was_asked_for(call: Any, broken: str) -> None:
    done = call("--plugins-dir", broken, "--strict-plugins", "plugins", "list")
    assert done.code == 6
    assert done.err.startswith("wfbench: --strict-plugins: plugin broken_in_cli_tests")
