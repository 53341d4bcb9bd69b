"""`wfbench evaluate`."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wfbench.cli.session import JsonFlag, session, wants_json
from wfbench.contract import Order, UsageError
from wfbench.store.places import DEFAULT, MATRIX_FILE, find_run

if TYPE_CHECKING:
    from wfbench.plugins import PluginHost
    from wfbench.search.evaluation import CrossRow, Setup
    from wfbench.search.subjects import Subject

app = typer.Typer(add_completion=False, rich_markup_mode=None)

REDS = ("bline", "meander", "sleep")
HORIZONS = (30, 50, 100)
EPISODES = 1000
CROSS_EPISODES = 200
TRAINED = "trained"

Keep = Callable[[str, Mapping[str, Any]], None]
"""Called with the schema and the values of an answer."""


@app.command()
def evaluate(
    ctx: typer.Context,
    *,
    policy: Annotated[
        str,
        typer.Argument(
            metavar="POLICY", help="A policy.npz, a run, or a reference: random, sleep, reactive, …"
        ),
    ],
    horizon: Annotated[
        list[int] | None, typer.Option(help="Steps per episode. Repeatable. Default 30, 50, 100.")
    ] = None,
    red: Annotated[
        list[str] | None,
        typer.Option(help="Red agent. Repeatable. Default bline, meander, sleep."),
    ] = None,
    episodes: Annotated[
        int | None, typer.Option(min=1, help="Episodes per cell. Default 1000; 200 with --orders.")
    ] = None,
    greedy: Annotated[
        bool, typer.Option("--greedy", help="Always the most likely action; default: sampled.")
    ] = False,
    order: Annotated[
        str | None,
        typer.Option(help="Order to judge by, and for a reference to follow. Default: its own."),
    ] = None,
    orders: Annotated[
        str | None,
        typer.Option(
            metavar="all|trained|A,B,…",
            help="Give the policy other orders' codes and judge it by every order; `trained`: "
            "every policy of a run.",
        ),
    ] = None,
    definition: Annotated[
        str | None, typer.Option(help="What counts as compliance. Default: what it was trained on.")
    ] = None,
    env: Annotated[
        str | None,
        typer.Option(help="Where to play. Default: where it was trained; a reference in cage2."),
    ] = None,
    collector: Annotated[str, typer.Option(help="How to collect.")] = "vector",
    seed: Annotated[int, typer.Option(min=0, help="Which fresh seeds.")] = 0,
    save: Annotated[
        bool, typer.Option("--save", help="Keep the result with the run, for its report.")
    ] = False,
    out: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="Where runs are looked for.")
    ] = DEFAULT,
    json: JsonFlag = False,
) -> None:
    """Play a frozen policy on fresh seeds, and put the published results beside it."""
    from wfbench.compliance import DEFAULT as DEFAULT_DEFINITION
    from wfbench.search.evaluation import Setup
    from wfbench.search.subjects import REFERENCE_ENV, find_subject
    from wfbench.search.subjects import greedy as sharpened
    from wfbench.selection import select

    host = session(ctx).host()
    as_json = wants_json(ctx, flag=json)
    keep = _keeper(policy, out) if save else None
    followed = _order_for(host, env or REFERENCE_ENV, order)
    subject = find_subject(host, policy, out, env, followed)
    if greedy:
        subject = replace(subject, policy=sharpened(subject.policy))
    [chosen] = select(host, {"collector": [collector]})["collector"]
    setup = Setup(
        collector=chosen,
        episodes=episodes or (EPISODES if orders is None else CROSS_EPISODES),
        seed=seed,
        definition=definition or subject.trained_on or DEFAULT_DEFINITION,
    )
    if orders is None:
        judged = subject.order if order is None else _parsed(subject, order)
        _cells(subject, setup, judged, red or REDS, horizon or HORIZONS, keep, as_json=as_json)
        return
    if red or horizon:
        raise UsageError("--orders plays the environment as it is given; leave --red and --horizon")
    if orders == TRAINED:
        run = find_run(out, policy)
        _trained(host, run, env, setup, keep, as_json=as_json, sharp=greedy)
    else:
        _cross(subject, setup, orders, keep, as_json=as_json)


def _keeper(policy: str, out: Path) -> Keep:
    """Keeps answers with the run whose policy is played."""
    from wfbench.store.evaluations import save_evaluation

    given = Path(policy)
    try:
        run = given.parent if given.is_file() else find_run(out, policy)
    except UsageError:
        run = given
    if not (run / "config.json").exists():
        raise UsageError(f"--save keeps the result with a run, but {policy} is not of one")
    command = shlex.join(["wfbench", *sys.argv[1:]])

    def keep(schema: str, values: Mapping[str, Any]) -> None:
        save_evaluation(run, schema, {"command": command, **values})

    return keep


def _cells(
    subject: Subject,
    setup: Setup,
    order: Order | None,
    reds: Sequence[str],
    horizons: Sequence[int],
    keep: Keep | None,
    *,
    as_json: bool,
) -> None:
    from wfbench.compliance import BESIDE, find_definition
    from wfbench.orders import format_order
    from wfbench.report import run_evaluation as report
    from wfbench.report.console import console, print_json
    from wfbench.search.evaluation import evaluate as evaluated
    from wfbench.search.evaluation import grid
    from wfbench.store.event_log import plain

    units = subject.model().units
    judged = tuple(range(len(units))) if order is None else order
    cells = evaluated(subject, setup, judged, grid(subject, reds, horizons))
    board = subject.env.spec.name in report.BOARD_ENVS
    by = find_definition(setup.definition).id
    values = {"policy": subject.name, "env": subject.env.spec.name}
    values |= {"order": format_order(judged, units), "definition": by}
    values |= report.cells_json(cells, board=board) | {"seed": setup.seed}
    if keep is not None:
        keep("evaluation/1", plain(values))
    if as_json:
        print_json("evaluation/1", plain(values))
        return
    console().print(
        f"{subject.name} in {subject.env.spec.name}, judged by {format_order(judged, units)}, "
        f"compliance by {by}",
        soft_wrap=True,
    )
    report.show_cells(cells, BESIDE)
    if board:
        report.show_board(cells)


def _cross(
    subject: Subject, setup: Setup, orders: str, keep: Keep | None, *, as_json: bool
) -> None:
    from wfbench.orders import all_orders
    from wfbench.search.evaluation import cross_evaluate

    if subject.order is None:
        raise UsageError(f"{subject.name} follows no order, so none can be changed")
    judges = all_orders(len(subject.order))
    if orders == "all":
        codes: Sequence[Order] = judges
    else:
        codes = [_parsed(subject, part) for part in orders.split(",")]
    rows = cross_evaluate(subject, setup, codes, judges)
    _show_cross(subject, setup, rows, judges, keep, own=subject.order, as_json=as_json)


def _trained(
    host: PluginHost,
    run: Path,
    env: str | None,
    setup: Setup,
    keep: Keep | None,
    *,
    as_json: bool,
    sharp: bool,
) -> None:
    from wfbench.orders import all_orders
    from wfbench.search.evaluation import judge_all
    from wfbench.search.subjects import greedy, run_subjects

    if (run / MATRIX_FILE).exists():
        raise UsageError(f"{run} holds several runs; name one of them")
    subjects = run_subjects(host, run, env)
    if not subjects:
        raise UsageError(f"no workflow of {run} has finished")
    if sharp:
        subjects = [replace(subject, policy=greedy(subject.policy)) for subject in subjects]
    judges = all_orders(len(subjects[0].model().units))
    rows = judge_all(subjects, setup, judges)
    all_of_them = replace(subjects[0], name=f"every policy of {run.name}")
    _show_cross(all_of_them, setup, rows, judges, keep, own=None, as_json=as_json)


def _show_cross(
    subject: Subject,
    setup: Setup,
    rows: Sequence[CrossRow],
    judges: Sequence[Order],
    keep: Keep | None,
    *,
    own: Order | None,
    as_json: bool,
) -> None:
    from wfbench.compliance import find_definition
    from wfbench.report import run_evaluation as report
    from wfbench.report.console import print_json
    from wfbench.store.event_log import plain

    units = subject.model().units
    by = find_definition(setup.definition).id
    values: dict[str, Any] = {"policy": subject.name, "definition": by, "seed": setup.seed}
    values = plain(values | report.cross_json(rows, judges, units))
    if keep is not None:
        keep("cross-evaluation/1", values)
    if as_json:
        print_json("cross-evaluation/1", values)
    else:
        report.show_cross(rows, judges, units, own)


def _parsed(subject: Subject, text: str) -> Order:
    from wfbench.orders import parse_order

    return parse_order(text, subject.model().units)


def _order_for(host: PluginHost, env: str, text: str | None) -> Order:
    """The order a reference follows."""
    from wfbench.orders import parse_order
    from wfbench.search.job import workflow_model
    from wfbench.selection import env_ref, select

    [choice] = select(host, {"env": [env]})["env"]
    units = workflow_model(env_ref(choice)).units
    return tuple(range(len(units))) if text is None else parse_order(text, units)
