"""The environment `cage2`: what wfbench lists without importing anything heavy."""

from __future__ import annotations

from itertools import product

from wfbench.contract import EnvSpec, Published, Reference, hookimpl

from .options import Cage2Options

_HERE = "wfbench_cage2.references"
_REFERENCES = (
    Reference("random", "each of the 145 actions equally likely", f"{_HERE}:uniform"),
    Reference("sleep", "does nothing", f"{_HERE}:Asleep"),
    Reference("reactive", "repairs what looks compromised", f"{_HERE}:Reactive"),
    Reference(
        "greedy-oracle",
        "sees the true state and fixes what the order puts first",
        f"{_HERE}:GreedyOracle",
        batched=f"{_HERE}:RevealedBatch",
    ),
)

_BOARD = "CAGE Challenge 2, final leader board (github.com/cage-challenge/cage-challenge-2)"
_PUBLISHED = tuple(
    Published(
        name,
        dict(zip(product(("bline", "meander"), (30, 50, 100)), returns, strict=True)),
        source=_BOARD,
        knew_red=False,
    )
    for name, returns in (
        ("CardiffUni (winner)", (-3.47, -6.41, -13.76, -5.64, -8.69, -16.6)),
        ("Keeping-it-RL", (-3.48, -5.85, -11.39, -6.47, -10.33, -19.38)),
    )
)


@hookimpl
def wfbench_envs() -> list[EnvSpec]:
    """Return the CAGE-2 environment."""
    return [
        EnvSpec(
            name="cage2",
            summary="CAGE Challenge 2, blue seat: exact rules, compiled",
            factory="wfbench_cage2.env:Cage2Env",
            batched="wfbench_cage2.batch:Cage2Batch",
            options=Cage2Options,
            positional="red",
            horizon="episode_steps",
            references=_REFERENCES,
            published=_PUBLISHED,
            capabilities=frozenset({"workflow", "true-state"}),
        )
    ]
