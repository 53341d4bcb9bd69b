"""The loop at the heart of a collector: ask the policy, make a step, again."""

from __future__ import annotations

import math
from collections.abc import Iterator
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from wfbench.contract import Acts, CompiledStep, Policy, StepArrays, SteppingPolicy

from .buffer import RolloutBuffer, checked_acts
from .deadlines import refuse_late
from .draws import draw_blocks, draw_rows
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


def play_compiled(
    policy: SteppingPolicy,
    step: CompiledStep,
    buffer: RolloutBuffer,
    seeds: NDArray[np.uint64],
    first_step: int,
    phases: Phases,
    columns: slice = slice(None),
) -> Iterator[None]:
    """Play all steps; yield whenever some of them are made."""
    acts = Acts(*[buffer.arrays[name] for name in Acts._fields])
    out = StepArrays.among(buffer.arrays)
    done, asked = 0, perf_counter()
    for draws in draw_blocks(seeds, first_step, buffer.steps):
        env = policy.play(step, buffer.obs, draws, acts, out, done, columns)
        done += len(draws)
        answered = perf_counter()
        phases.env += env
        phases.inference += answered - asked - env
        yield
        asked = perf_counter()
