"""The verbs that measure, play and hand policies on."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Literal

import typer

from wfbench.api.results import Result
from wfbench.cli.arguments import (
    SELECTOR,
    Collectors,
    Env,
    Greedy,
    Horizons,
    NewRuns,
    Options,
    Policy,
    PolicyName,
    Reds,
    RunName,
    Runs,
    Seed,
    read_seconds,
    read_share,
)
from wfbench.cli.calling import progress_lines, verb
from wfbench.contract import UsageError
from wfbench.store.places import DEFAULT


def _counts(flag: str, text: str) -> list[int]:
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdigit() for part in parts):
        raise UsageError(f"{flag} {text}: this is not a list of positive numbers such as 25,200")
    return [int(part) for part in parts]


@verb(
    "wfbench.api.measuring:bench",
    progress="lines",
    n_envs=partial(_counts, "--n-envs"),
    workers=partial(_counts, "--workers"),
    budget=read_seconds,
    until_precision=read_share,
)
def bench(
    *,
    collector: Collectors = None,
    env: Env = "cage2",
    n_envs: Annotated[
        str | None,
        "N[,N...]",
        "Number of environments. [default: 200; 1 to 20,000 with --scaling]",
    ] = None,
    policy: PolicyName = "random",
    rounds: Annotated[int | None, "Samples of each case. [default: 5; 3 with --scaling]"] = None,
    seconds: Annotated[
        float | None, "Minimum seconds per sample. [default: 0.5; 0.3 with --scaling]"
    ] = None,
    steps: Annotated[int | None, "Steps of every environment per collect. [default: 50]"] = None,
    workers: Annotated[
        str | None,
        "N[,N...]",
        "Workers of every collector that has workers; several with --scaling. "
        "[default there: 1 to twice the cores]",
    ] = None,
    scaling: Annotated[
        bool, "Vary environments and workers: what is flat, what is linear, where is a knee?"
    ] = False,
    seed: Seed = 0,
    option: Options = None,
    budget: Annotated[
        str | None, "TIME", "Measure rounds for so long, such as 60s or 5m, instead of 5."
    ] = None,
    until_precision: Annotated[
        str | None, "SHARE", "Measure until every rate is known to such as 5%, instead of 5 rounds."
    ] = None,
    smoke: Annotated[bool, "Two very short rounds: does it work at all?"] = False,
    out: NewRuns = DEFAULT,
    name: RunName = None,
) -> None:
    """Measure how fast collectors are on an environment.

    Every sample comes from a fresh process. Every round measures each case once, in turns with the
    first case, and each sample is kept in the run directory at once. The exit code is 3 if a sample
    failed or synchronous collectors did not collect the same transitions.
    """


@verb()
def reproduce(
    claim: Annotated[
        list[str] | None, "[CLAIM]...", "Claims by name, see `wfbench plugins list`. Default: all."
    ] = None,
    *,
    quick: Annotated[bool, "Measure less, in minutes. Each finding says how."] = False,
    to: Annotated[Path | None, "DIR", "Directory for reproduction.json and .md."] = None,
    seed: Seed = 0,
) -> Result:
    """Test the documented claims by measuring them, like for like.

    A claim that is not reproduced is a finding and no error. The exit code is 3 if a claim could
    not be measured; the others are reported all the same.
    """
    from wfbench.api import claims

    with progress_lines() as progress:
        found = claims.reproduce(*(claim or ()), quick=quick, to=to, seed=seed, progress=progress)
    for path in found.written:
        typer.echo(f"wrote {path}", err=True)
    return found


@verb("wfbench.api.evaluating:evaluate")
def evaluate(
    policy: Annotated[
        str,
        "POLICY",
        "A policy.npz, a run, or a reference of the environment: random, sleep, reactive.",
    ],
    *,
    horizon: Horizons = None,
    red: Reds = None,
    episodes: Annotated[
        int | None,
        typer.Option(min=1, help="Episodes per cell. [default: 1000; 200 with --orders]"),
    ] = None,
    greedy: Greedy = False,
    order: Annotated[
        str | None,
        "Order to follow, for a joint policy or a reference; else the order to judge by. "
        "[default: its own; all in turn for a joint policy]",
    ] = None,
    orders: Annotated[
        str | None,
        "all|trained|A,B,…",
        "Give the policy these orders and judge it by every order. "
        "`trained`: judge every policy of a run.",
    ] = None,
    stress: Annotated[
        int, typer.Option(min=0, help="Steps that blue is held in stress episodes; 0: none.")
    ] = 15,
    definition: Annotated[
        str | None, "Definition of compliance. [default: what it was trained on]"
    ] = None,
    returns_only: Annotated[
        bool, "Do not judge compliance: faster where the true state is costly."
    ] = False,
    env: Annotated[
        str | None,
        "Environment to play in. [default: where it was trained; cage2 for a reference]",
    ] = None,
    collector: Annotated[str, "Collector."] = "vector",
    seed: Seed = 0,
    save: Annotated[bool, "Keep the result with the run, and write its report again."] = False,
    out: Runs = DEFAULT,
) -> None:
    """Play a frozen policy on fresh seeds, and compare it with published results."""


@verb("wfbench.api.evaluating:verify_transfer")
def verify_transfer(
    policy: Policy,
    *,
    env: Annotated[str, SELECTOR, "The other environment."] = "cyborg",
    horizon: Horizons = None,
    red: Reds = None,
    episodes: Annotated[int, "Episodes per cell in the other environment."] = 250,
    home_episodes: Annotated[int, "Episodes per cell where it was trained."] = 4000,
    greedy: Greedy = False,
    order: Annotated[
        str | None, "Order that a joint policy is to follow. [default: all in turn]"
    ] = None,
    collector: Annotated[str, "Collector for the other environment."] = "shm",
    seed: Seed = 0,
    out: Runs = DEFAULT,
) -> None:
    """Compare a policy's returns where it was trained with those in another environment.

    The exit code is 1 if the means of a cell are more than 3 standard errors apart.
    """


@verb("wfbench.api.landscapes:landscape")
def landscape(
    runs: Annotated[list[str], "RUN...", "Runs that trained orders."],
    *,
    to: Annotated[Path, "FILE", "Landscape file to write."],
    out: Runs = DEFAULT,
    inherited: Annotated[
        bool, "Accept orders whose training started from another order's policy."
    ] = False,
) -> None:
    """Collect how training every order turned out, from runs, for `bench-search`."""


@verb("wfbench.api.landscapes:bench_search", progress="bar")
def bench_search(
    *,
    searcher: Annotated[
        list[str] | None,
        SELECTOR,
        "Searcher, or `all`. Repeatable. [default: gp-ucb, random]",
    ] = None,
    landscape: Annotated[Path | None, "FILE", "Recorded landscape to search."] = None,
    value: Annotated[
        Literal["return", "compliance", "steps"] | None,
        "With --landscape: what an order is worth. `steps` is how soon it complies. "
        "[default: return]",
    ] = None,
    synthetic: Annotated[
        Literal["mallows", "pairs"] | None,
        "Synthetic landscape of known optimum, another one for every seed.",
    ] = None,
    icc: Annotated[
        float | None,
        "With --synthetic: share of a score's variance that is due to the order. [default: 0.3]",
    ] = None,
    seeds: Annotated[int, typer.Option(min=2, help="Searches per searcher.")] = 200,
    asks: Annotated[int, typer.Option(min=1, help="Trainings per search.")] = 20,
    seed: Seed = 0,
    batch: Annotated[
        int, typer.Option(min=1, help="Orders asked at a time, if the searcher supports it.")
    ] = 1,
    option: Options = None,
) -> None:
    """Compare searchers without training: a landscape answers what training would have.

    Regret is the value of the best order less that of the order a searcher would recommend.
    """


@verb("wfbench.api.publishing:export")
def export(
    policy: Policy,
    *,
    to: Annotated[
        Literal["agent", "onnx", "torch"],
        "Format: agent is one Python file for the official evaluation that needs numpy alone.",
    ] = "agent",
    folder: Annotated[
        Path | None, "DIR", "New or empty folder. [default: named after policy and format]"
    ] = None,
    order: Annotated[str | None, "Order that a joint policy is to follow."] = None,
    greedy: Greedy = False,
    episodes: Annotated[int, "Episodes per cell, to measure the score it names."] = 1000,
    seed: Seed = 0,
    out: Runs = DEFAULT,
) -> None:
    """Write a policy in a form that needs no wfbench.

    Its README names order, definition of compliance, scores with intervals and versions.
    """


@verb()
def board(
    policies: Annotated[
        list[str] | None, "[POLICY]...", "Policies or runs. Default: every run that has a policy."
    ] = None,
    *,
    env: Annotated[str, SELECTOR, "Environment that every policy plays in."] = "cage2",
    episodes: Annotated[int, typer.Option(min=2, help="Episodes per cell.")] = 1000,
    greedy: Greedy = False,
    collector: Annotated[str, "Collector."] = "vector",
    to: Annotated[
        list[Path] | None, "FILE", "Also write the board: .md, .html or .csv. Repeatable."
    ] = None,
    seed: Seed = 0,
    out: Runs = DEFAULT,
) -> Result:
    """Rank stored policies, reference rules and published results by total return.

    The total is the sum of the mean returns against each red agent over each horizon for which
    results are published.
    """
    from wfbench.api import publishing

    with progress_lines() as progress:
        found = publishing.board(
            *(policies or ()),
            env=env,
            episodes=episodes,
            greedy=greedy,
            collector=collector,
            seed=seed,
            out=out,
            progress=progress,
        )
    for path in to or ():
        typer.echo(f"wrote {found.save(path)}", err=True)
    return found
