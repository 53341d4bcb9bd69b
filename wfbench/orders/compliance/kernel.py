"""The compiled passes over a rollout: grade fixes, shape rewards, count what chance would get.

Hosts are bits of a mask. `place[action]` is the position in the order of the unit type that the
action fixes, or -1. A row of the carry is one environment's unfinished episode; `Carry` names its
columns.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wfbench.orders.compliance.definitions import Idle, Rule
from wfbench.orders.compliance.ranking import Grader
from wfbench.policies.compiling import compiled, part

NEUTRAL = -1
VIOLATION = 0
COMPLIANT = 1
FORCED = 2
"""A fix that would count but left no choice, by a definition that grades choices only."""

DONE = -1
"""What `shape_pass` returns if it knew every action; else the first cell with an unknown one."""


class Carry(IntEnum):
    """Columns of an environment's counters."""

    COMPLIANT = 0
    COUNTED = 1
    FORCED = 2
    SECONDARY_COMPLIANT = 3
    SECONDARY_COUNTED = 4
    SECONDARY_FORCED = 5
    FIXES = 6
    WASTED = 7
    LENGTH = 8
    ENV_RETURN = 9
    ALIGNMENT = 10
    TOTAL = 11
    MAGNITUDE = 12
    """The sum of the rewards' absolute values, to which rounding errors are proportional."""
    TARGETED = 13
    """Bit p: a fix in this episode targeted the type at position p."""
    WEIGHT = 14
    """The weight of the alignment reward in this episode."""
    BROKEN = 15
    """1 if rows of this episode are missing."""
    NEXT_STEP = 16
    """The step after the last row seen; -1: no row was seen yet."""


_COMPLIANT, _COUNTED, _FORCED = int(Carry.COMPLIANT), int(Carry.COUNTED), int(Carry.FORCED)
_SECONDARY = int(Carry.SECONDARY_COMPLIANT)
_FIXES, _WASTED, _LENGTH = int(Carry.FIXES), int(Carry.WASTED), int(Carry.LENGTH)
_ENV_RETURN, _ALIGNMENT, _TOTAL = int(Carry.ENV_RETURN), int(Carry.ALIGNMENT), int(Carry.TOTAL)
_MAGNITUDE, _TARGETED, _WEIGHT = int(Carry.MAGNITUDE), int(Carry.TARGETED), int(Carry.WEIGHT)
_BROKEN, _NEXT_STEP = int(Carry.BROKEN), int(Carry.NEXT_STEP)
_RULE_FIRST, _RULE_TARGETED, _IDLE_NEUTRAL = int(Rule.FIRST), int(Rule.TARGETED), int(Idle.NEUTRAL)


class Rows(NamedTuple):
    """The arrays of a rollout that a pass reads, [T, N] each."""

    actions: NDArray[np.int64]
    rewards: NDArray[np.float32]
    terminated: NDArray[np.bool_]
    truncated: NDArray[np.bool_]
    compromised: NDArray[np.uint32]
    ended_session: NDArray[np.bool_]


class Results(NamedTuple):
    """What `shape_pass` fills in."""

    alignment: NDArray[np.float32]
    total: NDArray[np.float32]
    finished: NDArray[np.float64]
    """The counters of each episode that ended."""
    cells: NDArray[np.int64]
    """The cell, by row-major index, in which it ended."""


@part
def _grade(grader: Grader, order: int, mask: Any, targeted: int, action: int, ended: Any) -> int:
    """Grade a fix by a definition and one of its orders."""
    place = grader.place[order, action]
    if place < 0 or (grader.only_ending and not ended):
        return NEUTRAL
    if grader.rule == _RULE_TARGETED:
        before = (1 << place) - 1
        return COMPLIANT if targeted & before == before else VIOLATION
    first = -1
    hit = 0
    for position in range(grader.masks.shape[1]):
        if mask & grader.masks[order, position]:
            hit += 1
            if first < 0:
                first = position
    if hit == 0:
        return NEUTRAL if grader.idle == _IDLE_NEUTRAL else COMPLIANT
    if hit == 1 and grader.only_choices:
        return FORCED
    if grader.rule == _RULE_FIRST:
        return COMPLIANT if place == first else VIOLATION
    return COMPLIANT if place <= first else VIOLATION


