"""Blue's actions, and what blue gets to see."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from . import lookup, tables
from .compiling import part
from .layout import AT, State
from .workflow import form

WITH_MEMORY = form(memory=True, actions="all")[0].obs_shape[0]
WITH_HISTORY = form(memory=True, actions="all", history=True)[0].obs_shape[0]
"""How many features an observation has with memory, and with history as well."""

COUNT_LIMIT = 30_000
"""Counts stop here, so that they never overflow; only zero or not matters."""

_VSFTPD_KIND = int(tables.Decoy.VSFTPD)
_FALSE, _TRUE, _UNKNOWN = map(int, tables.Success)
_NO, _BELIEF_UNKNOWN, _BELIEF_USER, _PRIVILEGED = map(int, tables.Belief)
_NO_ACTIVITY, _, _EXPLOIT_SEEN = map(int, tables.Activity)


@part
def note_sessions(s: State, h: int) -> None:
    """Update the sets `owned` and `rooted` after a session count of h changed."""
    s[AT.rooted] &= ~(1 << h)
    s[AT.owned] &= ~(1 << h)
    if s[AT.root + h] > 0:
        s[AT.rooted] |= 1 << h
    if s[AT.root + h] > 0 or s[AT.sus + h] > 0 or s[AT.oth + h] > 0:
        s[AT.owned] |= 1 << h


@part
def ports(s: State, h: int) -> int:
    """Return the ports open on h now: its own and those of its decoys."""
    return lookup.BASE_PORTS[h] | lookup.DECOY_PORTS[s[AT.dec + h]]


@part
def analyse(s: State, h: int) -> None:
    """Look for high-density files; what is found is shown after red's action."""
    if s[AT.mal] >> h & 1:
        s[AT.analysed] = h


@part
def remove(s: State, h: int) -> None:
    """End the user-level sessions whose process blue has seen."""
    if s[AT.sus + h] > 0:
        s[AT.ended_session] = 1
        s[AT.sus + h] = 0
        note_sessions(s, h)


@part
def restore(s: State, h: int) -> None:
    """Reset a host to its first image; the foothold comes back with it."""
    keeps = 1 if h == tables.FOOTHOLD else 0
    if s[AT.sus + h] > 0 or s[AT.oth + h] > 0 or s[AT.root + h] > keeps:
        s[AT.ended_session] = 1
    s[AT.sus + h] = 0
    s[AT.oth + h] = 0
    s[AT.root + h] = keeps
    note_sessions(s, h)
    s[AT.dec + h] = 0
    s[AT.vsftpd + h] = 0
    s[AT.mal] &= ~(1 << h)
    s[AT.again] &= ~(1 << h)
    if h == tables.OP_SERVER:
        s[AT.ot_stopped] = 0
        s[AT.ot_active] = 1
        s[AT.ot_pid] = 0


@part
def plant(s: State, kind: int, h: int) -> int:
    """Plant a decoy if its operating system fits and the port it checks is free."""
    if not lookup.DECOY_FITS[kind, h] or ports(s, h) & lookup.DECOY_CHECKS[kind]:
        return _FALSE
    s[AT.dec + h] |= 1 << kind
    if kind == _VSFTPD_KIND and s[AT.vsftpd + h] < COUNT_LIMIT:
        s[AT.vsftpd + h] += 1
    s[AT.planted] = h
    return _TRUE


@part
def blue_turn(s: State, action: int) -> None:
    """Execute blue's action, within 0..144. All but Sleep and decoys always answer TRUE."""
    s[AT.blue_action] = action
    s[AT.analysed] = -1
    s[AT.ended_session] = 0
    s[AT.blue_success] = _TRUE
    if action >= tables.RESTORE:
        restore(s, action - tables.RESTORE)
    elif action >= tables.DECOY:
        kind, h = divmod(action - tables.DECOY, tables.NUM_HOSTS)
        s[AT.blue_success] = plant(s, kind, h)
    elif action >= tables.REMOVE:
        remove(s, action - tables.REMOVE)
    elif action >= tables.ANALYSE:
        analyse(s, action - tables.ANALYSE)
    elif action == tables.SLEEP:
        s[AT.blue_success] = _UNKNOWN


@part
def reward_tenths(s: State) -> int:
    """Return blue's reward for the present state, in tenths."""
    cost = lookup.ROOTED_COST[s[AT.rooted]] + tables.OT_STOPPED_COST * s[AT.ot_stopped]
    if s[AT.blue_action] >= tables.RESTORE:
        cost += tables.RESTORE_COST
    return -cost


