"""Arguments and options that several verbs share, and amounts as people write them."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Literal

import typer

from wfbench.contract import UsageError

SELECTOR = "NAME[:KEY=VALUE,...]"
_SECONDS = {"s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}

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


def read_share(text: str) -> float:
    """Return a share: `10%` and `0.1` are the same."""
    number = text.strip()
    scale = 0.01 if number.endswith("%") else 1.0
    return scale * _number(number.removesuffix("%"), f"{text!r} is not a share such as 10%")


def read_seconds(text: str) -> float:
    """Return a time in seconds: `90`, `90s`, `1.5m` and `2h`."""
    number = text.strip()
    unit = number.lstrip("0123456789.eE+- ")
    problem = f"{text!r} is not a time such as 90s, 5m or 1h"
    if unit and unit not in _SECONDS:
        raise UsageError(problem)
    return _SECONDS.get(unit, 1.0) * _number(number.removesuffix(unit), problem)


def _number(text: str, problem: str) -> float:
    try:
        found = float(text)
    except ValueError:
        raise UsageError(problem) from None
    if not math.isfinite(found) or found <= 0.0:
        raise UsageError(problem)
    return found
