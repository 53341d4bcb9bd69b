"""`wfbench check`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from wfbench.api import gating
from wfbench.benchmarks.gate.baseline_store import DEFAULT as BASELINES
from wfbench.cli.arguments import Baselines, Inconclusive, JsonFlag
from wfbench.cli.invocation import answer
from wfbench.cli.progress import progress_lines
from wfbench.contract import UsageError

app = typer.Typer(add_completion=False, rich_markup_mode=None)

NewSearches = Annotated[
    list[str] | None,
    typer.Option(
        "--run",
        metavar="RUN",
        help="Baselines of learning only: a search that was made again. Repeatable.",
    ),
]
MinimumEffect = Annotated[
    float | None,
    typer.Option(
        metavar="SHARE",
        help="Smallest change that counts, such as 0.1. [default: from the calibration]",
    ),
]
Busy = Annotated[
    Literal["inconclusive", "judge"],
    typer.Option(
        help="Verdict on a slow-down while other programs use half a core or more: "
        "inconclusive, or judged as usual."
    ),
]
CheckDirectory = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        help="Directory for verdict.json, junit.xml and the samples. "
        "[default: results/checks/TIME]",
    ),
]


@app.command()
def check(
    ctx: typer.Context,
    *,
    baseline: Annotated[
        str | None,
        typer.Option(metavar="NAME|FILE", help="Baseline to check. [default: the only one]"),
    ] = None,
    baselines: Baselines = BASELINES,
    runs: NewSearches = None,
    rounds: Annotated[
        int | None, typer.Option(help="Samples of each case. [default: the baseline's]")
    ] = None,
    minimum_effect: MinimumEffect = None,
    inconclusive: Inconclusive = "ok",
    busy: Busy = "inconclusive",
    out: CheckDirectory = None,
    md: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write a pull-request comment.")
    ] = None,
    smoke: Annotated[
        bool, typer.Option("--smoke", help="Test whether the gate works here. Judges no speed.")
    ] = False,
    json: JsonFlag = False,
) -> None:
    """Measure a baseline's cases again and fail if one got slower.

    Ratios to a reference case of the same rounds are compared, so the baseline may come from
    another machine. What looks slower is measured a second time before it counts. A baseline of
    learning is compared with the searches named with --run. Exit codes: 1 something got slower or
    learns worse, 3 a sample failed, 4 inconclusive (with --inconclusive fail), 5 no baseline, or
    not comparable.
    """
    changed = (inconclusive, busy) != ("ok", "inconclusive")
    given = (baseline, runs, rounds, minimum_effect, md, out)
    if smoke and (changed or any(one is not None for one in given)):
        raise UsageError("--smoke judges no speed; leave the other options out")
    with progress_lines() as progress:
        found = (
            gating.check_gate(baselines=baselines, progress=progress)
            if smoke
            else gating.check(
                baseline,
                baselines=baselines,
                run=runs or (),
                rounds=rounds,
                minimum_effect=minimum_effect,
                inconclusive=inconclusive,
                busy=busy,
                out=out,
                md=md,
                progress=progress,
            )
        )
    answer(ctx, found, json=json)