@part
def note_alarm(s: State, h: int, exploit: bool) -> None:  # noqa: FBT001
    """Note an alarm, and at the first one of a host the decoys that stand there."""
    s[AT.earlier_alarm] = s[AT.last_alarm]
    s[AT.earlier_kind] = s[AT.last_kind]
    s[AT.last_alarm] = h
    s[AT.last_kind] = exploit
    s[AT.quiet_steps] = 0
    if not s[AT.alarmed] >> h & 1:
        s[AT.alarmed] |= 1 << h
        s[AT.met_dec + h] = s[AT.dec + h]
    elif not exploit:
        s[AT.again] |= 1 << h


@part
def update_belief(s: State) -> None:
    """Update blue's table and memory: its own action, then alerts, then what Analyse found."""
    action = s[AT.blue_action]
    if action >= tables.RESTORE:
        s[AT.comp + action - tables.RESTORE] = _NO
    elif tables.REMOVE <= action < tables.DECOY and s[AT.comp + action - tables.REMOVE] != _NO:
        s[AT.comp + action - tables.REMOVE] = _BELIEF_UNKNOWN
    s[AT.quiet_steps] = min(s[AT.quiet_steps] + 1, COUNT_LIMIT)
    if s[AT.alert] != _NO_ACTIVITY:
        note_alarm(s, s[AT.alert_host], s[AT.alert] == _EXPLOIT_SEEN)
    if s[AT.alert] == _EXPLOIT_SEEN:
        s[AT.comp + s[AT.alert_host]] = _BELIEF_USER
        s[AT.seen_exploit] |= 1 << s[AT.alert_host]
    if s[AT.analysed] >= 0:
        s[AT.comp + s[AT.analysed]] = _PRIVILEGED


@part
def concrete_action(s: State, action: int) -> int:
    """Return one of the 145 actions; a macro becomes the best decoy that fits now."""
    if action >= 0:
        return action
    h = -1 - action
    for kind in lookup.GREEDY_DECOYS:
        if lookup.DECOY_FITS[kind, h] and not ports(s, h) & lookup.DECOY_CHECKS[kind]:
            return tables.DECOY + tables.NUM_HOSTS * kind + h
    return tables.MONITOR


@part
def write_memory(s: State, step: int, features: NDArray[np.uint8]) -> None:
    """Write what blue knows beyond the 52 features.

    Decoys that stand, hosts that ever showed an exploit, the last host alarmed, whether Op_Server0
    was ever restored, and the number of the step while it is small.
    """
    features[:] = 0
    decoys = len(lookup.MEMORY_DECOY_HOST)
    for i in range(decoys):
        features[i] = s[AT.dec + lookup.MEMORY_DECOY_HOST[i]] >> lookup.MEMORY_DECOY_KIND[i] & 1
    at = decoys
    for h in range(tables.NUM_HOSTS):
        features[at + h] = s[AT.seen_exploit] >> h & 1
    at += tables.NUM_HOSTS
    if s[AT.last_alarm] >= 0:
        features[at + s[AT.last_alarm]] = 1
    at += tables.NUM_HOSTS
    features[at] = 1 - s[AT.ot_pid]
    features[at + 1 + min(step, tables.MEMORY_STEPS - 1)] = 1


@part
def write_history(s: State, step: int, features: NDArray[np.uint8]) -> None:
    """Write what blue knows of the past beyond its memory.

    Decoys that stood at a host's first alarm, hosts ever alarmed, hosts scanned again since their
    last Restore, the alarm before the last, whether the last two were exploits, the steps since the
    last, and the period of the episode.
    """
    features[:] = 0
    decoys = len(lookup.MEMORY_DECOY_HOST)
    for i in range(decoys):
        met = s[AT.met_dec + lookup.MEMORY_DECOY_HOST[i]]
        features[i] = met >> lookup.MEMORY_DECOY_KIND[i] & 1
    at = decoys
    for h in range(tables.NUM_HOSTS):
        features[at + h] = s[AT.alarmed] >> h & 1
        features[at + tables.NUM_HOSTS + h] = s[AT.again] >> h & 1
    at += 2 * tables.NUM_HOSTS
    if s[AT.earlier_alarm] >= 0:
        features[at + s[AT.earlier_alarm]] = 1
    at += tables.NUM_HOSTS
    features[at] = s[AT.last_kind]
    features[at + 1] = s[AT.earlier_kind]
    at += 2
    features[at + min(s[AT.quiet_steps], tables.HISTORY_QUIET - 1)] = 1
    at += tables.HISTORY_QUIET
    features[at + min(step // tables.PERIOD_STEPS, tables.HISTORY_PERIODS - 1)] = 1


@part
def write_obs(s: State, words: NDArray[np.uint32]) -> None:
    """Write the 52 features, one word of four features per host."""
    for h in range(tables.NUM_HOSTS):
        words[h] = lookup.OBS_WORD[_NO_ACTIVITY, s[AT.comp + h]]
    if s[AT.alert] != _NO_ACTIVITY:
        h = s[AT.alert_host]
        words[h] = lookup.OBS_WORD[s[AT.alert], s[AT.comp + h]]
