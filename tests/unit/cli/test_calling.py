"""What the decorator of a verb makes: what is passed on, shown and printed."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest
import typer
from terminals import Terminal

from wfbench.api.results import Progress, Result
from wfbench.cli.arguments import Options, read_seconds, read_share
from wfbench.cli.calling import Said, noted, progress_lines, verb
from wfbench.cli.invocation import Invocation
from wfbench.contract import ExitCode, UsageError

STEP = Progress(1, 4, "half :smile: [b]done")


class Kept(Result, schema="kept/1"):
    """A result that was kept."""

    kept: tuple[str, ...] = ("kept as x",)
    exit_code = ExitCode.OK

    def _values(self) -> dict[str, Any]:
        return {"x": 1}

    def show(self) -> None:
        sys.stdout.write("shown\n")


class Failed(Kept, schema="failed/1"):
    """A result that ends with a code."""

    exit_code = ExitCode.INCONCLUSIVE


def ended(command: Callable[..., Any], *arguments: str) -> Any:
    """Run one command by itself, and return its exit code."""
    app = typer.Typer(add_completion=False)
    app.command()(command)
    found = typer.main.get_command(app)
    return found.main(args=[*arguments], standalone_mode=False, obj=Invocation([]))


def test_only_what_was_given_is_passed_on_and_some_of_it_converted(call: Any) -> None:
    del call  # puts the plugins in use back
    seen: list[dict[str, Any]] = []

    @verb(lambda **given: seen.append(given), number=lambda text: int(text) + 1)
    def command(
        *,
        number: str | None = None,
        word: str | None = None,
        many: list[str] | None = None,
        zero: int = 0,
        option: Options = None,
    ) -> None:
        pass

    ended(command)
    ended(command, "--number", "4", "--many", "a", "--many", "b", "--option", "shm.workers=2")
    ended(command, "--word", "w", "--zero", "3")
    given = {"number": 5, "many": ["a", "b"], "zero": 0, "options": {"shm": {"workers": "2"}}}
    assert seen == [{"zero": 0, "options": {}}, given, {"zero": 3, "word": "w", "options": {}}]


@pytest.mark.parametrize(
    ("found", "flags", "out", "err"),
    [
        (None, (), "", ""),
        (Said("x/1", {"n": 1}, "a text\n"), (), "a text\n", ""),
        (
            Said("x/1", {"n": 1}, "a text\n"),
            ("--json",),
            '{\n  "schema": "wfbench/x/1",\n  "n": 1\n}\n',
            "",
        ),
        (Kept(), (), "shown\n", "kept as x\n"),
        (Kept(), ("--json",), '{\n  "schema": "wfbench/kept/1",\n  "x": 1\n}\n', "kept as x\n"),
        (Failed(()), (), "shown\n", ""),
    ],
)
def test_an_answer_is_shown_or_printed_as_json(
    call: Any,
    capsys: pytest.CaptureFixture[str],
    found: Any,
    flags: tuple[str, ...],
    out: str,
    err: str,
) -> None:
    del call

    @verb(lambda: found)
    def command() -> None:
        pass

    code = ended(command, *flags)
    assert (code or 0) == getattr(found, "exit_code", 0)
    assert capsys.readouterr() == (out, err)


@pytest.mark.parametrize(("shown", "err"), [("lines", STEP.text + "\n"), ("bar", "")])
def test_steps_are_lines_where_no_terminal_is(
    call: Any, capsys: pytest.CaptureFixture[str], shown: Any, err: str
) -> None:
    del call

    def work(progress: Callable[[Progress], None]) -> None:
        progress(STEP)
        error = UsageError("no more")
        error.add_note("go on with x")
        raise error

    @verb(work, progress=shown)
    def command() -> None:
        pass

    with pytest.raises(UsageError):
        ended(command)
    assert capsys.readouterr() == ("", err + "wfbench: go on with x\n")


def test_lines_are_usual_and_notes_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    with progress_lines() as watch:
        watch(STEP)
    with noted():
        pass
    assert capsys.readouterr() == ("", STEP.text + "\n")


def test_a_terminal_gets_a_bar_that_goes_away(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    shown = Terminal()
    monkeypatch.setattr(sys, "stderr", shown)
    with progress_lines(bar_only=True) as watch:
        watch(STEP)
    assert STEP.text in shown.getvalue()
    assert "25%" in shown.getvalue()
    assert "━" in shown.getvalue()
    assert shown.getvalue().rstrip().endswith("\x1b[2K")
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("read", "text", "value"),
    [
        (read_share, "10%", 0.1),
        (read_share, " 0.1 ", 0.1),
        (read_share, "0.5%", 0.005),
        (read_seconds, "90", 90.0),
        (read_seconds, "90s", 90.0),
        (read_seconds, "1.5m", 90.0),
        (read_seconds, "2 min", 120.0),
        (read_seconds, "1e1s", 10.0),
        (read_seconds, "2h", 7200.0),
    ],
)
def test_amounts_are_read_as_people_write_them(read: Any, text: str, value: float) -> None:
    assert read(text) == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize("text", ["0", "-1", "inf", "nan", "", "x", "1x", "1 d"])
@pytest.mark.parametrize("read", [read_share, read_seconds])
def test_amounts_that_are_none_are_refused(read: Any, text: str) -> None:
    with pytest.raises(UsageError, match=r"is not a (share such as 10%|time such as 90s)"):
        read(text)
