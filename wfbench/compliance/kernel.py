"""The compiled passes over a rollout: one judge, used to shape rewards and to count chances.

Hosts are bits; `masks[p]` are the hosts whose unit type has position p in the order, as far as the
definition looks at them. `place[action]` is the position of the type that the action fixes, or -1.
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

DONE = -1
"""What `shape_pass` returns when every action was known; else the first cell that was not."""


class Carry(IntEnum):
    """Columns of an environment's counters."""

    COMPLIANT = 0
    COUNTED = 1
    BESIDE_COMPLIANT = 2
    BESIDE_COUNTED = 3
    FIXES = 4
    WASTED = 5
    LENGTH = 6
    ENV_RETURN = 7
    ALIGNMENT = 8
    TOTAL = 9
    MAGNITUDE = 10
    """The sum of the rewards' absolute values: what rounding errors are proportional to."""
    TARGETED = 11
    """Bit p: the type at position p was the target of a fix in this episode."""
    BROKEN = 12
    """1 if rows of this episode were never seen."""
    NEXT_STEP = 13
    """The step that follows the last row seen; -1: nothing was seen yet."""


class Flag(IntEnum):
    """Elements of a definition's `flags`."""

    RULE = 0
    IDLE = 1
    ONLY_ENDING = 2


_COMPLIANT, _COUNTED = int(Carry.COMPLIANT), int(Carry.COUNTED)
_BESIDE_COMPLIANT, _BESIDE_COUNTED = int(Carry.BESIDE_COMPLIANT), int(Carry.BESIDE_COUNTED)
_FIXES, _WASTED, _LENGTH = int(Carry.FIXES), int(Carry.WASTED), int(Carry.LENGTH)
_ENV_RETURN, _ALIGNMENT, _TOTAL = int(Carry.ENV_RETURN), int(Carry.ALIGNMENT), int(Carry.TOTAL)
_MAGNITUDE, _TARGETED = int(Carry.MAGNITUDE), int(Carry.TARGETED)
_BROKEN, _NEXT_STEP = int(Carry.BROKEN), int(Carry.NEXT_STEP)
_RULE, _IDLE, _ONLY_ENDING = int(Flag.RULE), int(Flag.IDLE), int(Flag.ONLY_ENDING)
_RULE_FIRST, _RULE_NONE_BEFORE, _IDLE_NEUTRAL = 0, 1, 1


@njit(nogil=True, cache=True)
def _judge(flags: Any, masks: Any, mask: Any, targeted: int, place: int, ended: Any) -> int:
    """What a fix of the type at `place` is by a definition."""
    if flags[_ONLY_ENDING] and not ended:
        return NEUTRAL
    if flags[_RULE] > _RULE_NONE_BEFORE:
        before = (1 << place) - 1
        return COMPLIANT if targeted & before == before else VIOLATION
    for position in range(len(masks)):
        if mask & masks[position]:
            if flags[_RULE] == _RULE_FIRST:
                return COMPLIANT if place == position else VIOLATION
            return COMPLIANT if place <= position else VIOLATION
    return NEUTRAL if flags[_IDLE] == _IDLE_NEUTRAL else COMPLIANT


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
    beside_flags: Any,
    beside_masks: Any,
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
        rate = now[_COMPLIANT] / now[_COUNTED] if now[_COUNTED] else no_fix
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
                verdict = _judge(flags, masks, mask, targeted, target, ended)
                if verdict != NEUTRAL:
                    now[_COUNTED] += 1.0
                    now[_COMPLIANT] += verdict
                    new_rate = now[_COMPLIANT] / now[_COUNTED]
                    gain = weight * new_rate - weight * rate
                    rate = new_rate
                verdict = _judge(beside_flags, beside_masks, mask, targeted, target, ended)
                if verdict != NEUTRAL:
                    now[_BESIDE_COUNTED] += 1.0
                    now[_BESIDE_COMPLIANT] += verdict
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
) -> Any:
    """Of all fixes that could be made in the rows' states: (compliant, counted).

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
                if place[action] >= 0:
                    ended = (mask & host_bit[action]) != 0
                    verdict = _judge(flags, masks, mask, targeted, place[action], ended)
                    if verdict != NEUTRAL:
                        counted += 1
                        compliant += verdict
            if place[actions[t, c]] >= 0:
                targeted |= 1 << place[actions[t, c]]
            if terminated[t, c] or truncated[t, c]:
                targeted = 0
    return compliant, counted
