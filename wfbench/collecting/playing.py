"""The loop at the heart of a collector: ask the policy, make a step, again."""

from __future__ import annotations

import math
from collections.abc import Iterator
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from wfbench.contract import Policy, StepArrays

from .buffer import RolloutBuffer, checked_acts
from .deadlines import refuse_late
from .draws import draw_rows
from .phases import Phases


def play(
    policy: Policy,
    buffer: RolloutBuffer,
    seeds: NDArray[np.uint64],
    first_step: int,
    phases: Phases,
    *,
    num_actions: int,
    check: bool,
    columns: slice = slice(None),
    limit: float = math.inf,
    what: str = "a step",
) -> Iterator[tuple[NDArray[np.int64], StepArrays]]:
    """Yield for each step the policy's actions and where to write what comes of them.

    The caller makes the step before it asks for the next one. Its time is counted as `env` of
    `phases`, the policy's as `inference`. A step that took longer than `limit` seconds raises a
    DeadlineError that names it as `what`.
    """
    count, draws = len(seeds), draw_rows(seeds, first_step, buffer.steps)
    for obs, into, out in buffer.each_step(columns):
        asked = perf_counter()
        acts = checked_acts(policy.act(obs, next(draws)), count, num_actions, check=check)
        into.actions[:], into.log_probs[:], into.values[:] = acts
        answered = perf_counter()
        yield into.actions, out
        stepped = perf_counter()
        phases.inference += answered - asked
        phases.env += stepped - answered
        refuse_late(stepped - answered, limit, what)
