"""The verbs that judge changes: compare, check, bisect, calibrate and baseline."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from wfbench.api import gating, revisions
from wfbench.api.results import Result, Watcher
from wfbench.benchmarks.gate.baseline_store import DEFAULT as BASELINES
from wfbench.benchmarks.gate.calibration import DEFAULT as CALIBRATION
from wfbench.cli.arguments import (
    SELECTOR,
    Baselines,
    Collectors,
    ComplianceMargin,
    Env,
    Inconclusive,
    JsonFlag,
    Options,
    PolicyName,
    ReturnMargin,
    Runs,
    Seed,
    read_seconds,
    read_share,
)
from wfbench.cli.calling import Said, verb
from wfbench.cli.invocation import answer, invocation, wants_json
from wfbench.contract import UsageError
from wfbench.store.places import DEFAULT as RUNS

_Busy = Annotated[
    Literal["inconclusive", "judge"],
    "Verdict on a slow-down while other programs take half a core or more: "
    "inconclusive, or judged as usual.",
]
_CheckFiles = Annotated[
    Path | None,
    "DIR",
    "Directory for verdict.json, junit.xml and the samples. [default: results/checks/TIME]",
]


def _names(given: str) -> list[str]:
    return [name.strip() for name in given.split(",") if name.strip()]


def _compare(*, ctx: typer.Context, json: bool, md: bool, **given: Any) -> Result | None:
    if md and wants_json(ctx, flag=json):
        raise UsageError("--md and --json are given; one answer is enough")
    found = gating.compare(**given)
    if not md:
        return found
    typer.echo(found.report("md"), nl=False)
    raise typer.Exit(found.exit_code)


@verb(_compare, old=_names, new=_names)
def compare(
    ctx: typer.Context,
    old: Annotated[str, "OLD[,OLD...]", "Runs, or a file of `bench --json`."],
    new: Annotated[str, "NEW[,NEW...]", "What to compare with them."],
    *,
    metric: Annotated[
        Literal["rate", "cpu", "memory", "start-up"] | None,
        "Bench runs only: figure to compare. [default: rate]",
    ] = None,
    basis: Annotated[
        Literal["auto", "rate", "ratio"] | None,
        "Bench runs only: ratios to a reference case, or rates as they are (same machine "
        "only). `auto` uses ratios wherever there are two cases. [default: auto]",
    ] = None,
    reference: Annotated[
        str | None, "LABEL", "Bench runs only: reference case. [default: the first in common]"
    ] = None,
    steps: Annotated[
        int | None, "Searches only: compare after so many steps. [default: as many as all have]"
    ] = None,
    minimum_effect: Annotated[float, "SHARE", "Smallest ratio that counts: 0.05 is 5 %."] = 0.05,
    return_margin: ReturnMargin = None,
    compliance_margin: ComplianceMargin = None,
    alpha: Annotated[float, "Largest p value of a difference."] = 0.05,
    inconclusive: Inconclusive = "ok",
    out: Runs = RUNS,
    verbose: Annotated[bool, "Also show criteria, settings and remarks."] = False,
    md: Annotated[bool, "Answer in Markdown, with everything."] = False,
    json: JsonFlag = False,
) -> None:
    """Compare two bench runs, or searches: paired by their seeds, or unpaired if they differ.

    Exit codes: 1 something regressed, 5 something is not comparable, 4 something is inconclusive
    and --inconclusive is fail.
    """


_OF_REVISIONS = {"collector", "env", "n_envs", "detect", "budget", "seconds"}
_OF_BASELINES = {"run", "rounds", "minimum_effect", "busy"}


def _check(*, smoke: bool, baselines: Path, progress: Watcher, **given: Any) -> Result:
    against = given.pop("against", None)
    busy = given.pop("busy")
    if busy != "inconclusive":
        given["busy"] = busy
    wrong = given.keys() & (_OF_REVISIONS if against is None else _OF_BASELINES)
    if wrong:
        where = "only with" if against is None else "not with"
        flags = ", ".join(f"--{name.replace('_', '-')}" for name in sorted(wrong))
        raise UsageError(f"{flags}: {where} --against REV")
    if against is not None and not smoke:
        return revisions.check_against(against, **given, baselines=baselines, progress=progress)
    if not smoke:
        return gating.check(**given, baselines=baselines, progress=progress)
    if against is not None or given != {"inconclusive": "ok"}:
        raise UsageError("--smoke judges no speed; leave the other options out")
    return gating.check_gate(baselines=baselines, progress=progress)


@verb(_check, progress="lines", detect=read_share, budget=read_seconds)
def check(
    *,
    against: Annotated[
        str | None,
        "REV",
        "Instead of a baseline: build this git revision of the project in the current folder and "
        "measure it and the working tree in turns.",
    ] = None,
    baseline: Annotated[
        str | None, "NAME|FILE", "Baseline to check. [default: the only one]"
    ] = None,
    baselines: Baselines = BASELINES,
    run: Annotated[
        list[str] | None,
        "RUN",
        "Baselines of learning only: a search that was made again. Repeatable.",
    ] = None,
    rounds: Annotated[int | None, "Samples of each case. [default: the baseline's]"] = None,
    minimum_effect: Annotated[
        float | None,
        "SHARE",
        "Smallest change that counts, such as 0.1. [default: from the calibration]",
    ] = None,
    collector: Annotated[
        list[str] | None,
        SELECTOR,
        "With --against: collector to measure. Repeatable. [default: all of the project]",
    ] = None,
    env: Annotated[str | None, SELECTOR, "With --against: environment. [default: cage2]"] = None,
    n_envs: Annotated[
        int | None,
        typer.Option(min=1, help="With --against: number of environments. [default: 200]"),
    ] = None,
    detect: Annotated[
        str | None, "SHARE", "With --against: slow-down that must be found. [default: 10%]"
    ] = None,
    budget: Annotated[
        str | None, "TIME", "With --against: time to spend, such as 90s or 10m. [default: 10m]"
    ] = None,
    seconds: Annotated[
        float | None, "With --against: seconds per side and pair of processes. [default: 1]"
    ] = None,
    inconclusive: Inconclusive = "ok",
    busy: _Busy = "inconclusive",
    out: _CheckFiles = None,
    md: Annotated[Path | None, "FILE", "Also write a pull-request comment."] = None,
    smoke: Annotated[bool, "Test whether the gate works here. Judges no speed."] = False,
) -> None:
    """Fail if something got slower: against a baseline, or against another revision.

    --against judges rate, CPU time, memory and start-up of two revisions that are measured in
    turns on this machine, until what --detect asks for would be found. Against a baseline, ratios
    to a reference case of the same rounds are compared, so it may come from another machine. What
    looks slower is measured a second time before it counts. A baseline of learning is compared
    with the searches named with --run. Exit codes: 1 something got slower or learns worse, 3 a
    sample failed, 4 inconclusive (with --inconclusive fail), 5 no baseline, or not comparable.
    """


@verb(revisions.bisect, progress="lines", detect=read_share, budget=read_seconds)
def bisect(
    case: Annotated[str, SELECTOR, "Collector to measure."],
    *,
    good: Annotated[str, "REV", "Revision in which it was fast."],
    bad: Annotated[str, "REV", "Later revision in which it is slow."] = "HEAD",
    env: Env = "cage2",
    n_envs: Annotated[int, typer.Option(min=1, help="Number of environments.")] = 200,
    metric: Annotated[
        Literal["rate", "cpu", "memory", "start-up"], "Figure that got worse."
    ] = "rate",
    detect: Annotated[str | None, "SHARE", "Slow-down to look for. [default: 10%]"] = None,
    budget: Annotated[
        str | None, "TIME", "Time for the comparison of GOOD with BAD. [default: 10m]"
    ] = None,
    seconds: Annotated[float | None, "Seconds per side and pair. [default: 1]"] = None,
) -> None:
    """Name the commit of the project in this folder from which on a collector is slow.

    Every commit that halves the rest is built and measured beside the good revision, as in `check
    --against`. Commits that cannot be built are skipped, and the answer says so. The exit code is 5
    if the bad revision is not slower than the good one.
    """


@verb("wfbench.api.gating:calibrate", progress="lines")
def calibrate(
    *,
    collector: Collectors = None,
    env: Env = "cage2",
    n_envs: Annotated[int, typer.Option(min=1, help="Number of environments.")] = 50,
    policy: PolicyName = "random",
    rounds: Annotated[int, "Rounds to measure."] = 60,
    window: Annotated[int, "Rounds of one check."] = 10,
    seconds: Annotated[float, "Minimum seconds per sample."] = 0.5,
    steps: Annotated[int, "Steps of every environment per collect."] = 50,
    seed: Seed = 0,
    option: Options = None,
    out: Annotated[Path, "FILE", "File for the result."] = CALIBRATION,
) -> None:
    """Measure how noisy this machine is: checks of code that does not change.

    Measures shm against sequential unless two collectors or more are given. Says how often a check
    would fail here though nothing changed, and which slow-down it finds. `wfbench check` then
    ignores changes that noise alone can cause.
    """


app = typer.Typer(add_completion=False, rich_markup_mode=None, no_args_is_help=True)


@app.callback()
def baseline() -> None:
    """Keep measured runs for `wfbench check` to compare with."""


def _save(*, ctx: typer.Context, json: bool, **given: Any) -> None:
    found = gating.save_baseline(**given)
    answer(ctx, found, json=json)
    if not wants_json(ctx, flag=json):
        typer.echo(f"kept as {found.path}")


@app.command()
@verb(_save)
def save(
    ctx: typer.Context,
    name: Annotated[str, "Name of the baseline."],
    runs: Annotated[
        list[str], "RUN...", "One run of `wfbench bench`, or searches with different seeds."
    ],
    *,
    reference: Annotated[
        str | None, "CASE", "Bench runs only: case that ratios are to. [default: the first]"
    ] = None,
    steps: Annotated[
        int | None,
        typer.Option(
            min=1, help="Searches only: compare after so many steps. [default: as many as all have]"
        ),
    ] = None,
    return_margin: ReturnMargin = None,
    compliance_margin: ComplianceMargin = None,
    replace: Annotated[bool, "Overwrite a baseline of the same name."] = False,
    force: Annotated[
        bool, "Keep a run of a busy machine. Checks against it are inconclusive at worst."
    ] = False,
    out: Runs = RUNS,
    baselines: Baselines = BASELINES,
    json: JsonFlag = False,
) -> None:
    """Keep a run as the baseline NAME.

    Smoke runs, interrupted runs, runs with a failed or marked sample, and runs of a busy machine
    are refused.
    """


@app.command("list")
@verb()
def list_(ctx: typer.Context, *, baselines: Baselines = BASELINES) -> Result:
    """List every baseline and what it covers."""
    found = gating.baselines(baselines)
    for line in found.unreadable:
        invocation(ctx).warn(line)
    return found


@app.command()
@verb()
def show(
    ctx: typer.Context,
    name: Annotated[str, "NAME|FILE", "Baseline to show."],
    *,
    baselines: Baselines = BASELINES,
    json: JsonFlag = False,
) -> None:
    """Show the figures of a baseline, how it was made and on which machine."""
    found = gating.load_baseline(name, folder=baselines)
    if wants_json(ctx, flag=json):
        typer.echo(found.path.read_text(encoding="utf-8"), nl=False)
    else:
        found.show()


@app.command()
@verb()
def rm(name: Annotated[str, "Baseline to remove."], *, baselines: Baselines = BASELINES) -> Said:
    """Remove a baseline."""
    removed = str(gating.remove_baseline(name, folder=baselines))
    return Said("baseline-rm/1", {"removed": removed}, f"removed {removed}\n")
