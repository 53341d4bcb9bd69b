"""`wfbench evaluate`."""

from __future__ import annotations

from typing import Annotated

import typer

from wfbench.cli.arguments import JsonFlag, Runs, Seed
from wfbench.cli.invocation import answer
from wfbench.store.places import DEFAULT

app = typer.Typer(add_completion=False, rich_markup_mode=None)

PolicySource = Annotated[
    str,
    typer.Argument(
        metavar="POLICY",
        help="A policy.npz, a run, or a reference of the environment: random, sleep, reactive.",
    ),
]
JudgingOrder = Annotated[
    str | None,
    typer.Option(
        help="Order to follow, for a joint policy or a reference; else the order to judge by. "
        "[default: its own; all in turn for a joint policy]"
    ),
]
GivenOrders = Annotated[
    str | None,
    typer.Option(
        metavar="all|trained|A,B,…",
        help="Give the policy the codes of these orders and judge it by every order. "
        "`trained`: judge every policy of a run.",
    ),
]
PlayEnv = Annotated[
    str | None,
    typer.Option(
        help="Environment to play in. [default: where it was trained; cage2 for a reference]"
    ),
]


@app.command()
def evaluate(
    ctx: typer.Context,
    *,
    policy: PolicySource,
    horizon: Annotated[
        list[int] | None, typer.Option(help="Steps per episode. Repeatable. [default: 30, 50, 100]")
    ] = None,
    red: Annotated[
        list[str] | None,
        typer.Option(help="Red agent. Repeatable. [default: bline, meander, sleep]"),
    ] = None,
    episodes: Annotated[
        int | None,
        typer.Option(min=1, help="Episodes per cell. [default: 1000; 200 with --orders]"),
    ] = None,
    greedy: Annotated[
        bool, typer.Option("--greedy", help="Always take the most likely action. Default: draw.")
    ] = False,
    order: JudgingOrder = None,
    orders: GivenOrders = None,
    stress: Annotated[
        int, typer.Option(min=0, help="Steps that blue is held in stress episodes; 0: none.")
    ] = 15,
    definition: Annotated[
        str | None,
        typer.Option(help="Definition of compliance. [default: what it was trained on]"),
    ] = None,
    env: PlayEnv = None,
    collector: Annotated[str, typer.Option(help="Collector.")] = "vector",
    seed: Seed = 0,
    save: Annotated[
        bool, typer.Option("--save", help="Keep the result with the run, for its report.")
    ] = False,
    out: Runs = DEFAULT,
    json: JsonFlag = False,
) -> None:
    """Play a frozen policy on fresh seeds, and compare it with published results."""
    from wfbench.api import evaluating

    found = evaluating.evaluate(
        policy,
        horizon=horizon,
        red=red,
        episodes=episodes,
        greedy=greedy,
        order=order,
        orders=orders,
        stress=stress,
        definition=definition,
        env=env,
        collector=collector,
        seed=seed,
        save=save,
        out=out,
    )
    answer(ctx, found, json=json)