@part
def _count(now: Any, first: int, grade: int) -> None:
    """Count a grade in three columns from `first` on: compliant, graded, forced."""
    if grade == FORCED:
        now[first + 2] += 1.0
    elif grade != NEUTRAL:
        now[first] += grade
        now[first + 1] += 1.0


@part
def _rate(now: Any, no_fix: float) -> float:
    """Return the compliance so far."""
    if now[_COUNTED] > 0.0:
        return float(now[_COMPLIANT] / now[_COUNTED])
    return 1.0 if now[_FORCED] > 0.0 else no_fix


@part
def _count_fix(
    now: Any, graders: Any, order: int, mask: Any, target: int, action: int, ended: Any
) -> None:
    """Count a fix by both definitions."""
    targeted = int(now[_TARGETED])
    grader, secondary = graders
    now[_FIXES] += 1.0
    if not ended:
        now[_WASTED] += 1.0
    _count(now, _COMPLIANT, _grade(grader, order, mask, targeted, action, ended))
    _count(now, _SECONDARY, _grade(secondary, order, mask, targeted, action, ended))
    now[_TARGETED] = targeted | (1 << target)


@compiled
def shape_pass(
    columns: Any,
    env_rows: Any,
    first_step: Any,
    rows: Rows,
    orders: Any,
    place: Any,
    graders: Any,
    weight: float,
    no_fix: float,
    carry: Any,
    results: Results,
) -> Any:
    """Shape every row, column by column; return DONE or a bad cell, and how many episodes ended.

    `orders[t, c]` is the order in force in that row, an index into the arrays of the graders. If a
    column does not continue where its environment stopped, rows are missing: the episode counts as
    broken and its counters are discarded.
    """
    steps, width = rows.actions.shape
    ends = 0
    for c in columns:
        now = carry[env_rows[c]]
        if now[_NEXT_STEP] >= 0 and now[_NEXT_STEP] != first_step[c]:
            now[:] = 0.0
            now[_BROKEN] = 1.0
        now[_NEXT_STEP] = first_step[c] + steps
        rate = _rate(now, no_fix)
        for t in range(steps):
            action = rows.actions[t, c]
            if action < 0 or action >= place.shape[1]:
                return t * width + c, ends
            if now[_LENGTH] == 0.0:
                now[_WEIGHT] = weight
            gain = 0.0
            order = orders[t, c]
            target = place[order, action]
            if target >= 0:
                mask, ended = rows.compromised[t, c], rows.ended_session[t, c]
                _count_fix(now, graders, order, mask, target, action, ended)
                new_rate = _rate(now, no_fix)
                gain = now[_WEIGHT] * new_rate - now[_WEIGHT] * rate
                rate = new_rate
            reward = rows.rewards[t, c]
            results.alignment[t, c] = gain
            results.total[t, c] = np.float64(reward) + gain
            now[_LENGTH] += 1.0
            now[_ENV_RETURN] += reward
            now[_ALIGNMENT] += results.alignment[t, c]
            now[_TOTAL] += results.total[t, c]
            now[_MAGNITUDE] += abs(reward) + abs(gain)
            if rows.terminated[t, c] or rows.truncated[t, c]:
                for column in range(len(now)):
                    results.finished[ends, column] = now[column]
                results.cells[ends] = t * width + c
                ends += 1
                now[:_NEXT_STEP] = 0.0
                rate = no_fix
    return DONE, ends


@compiled
def chance_pass(rows: Rows, place: Any, host_bit: Any, grader: Grader) -> Any:
    """Try every fix in every row's state; return how many were compliant and how many graded.

    A fix is taken to end a session if its host is compromised; `host_bit[action]` is that host,
    or no bit if nothing can end its sessions.
    """
    compliant = 0
    counted = 0
    for c in range(rows.actions.shape[1]):
        targeted = 0
        for t in range(rows.actions.shape[0]):
            mask = rows.compromised[t, c]
            for action in range(place.shape[1]):
                ended = (mask & host_bit[action]) != 0
                grade = _grade(grader, 0, mask, targeted, action, ended)
                if grade in (COMPLIANT, VIOLATION):
                    counted += 1
                    compliant += grade
            target = place[0, rows.actions[t, c]]
            if target >= 0:
                targeted |= 1 << target
            if rows.terminated[t, c] or rows.truncated[t, c]:
                targeted = 0
    return compliant, counted
