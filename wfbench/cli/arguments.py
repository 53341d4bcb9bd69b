"""Arguments and options that several verbs share, each written once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

_SELECTOR = "NAME[:KEY=VALUE,...]"

JsonFlag = Annotated[bool, typer.Option("--json", help="Answer in JSON.")]
"""Read it with `wants_json`: it may also be given before the verb."""

NewRuns = Annotated[
    Path, typer.Option("--out", metavar="DIR", help="Directory for new run directories.")
]
Runs = Annotated[Path, typer.Option("--out", metavar="DIR", help="Directory that holds the runs.")]
RunName = Annotated[
    str | None, typer.Option("--name", help="Name of the run. Default: the date and time.")
]
Baselines = Annotated[
    Path, typer.Option("--baselines", metavar="DIR", help="Directory that holds the baselines.")
]
Seed = Annotated[int, typer.Option(min=0, help="Random seed.")]
Env = Annotated[str, typer.Option(metavar=_SELECTOR, help="Environment.")]
Collectors = Annotated[
    list[str] | None,
    typer.Option(
        "--collector",
        metavar=_SELECTOR,
        help="Collector to measure, or `all`. Repeatable.",
    ),
]
Searchers = Annotated[
    list[str] | None,
    typer.Option(
        "--searcher",
        metavar=_SELECTOR,
        help="Searcher, or `all`. Repeatable. [default: gp-ucb, random]",
    ),
]
Options = Annotated[
    list[str] | None,
    typer.Option(
        "--option",
        "-o",
        metavar="NAME.KEY=VALUE",
        help="Option of a selected plugin, such as shm.workers=2. Repeatable.",
    ),
]
PolicyName = Annotated[
    str, typer.Option(metavar="random|network", help="Policy that chooses the actions.")
]
Inconclusive = Annotated[
    Literal["ok", "fail"],
    typer.Option(help="Exit code of an inconclusive result: ok is 0, fail is 4."),
]
ReturnMargin = Annotated[
    float | None,
    typer.Option(help="Searches only: smallest difference in return that counts. [default: 5 %]"),
]
ComplianceMargin = Annotated[
    float | None,
    typer.Option(
        help="Searches only: smallest difference in compliance that counts. [default: 0.05]"
    ),
]
