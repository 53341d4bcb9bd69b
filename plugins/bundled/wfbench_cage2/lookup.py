"""The scenario tables as small integer arrays, for the compiled rules."""

from __future__ import annotations

import numpy as np

from . import tables
from .tables import (
    DECOYS,
    EXPLOITS,
    HOST_ID,
    HOSTS,
    NUM_HOSTS,
    Activity,
    Belief,
    Decoy,
    Exploit,
    Unit,
)

PORT_BIT = {port: 1 << bit for bit, port in enumerate(tables.PORTS)}
ALL_HOSTS = (1 << NUM_HOSTS) - 1


SUBNET = np.array([host.subnet for host in HOSTS], dtype=np.int64)
SUBNET_HOSTS = np.array(
    [sum(1 << i for i in range(NUM_HOSTS) if HOSTS[i].subnet == n) for n in tables.Subnet],
    dtype=np.int64,
)
UNIT_HOSTS = np.array(
    [sum(1 << i for i in range(NUM_HOSTS) if HOSTS[i].unit == n) for n in Unit], dtype=np.int64
)
ENTERPRISE_HOSTS = int(UNIT_HOSTS[Unit.ENTERPRISE])
OP_HOSTS = int(UNIT_HOSTS[Unit.OP_HOST] | UNIT_HOSTS[Unit.OP_SERVER])
BLINE_USER_HOSTS = int(UNIT_HOSTS[Unit.USER]) & ~(1 << tables.FOOTHOLD)

NEXT_HOP = np.array(
    [-1 if host.next_hop is None else HOST_ID[host.next_hop] for host in HOSTS], dtype=np.int64
)
WEAK_ACCOUNT = np.array([host.weak_account is not None for host in HOSTS], dtype=np.bool_)
BASE_PORTS = np.array(
    [sum(PORT_BIT[service.port] for service in host.services) for host in HOSTS], dtype=np.int64
)


def _genuine() -> tuple[np.ndarray, np.ndarray]:
    answers = np.zeros((NUM_HOSTS, len(Exploit)), dtype=np.bool_)
    level = np.full((NUM_HOSTS, len(Exploit)), tables.Level.NONE, dtype=np.int64)
    for index, host in enumerate(HOSTS):
        for service in host.services:
            if service.exploit is not None:
                answers[index, service.exploit] = True
                level[index, service.exploit] = service.level
    return answers, level


GENUINE, GENUINE_LEVEL = _genuine()
"""Whether a host's own process answers to an exploit, and the session it then gives."""

DECOY_OPENS = np.array([PORT_BIT[DECOYS[kind].opens_port] for kind in Decoy], dtype=np.int64)
DECOY_CHECKS = np.array([PORT_BIT[DECOYS[kind].checks_port] for kind in Decoy], dtype=np.int64)
DECOY_FITS = np.array(
    [[DECOYS[kind].os in (None, host.os) for host in HOSTS] for kind in Decoy], dtype=np.bool_
)
DECOYS_DEFEATING = np.array(
    [sum(1 << kind for kind in Decoy if DECOYS[kind].defeats == e) for e in Exploit],
    dtype=np.int64,
)
DECOY_PORTS = np.array(
    [
        np.bitwise_or.reduce([DECOY_OPENS[k] for k in Decoy if planted >> k & 1] or [0])
        for planted in range(1 << len(Decoy))
    ],
    dtype=np.int64,
)
"""Ports opened by each set of planted decoys."""


def _enabled(ports: int) -> int:
    options = 0
    for exploit, rule in EXPLOITS.items():
        known = ports & PORT_BIT[rule.port]
        companion = not rule.also_one_of or any(ports & PORT_BIT[p] for p in rule.also_one_of)
        if known and companion:
            options |= 1 << exploit
    return options


def _top(options: int) -> int:
    enabled = [exploit for exploit in Exploit if options >> exploit & 1]
    return max(enabled, key=lambda exploit: EXPLOITS[exploit].weight, default=Exploit(0))


ENABLED = np.array([_enabled(ports) for ports in range(256)], dtype=np.int64)
"""Exploits enabled by each set of remembered ports."""
TOP_EXPLOIT = np.array([_top(options) for options in range(256)], dtype=np.int64)
"""The heaviest exploit of each set of options."""

PLACEABLE = [
    (h, kind)
    for h in range(NUM_HOSTS)
    for kind in Decoy
    if DECOY_FITS[kind, h] and not BASE_PORTS[h] & DECOY_CHECKS[kind]
]
MEMORY_DECOY_HOST = np.array([h for h, _ in PLACEABLE], dtype=np.int64)
MEMORY_DECOY_KIND = np.array([kind for _, kind in PLACEABLE], dtype=np.int64)
"""Every decoy that can ever be planted: one memory feature each."""
GREEDY_DECOYS = np.array(
    sorted(
        (kind for kind in Decoy if kind is not Decoy.VSFTPD),
        key=lambda kind: -EXPLOITS[DECOYS[kind].defeats].weight,
    ),
    dtype=np.int64,
)
"""Decoys by how strongly red prefers the exploit they defeat. Vsftpd adds nothing to Apache."""

CONFIDENTIALITY = np.array([host.confidentiality for host in HOSTS], dtype=np.int64)

_TARGETS = {
    "user subnet": tables.Subnet.USER,
    "enterprise subnet": tables.Subnet.ENTERPRISE,
    "u": -1,
    "e": -2,
}
BLINE_KIND = np.array([kind for kind, _ in tables.BLINE_PLAN], dtype=np.int64)
BLINE_TARGET = np.array(
    [_TARGETS[t] if t in _TARGETS else HOST_ID[t] for _, t in tables.BLINE_PLAN], dtype=np.int64
)
"""Target host or subnet of each index of B_line's plan; -1 stands for `u`, -2 for `e`."""
BLINE_ON_FAILURE = np.array(tables.BLINE_FALLBACK, dtype=np.int64)

_ACTIVITY_BITS = {Activity.NONE: (0, 0), Activity.SCAN: (1, 0), Activity.EXPLOIT: (1, 1)}
_BELIEF_BITS = {
    Belief.NO: (0, 0),
    Belief.UNKNOWN: (1, 0),
    Belief.USER: (0, 1),
    Belief.PRIVILEGED: (1, 1),
}
OBS_CODE = np.array(
    [[_ACTIVITY_BITS[a] + _BELIEF_BITS[b] for b in Belief] for a in Activity], dtype=np.uint8
)
"""The four features of a host, by activity and belief."""
OBS_WORD = np.ascontiguousarray(OBS_CODE.view(np.uint32)[:, :, 0])
"""The same four bytes as one word, so that a host is written with one store."""
UNIT_MASK = np.array(
    [
        sum(1 << unit for unit, hosts in enumerate(UNIT_HOSTS) if mask & hosts)
        for mask in range(ALL_HOSTS + 1)
    ],
    dtype=np.uint8,
)
"""The set of unit types that have a host in each set of hosts."""
