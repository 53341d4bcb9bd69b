"""The compiled passes over a rollout: one judge, used to shape rewards and to count chances.

Hosts are bits; `masks[p]` are the hosts whose unit type has position p in the order, as far as the
definition looks at them. `place[action]` is the position of the type that the action fixes, or -1;
`own` is the same as the definition sees it.
A row of the carry is one environment's unfinished episode, `Carry` naming its columns.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np
from numba import njit

NEUTRAL = -1
VIOLATION = 0
COMPLIANT = 1
FORCED = 2
"""A fix that would count, but was made without a choice, by a definition that grades choices."""

DONE = -1
"""What `shape_pass` returns when every action was known; else the first cell that was not."""


class Carry(IntEnum):
    """Columns of an environment's counters."""

    COMPLIANT = 0
    COUNTED = 1
    FORCED = 2
    BESIDE_COMPLIANT = 3
    BESIDE_COUNTED = 4
    BESIDE_FORCED = 5
    FIXES = 6
    WASTED = 7
    LENGTH = 8
    ENV_RETURN = 9
    ALIGNMENT = 10
    TOTAL = 11
    MAGNITUDE = 12
    """The sum of the rewards' absolute values: what rounding errors are proportional to."""
    TARGETED = 13
    """Bit p: the type at position p was the target of a fix in this episode."""
    BROKEN = 14
    """1 if rows of this episode were never seen."""
    NEXT_STEP = 15
    """The step that follows the last row seen; -1: nothing was seen yet."""


class Flag(IntEnum):
    """Elements of a definition's `flags`."""

    RULE = 0
    IDLE = 1
    ONLY_ENDING = 2
    ONLY_CHOICES = 3


_COMPLIANT, _BESIDE = int(Carry.COMPLIANT), int(Carry.BESIDE_COMPLIANT)
_FIXES, _WASTED, _LENGTH = int(Carry.FIXES), int(Carry.WASTED), int(Carry.LENGTH)
_ENV_RETURN, _ALIGNMENT, _TOTAL = int(Carry.ENV_RETURN), int(Carry.ALIGNMENT), int(Carry.TOTAL)
_MAGNITUDE, _TARGETED = int(Carry.MAGNITUDE), int(Carry.TARGETED)
_BROKEN, _NEXT_STEP = int(Carry.BROKEN), int(Carry.NEXT_STEP)
_RULE, _IDLE = int(Flag.RULE), int(Flag.IDLE)
_ONLY_ENDING, _ONLY_CHOICES = int(Flag.ONLY_ENDING), int(Flag.ONLY_CHOICES)
_RULE_FIRST, _RULE_NONE_BEFORE, _IDLE_NEUTRAL = 0, 1, 1


@njit(nogil=True, cache=True)
def _judge(flags: Any, masks: Any, mask: Any, targeted: int, place: int, ended: Any) -> int:
    """What a fix of the type at `place` is by a definition."""
    if place < 0 or (flags[_ONLY_ENDING] and not ended):
        return NEUTRAL
    if flags[_RULE] > _RULE_NONE_BEFORE:
        before = (1 << place) - 1
        return COMPLIANT if targeted & before == before else VIOLATION
    first = -1
    hit = 0
    for position in range(len(masks)):
        if mask & masks[position]:
            hit += 1
            if first < 0:
                first = position
    if hit == 0:
        return NEUTRAL if flags[_IDLE] == _IDLE_NEUTRAL else COMPLIANT
    if hit == 1 and flags[_ONLY_CHOICES]:
        return FORCED
    if flags[_RULE] == _RULE_FIRST:
        return COMPLIANT if place == first else VIOLATION
    return COMPLIANT if place <= first else VIOLATION


@njit(nogil=True, cache=True)
def _note(counters: Any, verdict: int) -> None:
    """Count a verdict: compliant, graded, forced."""
    if verdict == FORCED:
        counters[2] += 1.0
    elif verdict != NEUTRAL:
        counters[0] += verdict
        counters[1] += 1.0


