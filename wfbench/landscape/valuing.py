"""What an order is worth: its return, its compliance, or how soon it is learned."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Literal

from wfbench.landscape.records import Landscape, Replicate

Value = Literal["return", "compliance", "steps"]

UNITS: dict[Value, str] = {
    "return": "points of return",
    "compliance": "per cent of compliance",
    "steps": "thousand environment steps to compliance",
}


def valued_by(landscape: Landscape, value: Value) -> Landscape:
    """The same trainings with another score; more is better, so steps count below zero.

    A training that never complied counts as the steps it was given: at least as many were needed,
    so differences between slow orders are understated. Failed trainings stay failed.
    """
    worth = _WORTH[value]
    replicates = tuple(
        tuple(
            replace(one, score=worth(one)) if math.isfinite(one.score) else one for one in of_order
        )
        for of_order in landscape.replicates
    )
    return replace(landscape, replicates=replicates)


def _less_steps(one: Replicate) -> float:
    steps = one.env_steps if one.steps_to_compliance is None else one.steps_to_compliance
    return -steps / 1_000


_WORTH: dict[Value, Callable[[Replicate], float]] = {
    "return": lambda one: one.score,
    "compliance": lambda one: 100.0 * one.compliance,
    "steps": _less_steps,
}
