"""`wfbench baseline`."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from wfbench.bench.baseline import Baseline, make_baseline
from wfbench.bench.baseline_files import DEFAULT, find_baseline, names, read_any, write_baseline
from wfbench.bench.comparison_search import Margins
from wfbench.bench.learning_baseline import LearningBaseline, make_learning_baseline
from wfbench.bench.learning_runs import load_learning_runs
from wfbench.bench.saved import load_machine, load_plan, load_session
from wfbench.cli.session import JsonFlag, session, wants_json
from wfbench.contract import UsageError, WfbenchError
from wfbench.report.baseline import baseline_summary, show_baseline, show_baselines
from wfbench.report.console import console, print_json
from wfbench.store.files import writing
from wfbench.store.places import DEFAULT as RUNS
from wfbench.store.places import find_run, run_kind

app = typer.Typer(add_completion=False, rich_markup_mode=None, no_args_is_help=True)

Folder = Annotated[
    Path, typer.Option("--baselines", metavar="DIR", help="Where baselines are kept.")
]


@app.callback()
def baseline() -> None:
    """Keep measured runs for `wfbench check` to compare with."""


@app.command()
def save(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(help="What the baseline is called.")],
    runs: Annotated[
        list[str],
        typer.Argument(metavar="RUN...", help="A run of `wfbench bench`, or searches, one a seed."),
    ],
    *,
    reference: Annotated[
        str | None,
        typer.Option(metavar="CASE", help="Of bench: what ratios are to [default: first case]."),
    ] = None,
    steps: Annotated[
        int | None,
        typer.Option(min=1, help="Of searches: compared after so many [default: all have]."),
    ] = None,
    return_margin: Annotated[
        float | None,
        typer.Option(help="Of searches: how much worse a return may be [default: 5 %]."),
    ] = None,
    compliance_margin: Annotated[
        float | None, typer.Option(help="Of searches: how much worse [default: 0.05].")
    ] = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Put it in place of one of the same name.")
    ] = False,
    out: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="Where run directories are.")
    ] = RUNS,
    baselines: Folder = DEFAULT,
    json: JsonFlag = False,
) -> None:
    """Keep a run as the baseline NAME.

    Smoke runs, interrupted runs, and runs with a failed or marked sample are refused.
    """
    paths = [find_run(out, run) for run in runs]
    made: Baseline | LearningBaseline
    if any(run_kind(path) == "bench" for path in paths):
        if (steps, return_margin, compliance_margin) != (None, None, None):
            raise UsageError("--steps and margins belong to searches, not to bench runs")
        made = _of_bench(name, paths, reference)
    else:
        if reference is not None:
            raise UsageError("--reference belongs to bench runs, not to searches")
        made = _of_searches(name, paths, steps, return_margin, compliance_margin)
    file = write_baseline(baselines, made, replace=replace)
    if wants_json(ctx, flag=json):
        print_json("baseline-saved/1", {"file": str(file), **baseline_summary(made)})
    else:
        show_baseline(made)
        console().print(f"kept as {file}", soft_wrap=True)


def _of_bench(name: str, paths: list[Path], reference: str | None) -> Baseline:
    if len(paths) > 1:
        raise UsageError("a baseline of speed is made of one bench run; name only one")
    [path] = paths
    plan = load_plan(path)
    return make_baseline(
        load_session(path),
        name,
        created=plan.created,
        machine=load_machine(path),
        command=plan.command,
        reference=reference,
    )


def _of_searches(
    name: str,
    paths: list[Path],
    steps: int | None,
    returns: float | None,
    compliance: float | None,
) -> LearningBaseline:
    for value in (returns, compliance):
        if value is not None and not value > 0:
            raise UsageError(f"a margin is {value:g}; it must be above 0")
    return make_learning_baseline(
        load_learning_runs(paths),
        name,
        created=datetime.now().astimezone().isoformat(timespec="seconds"),
        margins=Margins(returns) if compliance is None else Margins(returns, compliance),
        steps=steps,
    )


@app.command("list")
def list_(
    ctx: typer.Context,
    *,
    baselines: Folder = DEFAULT,
    json: JsonFlag = False,
) -> None:
    """Every baseline, and what it covers."""
    found = []
    for name in names(baselines):
        try:
            found.append(read_any(baselines / f"{name}.json"))
        except WfbenchError as error:
            session(ctx).warnings.append(str(error))
    if wants_json(ctx, flag=json):
        print_json("baseline-list/1", {"baselines": [baseline_summary(one) for one in found]})
    else:
        show_baselines(found, baselines)


@app.command()
def show(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME|FILE", help="A baseline.")],
    *,
    baselines: Folder = DEFAULT,
    json: JsonFlag = False,
) -> None:
    """The figures of a baseline, how it was made and on which machine."""
    file = find_baseline(baselines, name)
    found = read_any(file)
    if wants_json(ctx, flag=json):
        typer.echo(file.read_text(encoding="utf-8"), nl=False)
    else:
        show_baseline(found)


@app.command()
def rm(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(help="A baseline.")],
    *,
    baselines: Folder = DEFAULT,
    json: JsonFlag = False,
) -> None:
    """Remove a baseline."""
    file = find_baseline(baselines, name)
    with writing(file):
        file.unlink()
    if wants_json(ctx, flag=json):
        print_json("baseline-rm/1", {"removed": str(file)})
    else:
        console().print(f"removed {file}", soft_wrap=True)
