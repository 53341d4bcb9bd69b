"""Blue's actions, and what blue gets to see."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .compiling import rule
from .layout import (
    ALERT,
    ALERT_HOST,
    ANALYSED,
    BLUE_ACTION,
    BLUE_SUCCESS,
    COMP,
    DEC,
    ENDED_SESSION,
    LAST_ALARM,
    MAL,
    OT_ACTIVE,
    OT_PID,
    OT_STOPPED,
    OTH,
    OWNED,
    PLANTED,
    ROOT,
    ROOTED,
    SEEN_EXPLOIT,
    SUS,
    VSFTPD,
)
from .lookup import (
    BASE_PORTS,
    CONFIDENTIALITY,
    DECOY_CHECKS,
    DECOY_FITS,
    DECOY_PORTS,
    GREEDY_DECOYS,
    MEMORY_DECOY_HOST,
    MEMORY_DECOY_KIND,
    OBS_WORD,
    OT_COST,
)
from .tables import (
    ANALYSE,
    DECOY,
    FOOTHOLD,
    MEMORY_STEPS,
    MONITOR,
    NUM_HOSTS,
    OP_SERVER,
    REMOVE,
    RESTORE,
    RESTORE_COST,
    Activity,
    Belief,
    Decoy,
    Success,
)

State = NDArray[np.int16]

MEMORY_SIZE = len(MEMORY_DECOY_HOST) + 2 * NUM_HOSTS + 1 + MEMORY_STEPS
"""How many features `write_memory` writes."""

COUNT_LIMIT = 30_000
"""Counts stop here: beyond presence they change nothing, and they must not overflow."""

_VSFTPD_KIND = int(Decoy.VSFTPD)
_FALSE = int(Success.FALSE)
_TRUE = int(Success.TRUE)
_UNKNOWN = int(Success.UNKNOWN)
_NO = int(Belief.NO)
_BELIEF_UNKNOWN = int(Belief.UNKNOWN)
_BELIEF_USER = int(Belief.USER)
_PRIVILEGED = int(Belief.PRIVILEGED)
_NO_ACTIVITY = int(Activity.NONE)
_EXPLOIT_SEEN = int(Activity.EXPLOIT)


@rule
def note_sessions(s: State, h: int) -> None:
    """Keep the sets `owned` and `rooted` true after a session count of h changed."""
    bit = 1 << h
    if s[ROOT + h] > 0:
        s[ROOTED] |= bit
        s[OWNED] |= bit
    else:
        s[ROOTED] &= ~bit
        if s[SUS + h] > 0 or s[OTH + h] > 0:
            s[OWNED] |= bit
        else:
            s[OWNED] &= ~bit


@rule
def ports(s: State, h: int) -> int:
    """Ports open on h now: its own and those of its decoys."""
    return BASE_PORTS[h] | DECOY_PORTS[s[DEC + h]]


@rule
def analyse(s: State, h: int) -> int:
    """Look for high-density files; what is found is shown after red's action."""
    if s[MAL] >> h & 1:
        s[ANALYSED] = h
    return _TRUE


@rule
def remove(s: State, h: int) -> int:
    """End the user-level sessions whose process blue has seen. Says TRUE whatever it did."""
    if s[SUS + h] > 0:
        s[ENDED_SESSION] = 1
        s[SUS + h] = 0
        note_sessions(s, h)
    return _TRUE


@rule
def restore(s: State, h: int) -> int:
    """Bring a host back to its first image; the foothold comes back with it."""
    keeps = 1 if h == FOOTHOLD else 0
    if s[SUS + h] > 0 or s[OTH + h] > 0 or s[ROOT + h] > keeps:
        s[ENDED_SESSION] = 1
    s[SUS + h] = 0
    s[OTH + h] = 0
    s[ROOT + h] = keeps
    note_sessions(s, h)
    s[DEC + h] = 0
    s[VSFTPD + h] = 0
    s[MAL] &= ~(1 << h)
    if h == OP_SERVER:
        s[OT_STOPPED] = 0
        s[OT_ACTIVE] = 1
        s[OT_PID] = 0
    return _TRUE


@rule
def plant(s: State, kind: int, h: int) -> int:
    """Plant a decoy if its operating system fits and the port it checks is free."""
    if not DECOY_FITS[kind, h] or ports(s, h) & DECOY_CHECKS[kind]:
        return _FALSE
    s[DEC + h] |= 1 << kind
    if kind == _VSFTPD_KIND and s[VSFTPD + h] < COUNT_LIMIT:
        s[VSFTPD + h] += 1
    s[PLANTED] = h
    return _TRUE


