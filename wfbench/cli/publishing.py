"""The verbs that hand policies on: export and board."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from wfbench.api.results import Result
from wfbench.cli.arguments import SELECTOR, Greedy, Policy, Runs, Seed
from wfbench.cli.calling import progress_lines, verb
from wfbench.store.places import DEFAULT


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
