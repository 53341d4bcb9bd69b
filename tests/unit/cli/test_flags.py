"""What every command takes: its arguments and options with their defaults and limits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import typer

from wfbench.cli.main import app
from wfbench.cli.run_options import _completer


def _commands(found: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Yield a command and those below it, all loaded."""
    if hasattr(found, "load"):
        found = found.load()
    yield path, found
    names = getattr(found, "verbs", None) or getattr(found, "commands", {})
    for name in names:
        yield from _commands(found.get_command(None, name), f"{path} {name}")


def _line(one: Any) -> str:
    kind = one.type_descriptor.annotation
    said = {
        "takes": getattr(kind, "__name__", str(kind)),
        "default": one.default,
        "least": one.min,
        "required": one.required,
        "many": one.multiple or one.nargs != 1,
        "metavar": one.metavar,
        "variable": one.envvar,
        "flag": getattr(one, "is_flag", None),
        "early": one.is_eager,
    }
    told = [f"{name}={value}" for name, value in said.items() if value not in (None, False)]
    return "  " + " ".join([*one.opts, *one.secondary_opts, *told, "" if one.help else "no help"])


def test_every_command_takes_what_it_always_took(golden: Callable[[str, str], None]) -> None:
    lines = []
    for path, command in _commands(typer.main.get_command(app), "wfbench"):
        lines += [path, *map(_line, command.params)]
    golden("flags.txt", "\n".join(lines))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--help",), "Compare searchers on a landscape."),
        ((), "Compare searchers on a landscape."),
        (("plugins",), "Print the packages to reinstall."),
        (("runs",), "Check every file of runs strictly."),
        (("baseline", "--help"), "Keep a run as the baseline NAME."),
        (("run", "--help"), "Repeatable, or `all`. Default vector. Installed: async, pipe,"),
        (
            ("run", "--help"),
            "Environment. Default cage2:memory=true,actions=reduced. Installed:",
        ),
        (("config", "--help"), "0: enough to keep the executor busy. Default 0."),
    ],
    ids=lambda value: "-".join(value) or "nothing" if isinstance(value, tuple) else None,
)
def test_help_says_what_there_is(call: Any, arguments: tuple[str, ...], said: str) -> None:
    done = call(*arguments)
    assert (done.code, done.err) == (0, "")
    assert said in " ".join(done.out.split())
    assert done.out.startswith("Usage: wfbench")


def test_a_group_without_a_verb_is_an_error_only_where_it_says_so(call: Any) -> None:
    assert call("baseline").code == 2
    assert "Usage" not in call("config").out


def test_names_of_plugins_are_completed_without_a_warning(
    call: Any, broken: str, capsys: pytest.CaptureFixture[str]
) -> None:
    from wfbench.cli.invocation import invocation

    root = typer.main.get_command(app)
    with root.make_context("wfbench", ["--plugins-dir", broken, "config"]) as ctx:
        found = dict(_completer("env")(ctx))
        assert found["cage2"].startswith("CAGE Challenge 2")
        assert invocation(ctx).warnings() == []
    assert capsys.readouterr() == ("", "")
    assert call("config").code == 0
