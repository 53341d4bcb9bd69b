"""`wfbench compare`."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from wfbench.cli.session import JsonFlag, wants_json
from wfbench.contract import NotComparableError, UsageError
from wfbench.store.places import DEFAULT, find_run, run_kind

if TYPE_CHECKING:
    from wfbench.bench.comparison import Comparison, Criteria

Basis = Literal["auto", "rate", "ratio"]

REGRESSED, INCONCLUSIVE, NOT_COMPARABLE = 1, 4, 5

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command()
def compare(
    ctx: typer.Context,
    *,
    old: Annotated[
        str, typer.Argument(metavar="OLD[,OLD...]", help="Runs, or a file of `bench --json`.")
    ],
    new: Annotated[str, typer.Argument(metavar="NEW[,NEW...]", help="What to compare with them.")],
    metric: Annotated[
        Literal["rate", "cpu", "memory", "start-up"],
        typer.Option(help="Of bench runs: what to compare."),
    ] = "rate",
    basis: Annotated[
        Basis,
        typer.Option(
            help="Of bench runs: multiples of a reference case, or figures as they are (same "
            "machine only). `auto`: multiples wherever there are two cases."
        ),
    ] = "auto",
    reference: Annotated[
        str | None,
        typer.Option(metavar="LABEL", help="The reference case [default: the first in common]."),
    ] = None,
    steps: Annotated[
        int | None,
        typer.Option(help="Of searches: at how many steps [default: as many as all have]."),
    ] = None,
    minimum_effect: Annotated[
        float, typer.Option(metavar="SHARE", help="The smallest ratio that matters: 0.05 is 5 %.")
    ] = 0.05,
    return_margin: Annotated[
        float | None,
        typer.Option(help="The smallest difference of returns that matters [default: 5 %]."),
    ] = None,
    compliance_margin: Annotated[
        float, typer.Option(help="The smallest difference of compliance that matters.")
    ] = 0.05,
    alpha: Annotated[float, typer.Option(help="The p value a difference must not exceed.")] = 0.05,
    inconclusive: Annotated[
        Literal["ok", "fail"], typer.Option(help="How to end where nothing can be said.")
    ] = "ok",
    out: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="Where runs are looked for.")
    ] = DEFAULT,
    md: Annotated[bool, typer.Option("--md", help="Answer in Markdown.")] = False,
    json: JsonFlag = False,
) -> None:
    """Compare two bench runs, or searches that are paired by their seeds.

    Ends with 1 if something regressed, 5 if something is not comparable, and 4 if something is
    inconclusive and --inconclusive is fail.
    """
    from wfbench.bench.comparison import Criteria

    for flag, value, limit in (
        ("--alpha", alpha, 1.0),
        ("--minimum-effect", minimum_effect, 10.0),
        ("--compliance-margin", compliance_margin, 1.0),
        ("--return-margin", return_margin, math.inf),
        ("--steps", steps, math.inf),
    ):
        if value is not None and not 0 < value < limit:
            below = "" if math.isinf(limit) else f" and below {limit:g}"
            raise UsageError(f"{flag} is {value:g}; it must be above 0{below}")
    criteria = Criteria(minimum_effect, alpha)
    sides = [_places(out, given) for given in (old, new)]
    kinds = {kind for side in sides for _, kind in side}
    if md and wants_json(ctx, flag=json):
        raise UsageError("--md and --json are given; one answer is enough")
    if kinds == {"bench"}:
        _refuse_unused(ctx, "bench runs", ("steps", "return_margin", "compliance_margin"))
        found = _benches(sides, metric, basis, reference, criteria)
    elif "bench" in kinds:
        raise NotComparableError("a bench run cannot be compared with a search")
    else:
        _refuse_unused(ctx, "searches", ("metric", "basis", "reference"))
        found = _searches(sides, steps, return_margin, compliance_margin, criteria)
    _show(found, md=md, as_json=wants_json(ctx, flag=json))
    code = _exit_code(found, strict=inconclusive == "fail")
    if code:
        raise typer.Exit(code)


Places = list[tuple[Path, Literal["bench", "search", "matrix"]]]


def _refuse_unused(ctx: typer.Context, what: str, options: tuple[str, ...]) -> None:
    for name in options:
        source = ctx.get_parameter_source(name)
        if source is not None and source.name != "DEFAULT":
            raise UsageError(f"--{name.replace('_', '-')} says nothing about {what}")


def _places(out: Path, given: str) -> Places:
    names = [name.strip() for name in given.split(",") if name.strip()]
    if not names:
        raise UsageError(f"{given!r} names no run")
    if len(set(names)) != len(names):
        raise UsageError(f"{given}: a run is given twice")
    places: Places = []
    for name in names:
        if Path(name).is_file() and not (out / name).is_dir():
            places.append((Path(name), "bench"))
        else:
            path = find_run(out, name)
            places.append((path, run_kind(path)))
    return places


def _benches(
    sides: list[Places], metric: str, basis: Basis, reference: str | None, criteria: Criteria
) -> Comparison:
    from wfbench.bench.comparison_bench import compare_sessions
    from wfbench.bench.comparison_sides import load_printed_side, load_run_side

    if any(len(side) > 1 for side in sides):
        raise UsageError("bench runs are compared one with one; give one run for each side")
    old, new = (
        load_printed_side(path) if path.is_file() else load_run_side(path) for [(path, _)] in sides
    )
    return compare_sessions(
        old, new, metric=metric, basis=basis, reference=reference, criteria=criteria
    )


def _searches(
    sides: list[Places],
    steps: int | None,
    return_margin: float | None,
    compliance_margin: float,
    criteria: Criteria,
) -> Comparison:
    from wfbench.bench.comparison_search import Margins, compare_searches

    return compare_searches(
        [path for path, _ in sides[0]],
        [path for path, _ in sides[1]],
        steps=steps,
        margins=Margins(return_margin, compliance_margin),
        criteria=criteria,
    )


def _show(found: Comparison, *, md: bool, as_json: bool) -> None:
    from wfbench.report.compare import comparison_data, comparison_markdown, show_comparison
    from wfbench.report.console import print_json
    from wfbench.store.event_log import plain

    if as_json:
        print_json("compare/1", plain(comparison_data(found)))
    elif md:
        typer.echo(comparison_markdown(found), nl=False)
    else:
        show_comparison(found)


def _exit_code(found: Comparison, *, strict: bool) -> int:
    from wfbench.bench.verdicts import Verdict

    if found.count(Verdict.REGRESSED):
        return REGRESSED
    if found.count(Verdict.NOT_COMPARABLE):
        return NOT_COMPARABLE
    return INCONCLUSIVE if strict and found.count(Verdict.INCONCLUSIVE) else 0
