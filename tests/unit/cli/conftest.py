"""The command line in this process, with plugins that end in every way and runs made by hand."""

from __future__ import annotations

import gc
import json
import os
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from made_runs import make_runs
from recorders import Recorder, put_instead

from wfbench.api import hosting
from wfbench.cli.main import main

COMMANDS = """
import os
import signal
import sys

from wfbench.contract import CommandSpec, WorkerError, hookimpl

def bug():
    raise ZeroDivisionError("a bug")

def lost():
    raise WorkerError("gone", worker=3, traceback="the worker's own trace")

def interrupt():
    raise KeyboardInterrupt

def terminate():
    os.kill(os.getpid(), signal.SIGTERM)

def leave():
    sys.exit(7)

@hookimpl
def wfbench_commands():
    names = ("bug", "lost", "interrupt", "terminate", "leave", "missing")
    return [CommandSpec(name=n, summary="x", app=f"{__name__}:{n}") for n in names]
"""


class Ended(NamedTuple):
    """How a command ended and what it printed."""

    code: int
    out: str
    err: str

    @property
    def answer(self) -> Any:
        return json.loads(self.out)


Call = Callable[..., Ended]


@pytest.fixture
def call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Call]:
    """Run a command in this process, in an empty folder and with no plugins but ours."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(hosting, "_STATE", hosting._STATE)
    for name in os.environ:
        if name.startswith("WFBENCH_") or name == "FORCE_COLOR":
            monkeypatch.delenv(name)
    monkeypatch.setenv("COLUMNS", "160")
    thresholds = gc.get_threshold()

    def run(*arguments: str) -> Ended:
        capsys.readouterr()
        code = main(["--no-plugins", *arguments])
        return Ended(code, *capsys.readouterr())

    yield run
    gc.set_threshold(*thresholds)


@pytest.fixture(scope="session")
def commands(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A plugin directory with commands that end in every way."""
    folder = tmp_path_factory.mktemp("commands")
    (folder / "commands_of_cli_tests.py").write_text(COMMANDS)
    return str(folder)


@pytest.fixture(scope="session")
def broken(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A plugin directory with a plugin that cannot be loaded."""
    folder = tmp_path_factory.mktemp("broken")
    (folder / "broken_in_cli_tests.py").write_text("raise RuntimeError('no luck')\n")
    return str(folder)


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """A folder with three bench runs, of which the last one is slow."""
    return make_runs(tmp_path / "made" / "runs")


@pytest.fixture
def instead(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Recorder]:
    """Put a recorder in the place of a function that would measure or train for long."""
    return partial(put_instead, monkeypatch)