@rule
def blue_turn(s: State, action: int) -> None:
    """Execute blue's action. `action` is within 0..144."""
    s[BLUE_ACTION] = action
    s[PLANTED] = -1
    s[ANALYSED] = -1
    s[ENDED_SESSION] = 0
    if action >= RESTORE:
        s[BLUE_SUCCESS] = restore(s, action - RESTORE)
    elif action >= DECOY:
        s[BLUE_SUCCESS] = plant(s, (action - DECOY) // NUM_HOSTS, (action - DECOY) % NUM_HOSTS)
    elif action >= REMOVE:
        s[BLUE_SUCCESS] = remove(s, action - REMOVE)
    elif action >= ANALYSE:
        s[BLUE_SUCCESS] = analyse(s, action - ANALYSE)
    else:
        s[BLUE_SUCCESS] = _TRUE if action else _UNKNOWN


@rule
def reward_tenths(s: State) -> int:
    """Blue's reward for the state as it is now, in tenths."""
    cost = OT_COST * s[OT_STOPPED]
    rooted = s[ROOTED]
    h = 0
    while rooted:
        if rooted & 1:
            cost += CONFIDENTIALITY[h]
        rooted >>= 1
        h += 1
    if s[BLUE_ACTION] >= RESTORE:
        cost += RESTORE_COST
    return -cost


@rule
def update_belief(s: State) -> None:
    """Update blue's table: its own action first, then alerts, then what Analyse found."""
    action = s[BLUE_ACTION]
    if action >= RESTORE:
        s[COMP + action - RESTORE] = _NO
    elif REMOVE <= action < DECOY and s[COMP + action - REMOVE] != _NO:
        s[COMP + action - REMOVE] = _BELIEF_UNKNOWN
    if s[ALERT] == _EXPLOIT_SEEN:
        s[COMP + s[ALERT_HOST]] = _BELIEF_USER
    if s[ANALYSED] >= 0:
        s[COMP + s[ANALYSED]] = _PRIVILEGED


@rule
def concrete_action(s: State, action: int) -> int:
    """An action of the table as one of the 145; a macro becomes the best decoy that fits now."""
    if action >= 0:
        return action
    h = -1 - action
    for kind in GREEDY_DECOYS:
        if DECOY_FITS[kind, h] and not ports(s, h) & DECOY_CHECKS[kind]:
            return DECOY + NUM_HOSTS * kind + h
    return MONITOR


@rule
def remember(s: State) -> None:
    """Keep what blue will still know of this step's alerts."""
    if s[ALERT] != _NO_ACTIVITY:
        s[LAST_ALARM] = s[ALERT_HOST]
        if s[ALERT] == _EXPLOIT_SEEN:
            s[SEEN_EXPLOIT] |= 1 << s[ALERT_HOST]


@rule
def write_memory(s: State, step: int, features: NDArray[np.uint8]) -> None:
    """Write what blue knows beyond the 52 features: `MEMORY_SIZE` of them.

    Decoys that stand, hosts that ever showed an exploit, the last host alarmed, whether Op_Server0
    was ever restored, and the number of the step while it is small.
    """
    features[:] = 0
    decoys = len(MEMORY_DECOY_HOST)
    for i in range(decoys):
        features[i] = s[DEC + MEMORY_DECOY_HOST[i]] >> MEMORY_DECOY_KIND[i] & 1
    at = decoys
    for h in range(NUM_HOSTS):
        features[at + h] = s[SEEN_EXPLOIT] >> h & 1
    at += NUM_HOSTS
    if s[LAST_ALARM] >= 0:
        features[at + s[LAST_ALARM]] = 1
    at += NUM_HOSTS
    features[at] = 1 - s[OT_PID]
    features[at + 1 + min(step, MEMORY_STEPS - 1)] = 1


@rule
def write_obs(s: State, words: NDArray[np.uint32]) -> None:
    """Write the 52 features, one word of four features per host."""
    for h in range(NUM_HOSTS):
        words[h] = OBS_WORD[_NO_ACTIVITY, s[COMP + h]]
    if s[ALERT] != _NO_ACTIVITY:
        h = s[ALERT_HOST]
        words[h] = OBS_WORD[s[ALERT], s[COMP + h]]
