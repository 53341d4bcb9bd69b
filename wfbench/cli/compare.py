"""`wfbench compare`."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from wfbench.cli.arguments import (
    ComplianceMargin,
    Inconclusive,
    JsonFlag,
    ReturnMargin,
    Runs,
)
from wfbench.cli.invocation import answer, wants_json
from wfbench.contract import UsageError
from wfbench.store.places import DEFAULT

app = typer.Typer(add_completion=False, rich_markup_mode=None)

MetricName = Annotated[
    Literal["rate", "cpu", "memory", "start-up"] | None,
    typer.Option(help="Bench runs only: figure to compare. [default: rate]"),
]
BasisName = Annotated[
    Literal["auto", "rate", "ratio"] | None,
    typer.Option(
        help="Bench runs only: ratios to a reference case, or rates as they are (same machine "
        "only). `auto` uses ratios wherever there are two cases. [default: auto]"
    ),
]
ReferenceCase = Annotated[
    str | None,
    typer.Option(
        metavar="LABEL",
        help="Bench runs only: reference case. [default: the first in common]",
    ),
]
ComparedSteps = Annotated[
    int | None,
    typer.Option(help="Searches only: compare after so many steps. [default: as many as all have]"),
]


@app.command()
def compare(
    ctx: typer.Context,
    *,
    old: Annotated[
        str, typer.Argument(metavar="OLD[,OLD...]", help="Runs, or a file of `bench --json`.")
    ],
    new: Annotated[str, typer.Argument(metavar="NEW[,NEW...]", help="What to compare with them.")],
    metric: MetricName = None,
    basis: BasisName = None,
    reference: ReferenceCase = None,
    steps: ComparedSteps = None,
    minimum_effect: Annotated[
        float, typer.Option(metavar="SHARE", help="Smallest ratio that counts: 0.05 is 5 %.")
    ] = 0.05,
    return_margin: ReturnMargin = None,
    compliance_margin: ComplianceMargin = None,
    alpha: Annotated[float, typer.Option(help="Largest p value of a difference.")] = 0.05,
    inconclusive: Inconclusive = "ok",
    out: Runs = DEFAULT,
    md: Annotated[bool, typer.Option("--md", help="Answer in Markdown.")] = False,
    json: JsonFlag = False,
) -> None:
    """Compare two bench runs, or searches that are paired by their seeds.

    Exit codes: 1 something regressed, 5 something is not comparable, 4 something is inconclusive
    and --inconclusive is fail.
    """
    from wfbench.api import gating

    if md and wants_json(ctx, flag=json):
        raise UsageError("--md and --json are given; one answer is enough")
    found = gating.compare(
        _names(old),
        _names(new),
        metric=metric,
        basis=basis,
        reference=reference,
        steps=steps,
        minimum_effect=minimum_effect,
        return_margin=return_margin,
        compliance_margin=compliance_margin,
        alpha=alpha,
        inconclusive=inconclusive,
        out=out,
    )
    if not md:
        answer(ctx, found, json=json)
        return
    typer.echo(found.report("md"), nl=False)
    raise typer.Exit(found.exit_code)


def _names(given: str) -> list[str]:
    return [name.strip() for name in given.split(",") if name.strip()]