@njit(nogil=True, cache=True)
def _rate(counters: Any, no_fix: float) -> float:
    """Compliance so far."""
    if counters[1] > 0.0:
        return float(counters[0] / counters[1])
    return 1.0 if counters[2] > 0.0 else no_fix


@njit(nogil=True, cache=True)
def shape_pass(
    columns: Any,
    env_rows: Any,
    first_step: Any,
    actions: Any,
    rewards: Any,
    terminated: Any,
    truncated: Any,
    compromised: Any,
    ended_session: Any,
    place: Any,
    flags: Any,
    masks: Any,
    own: Any,
    beside_flags: Any,
    beside_masks: Any,
    beside_own: Any,
    weight: float,
    no_fix: float,
    carry: Any,
    alignment: Any,
    total: Any,
    finished: Any,
    cells: Any,
) -> Any:
    """Shape every row, column by column; returns (DONE or a bad cell, how many episodes ended).

    Counters of ended episodes go to `finished`, one row each, and the cell they ended in to
    `cells`. A column whose first step is not the one its environment was left at breaks the
    episode: what was counted of it is forgotten.
    """
    steps, width = actions.shape
    ends = 0
    for c in columns:
        now = carry[env_rows[c]]
        if now[_NEXT_STEP] >= 0 and now[_NEXT_STEP] != first_step[c]:
            now[:] = 0.0
            now[_BROKEN] = 1.0
        now[_NEXT_STEP] = first_step[c] + steps
        counters = now[_COMPLIANT : _COMPLIANT + 3]
        beside = now[_BESIDE : _BESIDE + 3]
        rate = _rate(counters, no_fix)
        for t in range(steps):
            action = actions[t, c]
            if action < 0 or action >= len(place):
                return t * width + c, ends
            gain = 0.0
            target = place[action]
            if target >= 0:
                mask, ended = compromised[t, c], ended_session[t, c]
                targeted = int(now[_TARGETED])
                now[_FIXES] += 1.0
                if not ended:
                    now[_WASTED] += 1.0
                _note(counters, _judge(flags, masks, mask, targeted, own[action], ended))
                new_rate = _rate(counters, no_fix)
                gain = weight * new_rate - weight * rate
                rate = new_rate
                verdict = _judge(
                    beside_flags, beside_masks, mask, targeted, beside_own[action], ended
                )
                _note(beside, verdict)
                now[_TARGETED] = targeted | (1 << target)
            reward = rewards[t, c]
            alignment[t, c] = gain
            total[t, c] = np.float64(reward) + gain
            now[_LENGTH] += 1.0
            now[_ENV_RETURN] += reward
            now[_ALIGNMENT] += alignment[t, c]
            now[_TOTAL] += total[t, c]
            now[_MAGNITUDE] += abs(reward) + abs(gain)
            if terminated[t, c] or truncated[t, c]:
                finished[ends] = now
                cells[ends] = t * width + c
                ends += 1
                now[:_NEXT_STEP] = 0.0
                rate = no_fix
    return DONE, ends


@njit(nogil=True, cache=True)
def chance_pass(
    columns: Any,
    actions: Any,
    terminated: Any,
    truncated: Any,
    compromised: Any,
    place: Any,
    host_bit: Any,
    flags: Any,
    masks: Any,
    own: Any,
) -> Any:
    """Of all fixes that could be made in the rows' states: (compliant, graded).

    A fix is taken to end a session where its host is compromised; `host_bit[action]` is that host,
    or no bit for one whose sessions nothing can end.
    """
    steps = actions.shape[0]
    compliant = 0
    counted = 0
    for c in columns:
        targeted = 0
        for t in range(steps):
            mask = compromised[t, c]
            for action in range(len(place)):
                ended = (mask & host_bit[action]) != 0
                verdict = _judge(flags, masks, mask, targeted, own[action], ended)
                if verdict in (COMPLIANT, VIOLATION):
                    counted += 1
                    compliant += verdict
            if place[actions[t, c]] >= 0:
                targeted |= 1 << place[actions[t, c]]
            if terminated[t, c] or truncated[t, c]:
                targeted = 0
    return compliant, counted
