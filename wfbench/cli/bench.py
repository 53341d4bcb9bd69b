"""`wfbench bench`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from wfbench.bench.cases import select_cases
from wfbench.bench.model import POLICIES, Session, Settings
from wfbench.bench.summary import equal_work, summarise
from wfbench.cli.measuring import measured
from wfbench.cli.session import JsonFlag, session, wants_json
from wfbench.contract import UsageError
from wfbench.report.bench import show_saved, show_session
from wfbench.report.console import print_json
from wfbench.selection import ALL, parse_options
from wfbench.store.places import DEFAULT

TRIAL_FAILED = 3

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
def bench(
    ctx: typer.Context,
    *,
    collector: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME[:KEY=VALUE,...]", help="A collector, or `all` (the default). Repeatable."
        ),
    ] = None,
    env: Annotated[
        str, typer.Option(metavar="NAME[:KEY=VALUE,...]", help="The environment.")
    ] = "cage2",
    n_envs: Annotated[str, typer.Option(metavar="N[,N...]", help="How many environments.")] = "200",
    policy: Annotated[
        str, typer.Option(metavar="|".join(POLICIES), help="Who chooses the actions.")
    ] = "random",
    rounds: Annotated[int | None, typer.Option(help="Samples of each case [default: 5].")] = None,
    seconds: Annotated[
        float | None, typer.Option(help="The least time of a sample [default: 0.5].")
    ] = None,
    steps: Annotated[
        int | None, typer.Option(help="Steps of every env per collect [default: 50].")
    ] = None,
    workers: Annotated[
        int | None, typer.Option(help="Workers of every collector that has them.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Where every random number comes from.")] = 0,
    option: Annotated[
        list[str] | None,
        typer.Option(
            "--option",
            "-o",
            metavar="NAME.KEY=VALUE",
            help="An option of a selected plugin, such as shm.workers=2. Repeatable.",
        ),
    ] = None,
    smoke: Annotated[
        bool, typer.Option("--smoke", help="Two very short rounds: does it work at all?")
    ] = False,
    out: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="Where run directories are made.")
    ] = DEFAULT,
    name: Annotated[
        str | None, typer.Option("--name", help="What the run is called; default: the time.")
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Measure how fast collectors are on an environment.

    Every sample comes from a fresh process and every round measures each case once, in changing
    order; what is measured is kept in a run directory, sample by sample. Ends with 3 if a sample
    failed or if synchronous collectors did not collect the same.
    """
    cases = select_cases(
        session(ctx).host(),
        collectors=collector or [ALL],
        env=env,
        n_envs=_counts(n_envs),
        policy=policy,
        options=parse_options(option or ()),
        workers=workers,
    )
    settings = _settings(rounds=rounds, seconds=seconds, steps=steps, seed=seed, smoke=smoke)
    found = measured(cases, settings, out, name)
    if wants_json(ctx, flag=json):
        print_json("bench/1", {"run": str(found.path), **_as_data(found.session)})
    else:
        show_session(found.session)
        show_saved(found.path or out)
    if not _all_well(found.session):
        raise typer.Exit(TRIAL_FAILED)


def _settings(
    *, rounds: int | None, seconds: float | None, steps: int | None, seed: int, smoke: bool
) -> Settings:
    usual = Settings(rounds=2, seconds=0.05, steps=10) if smoke else Settings()
    return Settings(
        rounds=usual.rounds if rounds is None else rounds,
        seconds=usual.seconds if seconds is None else seconds,
        steps=usual.steps if steps is None else steps,
        seed=seed,
        smoke=smoke,
    )


def _counts(text: str) -> list[int]:
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdigit() and int(part) > 0 for part in parts):
        raise UsageError(f"--n-envs {text}: this is not a list of positive numbers such as 25,200")
    counts = [int(part) for part in parts]
    if len(set(counts)) != len(counts):
        raise UsageError(f"--n-envs {text}: a number is given twice")
    return counts


def _as_data(session: Session) -> dict[str, object]:
    return {
        **session.as_data(),
        "summaries": [asdict(summary) for summary in summarise(session)],
        "equal_work": [asdict(work) for work in equal_work(session)],
    }


def _all_well(session: Session) -> bool:
    failed = any(sample.failure is not None for sample in session.samples)
    return not failed and all(work.equal for work in equal_work(session))
