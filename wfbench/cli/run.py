"""`wfbench run`."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from wfbench.cli.run_options import RunCommand, takes_run_config
from wfbench.cli.session import JsonFlag, session, wants_json
from wfbench.contract import UsageError
from wfbench.layers import Effective
from wfbench.plugins import PluginHost
from wfbench.run_selection import select_run
from wfbench.store.places import DEFAULT, find_run

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(cls=RunCommand)
@takes_run_config
def run(
    ctx: typer.Context,
    *,
    effective: Effective,
    resume: Annotated[
        str | None,
        typer.Option("--resume", metavar="RUN", help="Go on with a run that was interrupted."),
    ] = None,
    out: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="Where run directories are made.")
    ] = DEFAULT,
    name: Annotated[
        str | None, typer.Option("--name", help="What the run is called; default: the time.")
    ] = None,
    smoke: Annotated[
        bool, typer.Option("--smoke", help="A tiny run that shows whether everything works.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Only the summary.")] = False,
    json_lines: Annotated[
        bool, typer.Option("--json-lines", help="Every event as a line of JSON.")
    ] = False,
    json: JsonFlag = False,
) -> None:
    """Search for the best order and the policy that follows it.

    Repeat --collector or --trainer, or say `all`, to run every combination with the same seeds.
    --executor processes:N trains N orders at a time, --seeds N makes N searches.
    A run that was interrupted, at whatever moment, goes on with --resume.
    """
    from wfbench.cli.run_report import write_run_report
    from wfbench.cli.run_views import chosen_view, present

    host = session(ctx).host()
    as_json = wants_json(ctx, flag=json)
    if resume is not None and (name is not None or smoke):
        raise UsageError("--resume goes on with a run as it is; leave --name and --smoke out")
    if json_lines and (quiet or json):
        raise UsageError("choose one of --quiet, --json and --json-lines")
    view = chosen_view(host, quiet=quiet or as_json, json_lines=json_lines)
    if resume is None:
        executor, searches = _new(host, effective, out, name, view.observers, smoke=smoke)
    else:
        executor, searches = _again(host, effective, find_run(out, resume), view.observers)
    with closing(executor), searches as running:
        _search(running, executor, view)
        present(
            running,
            lambda: write_run_report(host, running),
            as_json=as_json,
            silent=json_lines,
            alone=executor.in_process,
        )


def _new(
    host: PluginHost,
    effective: Effective,
    out: Path,
    name: str | None,
    observe: Any,
    *,
    smoke: bool,
) -> tuple[Any, AbstractContextManager[Sequence[Any]]]:
    from wfbench.search.launching import started
    from wfbench.search.planning import plan_jobs

    chosen = select_run(host, effective)
    plan_jobs(effective.config, chosen)  # what is wrong is told before anything is started
    executor = chosen["executor"][0].build()
    try:
        jobs = plan_jobs(effective.config, chosen, executor.width)
    except BaseException:
        executor.close()
        raise
    return executor, started(jobs, out, name, observe, smoke=smoke)


def _again(
    host: PluginHost, effective: Effective, path: Path, observe: Any
) -> tuple[Any, AbstractContextManager[Sequence[Any]]]:
    from wfbench.search.launching import chosen_executor, resumed

    executor = chosen_executor(host, path, effective).build()
    return executor, resumed(host, path, effective, observe)


def _search(searches: Sequence[Any], executor: Any, view: Any) -> None:
    from wfbench.search.dispatch import run_searches

    with _resumable(searches, view), view.showing():
        run_searches(searches, executor)


@contextmanager
def _resumable(searches: Sequence[Any], view: Any) -> Iterator[None]:
    """Whatever ends the run early, say how it goes on."""
    try:
        yield
    except BaseException as error:
        view.stopped(type(error).__name__ if not str(error) else str(error))
        if not isinstance(error, UsageError):  # which would come again
            path = searches[0].store.path if len(searches) == 1 else searches[0].store.path.parent
            sys.stderr.write(f"wfbench: go on with: wfbench run --resume {path}\n")
        raise
