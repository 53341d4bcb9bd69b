"""The command line in this process, with plugins that end in every way and runs made by hand."""

from __future__ import annotations

import dataclasses
import gc
import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from wfbench.api import hosting
from wfbench.benchmarks.measure.model import PHASES, Case, Measurement, Sample, Settings
from wfbench.benchmarks.measure.saved import SessionWriter
from wfbench.cli.main import main
from wfbench.contract import EnvRef

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
MEASURED = Measurement(
    *(0.5, 0.1, 1.0, 1.0, 0.0, 1000, 10, 2**20, dict.fromkeys(PHASES, 0.25)),
    *(0, 0, 0, 0, 0.0, 0, (), "h", False),
)
CASES = [
    Case(label, "made:C", {}, EnvRef("made", "made:Env"), 4, "random", deterministic=True)
    for label in ("first", "second")
]


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
    out = tmp_path / "made" / "runs"
    for number, wall in enumerate((1.0, 1.0, 2.0), start=1):
        with SessionWriter(out, f"b{number}", CASES, Settings(rounds=4)) as writer:
            for place in range(8):
                case, taken = place % 2, wall if place % 2 else 1.0
                measured = dataclasses.replace(MEASURED, wall=taken * (1 + 0.001 * place))
                writer.record(Sample(case, place // 2, place, 0, measurement=measured))
        config = writer.path / "config.json"
        values = json.loads(config.read_text()) | {"created": f"2026-01-0{number}T00:00:00"}
        config.write_text(json.dumps(values))
    return out


class Recorder:
    """Stands for a function of the API: keeps what it was called with."""

    def __init__(self, found: object) -> None:
        self.found = found
        self.calls: list[tuple[tuple[Any, ...], dict[str, Any]]] = []

    def __call__(self, *args: Any, **given: Any) -> object:
        self.calls.append((args, given))
        return self.found


@pytest.fixture
def instead(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Recorder]:
    """Put a recorder in the place of a function that would measure or train for long."""

    def replace(module: object, name: str, found: object = None) -> Recorder:
        recorder = Recorder(found)
        monkeypatch.setattr(module, name, recorder)
        return recorder

    return replace
