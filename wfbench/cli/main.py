"""The `wfbench` command: options before the verb, and how every command ends."""

from __future__ import annotations

import gc
import os
import platform
import signal
import sys
import threading
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from typing import Annotated, Any

import typer

from wfbench import __version__
from wfbench.cli.invocation import Invocation, invocation
from wfbench.cli.lazy import RootGroup
from wfbench.contract import API_FLOOR, API_VERSION, ExitCode, WfbenchError
from wfbench.report.console import fail, print_json, warn

_LIBRARIES = ("gymnasium", "numba", "numpy", "pluggy", "torch")

app = typer.Typer(
    cls=RootGroup,
    rich_markup_mode=None,
    help="Benchmarks for workflow-conditioned reinforcement learning.",
    epilog=(
        "Exit codes: 0 ok, 1 regression, 2 usage, 3 a trial failed or hung, 4 inconclusive, "
        "5 not comparable or no baseline, 6 plugin error, 70 a bug, 130 interrupted, "
        "143 terminated."
    ),
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def root(
    ctx: typer.Context,
    *,
    plugins_dir: Annotated[
        list[Path] | None,
        typer.Option(
            is_eager=True,
            metavar="DIR",
            envvar="WFBENCH_PLUGINS_DIR",
            help="Also load the plugins (files and packages) of this directory. Repeatable.",
        ),
    ] = None,
    no_plugins: Annotated[
        bool, typer.Option("--no-plugins", is_eager=True, help="Load only the bundled plugins.")
    ] = False,
    strict_plugins: Annotated[
        bool,
        typer.Option("--strict-plugins", is_eager=True, help="Fail if a plugin is broken."),
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Answer in JSON.")] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show the traceback of handled errors too.")
    ] = False,
    version: Annotated[
        bool, typer.Option("--version", help="Show the versions that matter and exit.")
    ] = False,
) -> None:
    """Benchmarks for workflow-conditioned reinforcement learning."""
    del plugins_dir, no_plugins, strict_plugins, debug  # read by `Invocation` and `main`
    current = invocation(ctx)
    if version:
        _show_versions(current, json=json)
    elif ctx.invoked_subcommand is None:
        typer.echo(ctx.get_help())


def _show_versions(current: Invocation, *, json: bool) -> None:
    """Print the versions that can change a result: of wfbench, Python, libraries and plugins."""
    libraries = {name: _installed(name) for name in _LIBRARIES}
    plugins = {
        source.distribution: source.version
        for source in current.host(quiet=True).loaded
        if source.distribution and not source.bundled
    }
    python, api = platform.python_version(), f"{API_FLOOR} to {API_VERSION}"
    if json:
        values = {"wfbench": __version__, "python": python, "plugin_api": api}
        print_json("version/1", {**values, "libraries": libraries, "plugins": plugins})
        return
    typer.echo(f"wfbench {__version__}")
    typer.echo(f"python {python} on {platform.system()} {platform.machine()}; plugin API {api}")
    for name, found in {**libraries, **plugins}.items():
        typer.echo(f"{name} {found or 'not installed'}")


def _installed(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    args = list(sys.argv[1:] if argv is None else argv)
    gc.set_threshold(50_000)  # loading makes many objects and next to no garbage
    try:
        state = Invocation(args)
        with _terminable(state):
            code = _ended(args, state)
        for warning in state.warnings() if code != ExitCode.PLUGIN else ():
            warn(warning)
        sys.stdout.flush()
    except (BrokenPipeError, SystemExit) as end:
        # Typer and rich turn a reader that went away (`| head`) into an exit of their own.
        if not any(isinstance(error, BrokenPipeError) for error in (end, end.__context__)):
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    return code


@contextmanager
def _terminable(state: Invocation) -> Iterator[None]:
    """Make SIGTERM end a command as Ctrl-C does, so that what it measured and trained is kept."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def terminate(*_: object) -> None:
        state.terminated = True
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _ended(args: list[str], state: Invocation) -> int:
    """Run the command and return an exit code, however it ends."""
    try:
        command = typer.main.get_command(app)
        result: Any = command.main(args=args, prog_name="wfbench", standalone_mode=False, obj=state)
    except WfbenchError as error:
        if "--debug" in args or os.environ.get("WFBENCH_TRACEBACK", "") not in {"", "0"}:
            sys.stderr.write("".join(traceback.format_exception(error)))
            sys.stderr.write(getattr(error, "traceback", ""))
        return _end(args, str(error), error.exit_code)
    except typer.TyperException as error:
        ctx = getattr(error, "ctx", None)
        hint = f" (see `{ctx.command_path} --help`)" if ctx is not None else ""
        return _end(args, f"{error.format_message()}{hint}", ExitCode.USAGE)
    except (KeyboardInterrupt, typer.Abort) as error:
        return _interrupted(args, state, error.__cause__)
    except BrokenPipeError:
        raise
    except Exception:  # noqa: BLE001 - a bug keeps its traceback, but has its own exit code
        traceback.print_exc()
        return ExitCode.BUG
    if result == ExitCode.INTERRUPTED:
        return _interrupted(args, state, None)
    return result if isinstance(result, int) else 0


def _interrupted(args: list[str], state: Invocation, cause: BaseException | None) -> int:
    if isinstance(cause, EOFError):  # a bug, which click takes for the end of the input
        traceback.print_exception(cause)
        return ExitCode.BUG
    if state.terminated:
        return _end(args, "terminated", ExitCode.TERMINATED)
    return _end(args, "interrupted", ExitCode.INTERRUPTED)


def _end(args: list[str], line: str, code: int) -> int:
    one_line = " ".join(line.split())
    if "--json" in args:
        print_json("error/1", {"error": one_line, "exit_code": code})
    fail(one_line)
    return code
