"""How red agents choose their next action from the result of the last."""

from __future__ import annotations

import numpy as np

from . import lookup
from .compiling import part
from .draws import PICK, UNRECORDED, Tape, count_bits, nth_member, on_tape, uniform
from .layout import AT, State
from .tables import OP_SERVER, Red, RedAction, Success

_FALSE, _TRUE, _ = map(int, Success)
_SLEEP, _DISCOVER_SYSTEMS, _DISCOVER_SERVICES, _EXPLOIT, _ESCALATE, _IMPACT = map(int, RedAction)
_BLINE, _MEANDER, _ = map(int, Red)
_LAST_INDEX = len(lookup.BLINE_KIND) - 1
_USER_SCAN = 1
_OP_SERVER_EXPLOIT = 12
_DRAWN_USER_HOST = -1
_ITS_NEXT_HOP = -2


@part
def pick(s: State, candidates: int, key: np.uint64, tape: Tape) -> int:
    """Draw a host of a non-empty set, uniformly."""
    recorded = on_tape(s, tape, PICK, candidates)
    if recorded != UNRECORDED:
        return recorded
    # A draw is below 1 and has 53 bits, so the product rounds to a number below the count.
    return nth_member(candidates, int(uniform(key, PICK) * count_bits(candidates)))


@part
def aim(s: State, kind: int, host: int, subnet: int) -> None:
    """Set the action to execute."""
    s[AT.red_type] = kind
    s[AT.red_host] = host
    s[AT.red_subnet] = subnet


@part
def bline_next_index(s: State) -> int:
    """Return the next index of B_line's plan."""
    a = s[AT.bline_a]
    if s[AT.red_success] != _TRUE:
        return lookup.BLINE_ON_FAILURE[a]
    following = min(a + 1, _LAST_INDEX)
    if following == _OP_SERVER_EXPLOIT and not s[AT.bline_has12] and s[AT.scan_empty]:
        return _USER_SCAN
    return following


@part
def bline_choose(s: State, key: np.uint64, tape: Tape) -> None:
    """Follow B_line's fixed plan towards Op_Server0, with fallbacks."""
    a = bline_next_index(s)
    s[AT.bline_a] = a
    if a == _OP_SERVER_EXPLOIT:
        s[AT.bline_has12] = 1
    if a == _USER_SCAN and s[AT.bline_u] < 0:
        s[AT.bline_u] = pick(s, lookup.BLINE_USER_HOSTS, key, tape)
    target = lookup.BLINE_TARGET[a]
    if lookup.BLINE_KIND[a] == _DISCOVER_SYSTEMS:
        aim(s, _DISCOVER_SYSTEMS, -1, target)
        return
    if target == _DRAWN_USER_HOST:
        target = s[AT.bline_u]
    elif target == _ITS_NEXT_HOP:
        target = lookup.NEXT_HOP[s[AT.bline_u]]
    aim(s, lookup.BLINE_KIND[a], target, -1)


@part
def meander_digest(s: State) -> None:
    """Learn from the result of the last action."""
    last_x = s[AT.mdr_last_x]
    if last_x >= 0:
        if s[AT.red_success] == _TRUE:
            s[AT.mdr_m] |= 1 << last_x
        else:
            s[AT.mdr_x] &= ~(1 << last_x)
            any_op = s[AT.mdr_l] & lookup.OP_HOSTS
            doubted = lookup.OP_HOSTS if any_op else lookup.ENTERPRISE_HOSTS
            if s[AT.mdr_l] & doubted:
                s[AT.mdr_l] &= ~doubted
                s[AT.mdr_x] &= ~doubted
        s[AT.mdr_last_x] = -1
    last_h = s[AT.mdr_last_h]
    if last_h >= 0:
        if s[AT.red_success] == _FALSE:
            s[AT.mdr_l] &= ~(1 << last_h)
            if s[AT.mdr_m] >> last_h & 1:
                s[AT.mdr_x] &= ~(1 << last_h)
        s[AT.mdr_last_h] = -1


@part
def meander_choose(s: State, key: np.uint64, tape: Tape) -> None:
    """Let Meander sweep, scan, escalate and exploit what it knows, and Impact when it can."""
    meander_digest(s)
    if s[AT.mdr_l] >> OP_SERVER & 1:
        s[AT.mdr_last_h] = OP_SERVER
        aim(s, _IMPACT, OP_SERVER, -1)
        return
    unswept = s[AT.ksub] & ~s[AT.mdr_s]
    if unswept:
        subnet = nth_member(unswept, 0)
        s[AT.mdr_s] |= 1 << subnet
        aim(s, _DISCOVER_SYSTEMS, -1, subnet)
        return
    unscanned = s[AT.kip] & ~s[AT.mdr_p]
    if unscanned:
        h = pick(s, unscanned, key, tape)
        s[AT.mdr_p] |= 1 << h
        aim(s, _DISCOVER_SERVICES, h, -1)
        return
    lost = s[AT.mdr_m] & ~s[AT.mdr_x]
    escalatable = s[AT.khost] & ~s[AT.mdr_l] & ~lost
    if escalatable:
        h = pick(s, escalatable, key, tape)
        s[AT.mdr_l] |= 1 << h
        s[AT.mdr_last_h] = h
        aim(s, _ESCALATE, h, -1)
        return
    h = pick(s, s[AT.kip] & ~s[AT.mdr_x] & lookup.ALL_HOSTS, key, tape)
    s[AT.mdr_x] |= 1 << h
    s[AT.mdr_last_x] = h
    aim(s, _EXPLOIT, h, -1)


@part
def red_choose(s: State, key: np.uint64, tape: Tape) -> None:
    """Let this episode's red agent choose."""
    if s[AT.red] == _BLINE:
        bline_choose(s, key, tape)
    elif s[AT.red] == _MEANDER:
        meander_choose(s, key, tape)
    else:
        aim(s, _SLEEP, -1, -1)
