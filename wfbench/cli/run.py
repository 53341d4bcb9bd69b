"""`wfbench run` and `wfbench config`, which take the same flags."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer

from wfbench.api.results import Progress, Result, Watcher
from wfbench.api.searching import explain_config
from wfbench.cli.arguments import JsonFlag, NewRuns, RunName
from wfbench.cli.calling import noted, verb
from wfbench.cli.invocation import answer, invocation, wants_json
from wfbench.cli.run_options import RunCommand, takes_run_config
from wfbench.contract import UsageError
from wfbench.report.console import console
from wfbench.report.run_lines import PlainLines, print_event
from wfbench.settings.sources import ResolvedConfig
from wfbench.store.places import DEFAULT, find_run

run_app = typer.Typer(add_completion=False, rich_markup_mode=None)
config_app = typer.Typer(add_completion=False, rich_markup_mode=None)


@run_app.command(cls=RunCommand)
@verb()
@takes_run_config
def run(
    ctx: typer.Context,
    *,
    resolved: ResolvedConfig,
    resume: Annotated[str | None, "RUN", "Resume a run that was interrupted."] = None,
    out: NewRuns = DEFAULT,
    name: RunName = None,
    smoke: Annotated[bool, "Tiny run that shows whether everything works."] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print only the summary.")] = False,
    json_lines: Annotated[bool, "Print every event as a line of JSON."] = False,
    json: JsonFlag = False,
) -> None:
    """Search for the best order and the policy that follows it.

    One policy learns all orders (joint training), then the searcher picks orders to specialise.
    --training per-order trains a policy per order instead.
    --seeds N trains N joint policies, or makes N searches with one training per order.
    Repeat --collector or --trainer, or say `all`, to run every combination with the same seeds.
    --executor processes:N runs N trainings at a time. Resume an interrupted run with --resume.
    """
    from wfbench.api.searching import resume_resolved, run_resolved

    if resume is not None and (name is not None or smoke):
        raise UsageError("--resume keeps the run as it is; leave --name and --smoke out")
    if json_lines and (quiet or json):
        raise UsageError("choose one of --quiet, --json and --json-lines")
    as_json = wants_json(ctx, flag=json)
    with noted(), _view(quiet=quiet or as_json, json_lines=json_lines) as view:
        if resume is None:
            found = run_resolved(resolved, out=out, name=name, smoke=smoke, progress=view)
        else:
            found = resume_resolved(resolved, find_run(out, resume), view)
    if not json_lines:
        answer(ctx, found, json=json)
        if found.report_path is not None and not as_json:
            typer.echo(f"report: {found.report_path}")
    if found.problem:
        invocation(ctx).warn(found.problem)


@contextmanager
def _view(*, quiet: bool, json_lines: bool) -> Iterator[Watcher | None]:
    """Show the run as the flags and the kind of output ask for, until the block ends."""
    if json_lines:
        yield lambda step: print_event(step.value)
    elif quiet:
        yield None
    elif console().is_terminal:
        from wfbench.report.run_live import LiveView

        live = LiveView()
        with live.showing(console()):
            yield _by_run(live.watch)
    else:
        yield _by_run(lambda run: PlainLines(run.partition("/")[2]))


def _by_run(make: Callable[[str], Callable[[Any], None]]) -> Watcher:
    """Give each search of the run an observer of its own."""
    observers: dict[str, Callable[[Any], None]] = {}

    def watch(step: Progress) -> None:
        run = step.value["run"]
        if run not in observers:
            observers[run] = make(run)
        observers[run](step.value)

    return watch


@config_app.command(cls=RunCommand)
@verb()
@takes_run_config
def config(
    *,
    resolved: ResolvedConfig,
    check: Annotated[bool, "Also select the plugins, as `wfbench run` would."] = False,
    json: JsonFlag = False,  # noqa: ARG001 - stands here in the help
) -> Result:
    """Print the configuration of a run, and what differs from the defaults and why.

    Flags win over WFBENCH_RUN_* variables, those over the --config file, that over the preset.
    """
    return explain_config(resolved, check=check)
