"""How the red agents choose their next action, from the result of their last."""

from __future__ import annotations

import numpy as np

from .compiling import rule
from .draws import PICK, UNRECORDED, count_bits, nth_member, uniform
from .layout import (
    BLINE_A,
    BLINE_HAS12,
    BLINE_U,
    KHOST,
    KIP,
    KSUB,
    MDR_L,
    MDR_LAST_H,
    MDR_LAST_X,
    MDR_M,
    MDR_P,
    MDR_S,
    MDR_X,
    RED,
    RED_HOST,
    RED_SUBNET,
    RED_SUCCESS,
    RED_TYPE,
    SCAN_EMPTY,
    TAPE_ERROR,
)
from .lookup import (
    ALL_HOSTS,
    BLINE_KIND,
    BLINE_ON_FAILURE,
    BLINE_TARGET,
    BLINE_USER_HOSTS,
    ENTERPRISE_HOSTS,
    NEXT_HOP,
    OP_HOSTS,
)
from .rules_blue import State
from .rules_red import Tape
from .tables import OP_SERVER, Red, RedAction, Success

_FALSE = int(Success.FALSE)
_TRUE = int(Success.TRUE)
_SLEEP = int(RedAction.SLEEP)
_DISCOVER_SYSTEMS = int(RedAction.DISCOVER_REMOTE_SYSTEMS)
_DISCOVER_SERVICES = int(RedAction.DISCOVER_NETWORK_SERVICES)
_EXPLOIT = int(RedAction.EXPLOIT_REMOTE_SERVICE)
_ESCALATE = int(RedAction.PRIVILEGE_ESCALATE)
_IMPACT = int(RedAction.IMPACT)
_BLINE = int(Red.BLINE)
_MEANDER = int(Red.MEANDER)
_LAST_INDEX = len(BLINE_KIND) - 1
_USER_SCAN = 1
_OP_SERVER_EXPLOIT = 12
_DRAWN_USER_HOST = -1
_ITS_NEXT_HOP = -2


@rule
def pick(s: State, candidates: int, key: np.uint64, tape: Tape) -> int:
    """One of a non-empty set of hosts, uniformly."""
    if tape[PICK] != UNRECORDED:
        recorded = tape[PICK]
        if recorded >= 0 and candidates >> recorded & 1:
            return recorded
        s[TAPE_ERROR] = 1
        return nth_member(candidates, 0)
    count = count_bits(candidates)
    return nth_member(candidates, min(int(uniform(key, PICK) * count), count - 1))


@rule
def aim(s: State, kind: int, host: int, subnet: int) -> None:
    """Set the action that will be executed."""
    s[RED_TYPE] = kind
    s[RED_HOST] = host
    s[RED_SUBNET] = subnet


@rule
def bline_next_index(s: State) -> int:
    """Where B_line's plan goes on."""
    a = s[BLINE_A]
    if s[RED_SUCCESS] != _TRUE:
        return BLINE_ON_FAILURE[a]
    following = min(a + 1, _LAST_INDEX)
    if following == _OP_SERVER_EXPLOIT and not s[BLINE_HAS12] and s[SCAN_EMPTY]:
        return _USER_SCAN
    return following


@rule
def bline_choose(s: State, key: np.uint64, tape: Tape) -> None:
    """B_line: a fixed plan with fallbacks, towards Op_Server0."""
    a = bline_next_index(s)
    s[BLINE_A] = a
    if a == _OP_SERVER_EXPLOIT:
        s[BLINE_HAS12] = 1
    if a == _USER_SCAN and s[BLINE_U] < 0:
        s[BLINE_U] = pick(s, BLINE_USER_HOSTS, key, tape)
    target = BLINE_TARGET[a]
    if BLINE_KIND[a] == _DISCOVER_SYSTEMS:
        aim(s, _DISCOVER_SYSTEMS, -1, target)
        return
    if target == _DRAWN_USER_HOST:
        target = s[BLINE_U]
    elif target == _ITS_NEXT_HOP:
        target = NEXT_HOP[s[BLINE_U]]
    aim(s, BLINE_KIND[a], target, -1)


@rule
def meander_forget(s: State, hosts: int) -> None:
    """Drop hosts from what Meander takes for escalated and exploited."""
    s[MDR_L] &= ~hosts
    s[MDR_X] &= ~hosts


@rule
def meander_digest(s: State) -> None:
    """Learn from the result of the last action."""
    last_x = s[MDR_LAST_X]
    if last_x >= 0:
        if s[RED_SUCCESS] == _TRUE:
            s[MDR_M] |= 1 << last_x
        else:
            s[MDR_X] &= ~(1 << last_x)
            if s[MDR_L] & OP_HOSTS:
                meander_forget(s, OP_HOSTS)
            elif s[MDR_L] & ENTERPRISE_HOSTS:
                meander_forget(s, ENTERPRISE_HOSTS)
        s[MDR_LAST_X] = -1
    last_h = s[MDR_LAST_H]
    if last_h >= 0:
        if s[RED_SUCCESS] == _FALSE:
            s[MDR_L] &= ~(1 << last_h)
            if s[MDR_M] >> last_h & 1:
                s[MDR_X] &= ~(1 << last_h)
        s[MDR_LAST_H] = -1


@rule
def meander_choose(s: State, key: np.uint64, tape: Tape) -> None:
    """Meander: sweep, scan, escalate and exploit whatever is known, and Impact when it can."""
    meander_digest(s)
    if s[MDR_L] >> OP_SERVER & 1:
        s[MDR_LAST_H] = OP_SERVER
        aim(s, _IMPACT, OP_SERVER, -1)
        return
    unswept = s[KSUB] & ~s[MDR_S]
    if unswept:
        subnet = nth_member(unswept, 0)
        s[MDR_S] |= 1 << subnet
        aim(s, _DISCOVER_SYSTEMS, -1, subnet)
        return
    unscanned = s[KIP] & ~s[MDR_P]
    if unscanned:
        h = pick(s, unscanned, key, tape)
        s[MDR_P] |= 1 << h
        aim(s, _DISCOVER_SERVICES, h, -1)
        return
    lost = s[MDR_M] & ~s[MDR_X]
    escalatable = s[KHOST] & ~s[MDR_L] & ~lost
    if escalatable:
        h = pick(s, escalatable, key, tape)
        s[MDR_L] |= 1 << h
        s[MDR_LAST_H] = h
        aim(s, _ESCALATE, h, -1)
        return
    h = pick(s, s[KIP] & ~s[MDR_X] & ALL_HOSTS, key, tape)
    s[MDR_X] |= 1 << h
    s[MDR_LAST_X] = h
    aim(s, _EXPLOIT, h, -1)


@rule
def red_choose(s: State, key: np.uint64, tape: Tape) -> None:
    """Let this episode's red agent choose."""
    if s[RED] == _BLINE:
        bline_choose(s, key, tape)
    elif s[RED] == _MEANDER:
        meander_choose(s, key, tape)
    else:
        aim(s, _SLEEP, -1, -1)
