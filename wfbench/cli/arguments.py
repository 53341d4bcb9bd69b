"""Arguments and options that several verbs share, each written once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

SELECTOR = "NAME[:KEY=VALUE,...]"

JsonFlag = Annotated[bool, "Answer in JSON."]
"""Read it with `wants_json`: it may also be given before the verb."""

NewRuns = Annotated[Path, "DIR", "Directory for new run directories."]
Runs = Annotated[Path, "DIR", "Directory that holds the runs."]
RunName = Annotated[str | None, "Name of the run. Default: the date and time."]
Baselines = Annotated[Path, "DIR", "Directory that holds the baselines."]
Seed = Annotated[int, typer.Option(min=0, help="Random seed.")]
Env = Annotated[str, SELECTOR, "Environment."]
Collectors = Annotated[list[str] | None, SELECTOR, "Collector to measure, or `all`. Repeatable."]
Options = Annotated[
    list[str] | None,
    typer.Option(
        "--option",
        "-o",
        metavar="NAME.KEY=VALUE",
        help="Option of a selected plugin, such as shm.workers=2. Repeatable.",
    ),
]
PolicyName = Annotated[str, "random|network", "Policy that chooses the actions."]
Policy = Annotated[str, "POLICY", "A policy.npz or a run."]
Greedy = Annotated[bool, "Always take the most likely action. Default: draw."]
Horizons = Annotated[list[int] | None, "Steps per episode. Repeatable. [default: 30, 50, 100]"]
Reds = Annotated[list[str] | None, "Red agent. Repeatable. [default: bline, meander, sleep]"]
Inconclusive = Annotated[
    Literal["ok", "fail"], "Exit code of an inconclusive result: ok is 0, fail is 4."
]
ReturnMargin = Annotated[
    float | None, "Searches only: smallest difference in return that counts. [default: 5 %]"
]
ComplianceMargin = Annotated[
    float | None, "Searches only: smallest difference in compliance that counts. [default: 0.05]"
]
