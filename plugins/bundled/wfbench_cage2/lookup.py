"""The scenario tables as small integer arrays, for the compiled rules."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import tables
from .tables import DECOYS, EXPLOITS, HOST_ID, HOSTS, NUM_HOSTS, Decoy, Exploit, Subnet, Unit


def _integers(values: Iterable[Any]) -> NDArray[np.int64]:
    return np.array(list(values), dtype=np.int64)


def _bits(members: Iterable[bool]) -> int:
    """Return the set of the places where `members` is true."""
    return sum(1 << place for place, member in enumerate(members) if member)


def _ports(ports: Iterable[int]) -> int:
    return _bits(port in ports for port in tables.PORTS)


ALL_HOSTS = (1 << NUM_HOSTS) - 1

SUBNET = _integers(host.subnet for host in HOSTS)
SUBNET_HOSTS = _integers(_bits(host.subnet == subnet for host in HOSTS) for subnet in Subnet)
UNIT_HOSTS = _integers(_bits(host.unit == unit for host in HOSTS) for unit in Unit)
ENTERPRISE_HOSTS = int(UNIT_HOSTS[Unit.ENTERPRISE])
OP_HOSTS = int(UNIT_HOSTS[Unit.OP_HOST] | UNIT_HOSTS[Unit.OP_SERVER])
BLINE_USER_HOSTS = int(UNIT_HOSTS[Unit.USER]) & ~(1 << tables.FOOTHOLD)

NEXT_HOP = _integers(HOST_ID.get(host.next_hop or "", -1) for host in HOSTS)
REVEALED = _integers(
    _bits(name in (host.name, host.next_hop) for name in HOST_ID) for host in HOSTS
)
"""The hosts whose addresses an escalation reveals: the host itself and its next hop."""
WEAK_ACCOUNT = np.array([host.weak_account is not None for host in HOSTS], dtype=np.bool_)
BASE_PORTS = _integers(_ports({service.port for service in host.services}) for host in HOSTS)

GENUINE = np.zeros((NUM_HOSTS, len(Exploit)), dtype=np.bool_)
GENUINE_LEVEL = np.full((NUM_HOSTS, len(Exploit)), tables.Level.NONE, dtype=np.int64)
"""Whether a host's own process answers to an exploit, and the session it then gives."""
for _index, _host in enumerate(HOSTS):
    for _service in _host.services:
        if _service.exploit is not None:
            GENUINE[_index, _service.exploit] = True
            GENUINE_LEVEL[_index, _service.exploit] = _service.level

DECOY_CHECKS = _integers(_ports({DECOYS[kind].checks_port}) for kind in Decoy)
DECOY_FITS = np.array(
    [[DECOYS[kind].os in (None, host.os) for host in HOSTS] for kind in Decoy], dtype=np.bool_
)
DECOYS_DEFEATING = _integers(
    _bits(DECOYS[kind].defeats == exploit for kind in Decoy) for exploit in Exploit
)
DECOY_PORTS = _integers(
    _ports({DECOYS[kind].opens_port for kind in Decoy if planted >> kind & 1})
    for planted in range(1 << len(Decoy))
)
"""Ports opened by each set of planted decoys."""


def _enables(ports: int, exploit: Exploit) -> bool:
    rule = EXPLOITS[exploit]
    companion = not rule.also_one_of or ports & _ports(rule.also_one_of)
    return bool(ports & _ports({rule.port}) and companion)


def _top(options: int) -> int:
    enabled = [exploit for exploit in Exploit if options >> exploit & 1]
    return max(enabled, key=lambda exploit: EXPLOITS[exploit].weight, default=Exploit(0))


ENABLED = _integers(_bits(_enables(ports, exploit) for exploit in Exploit) for ports in range(256))
"""Exploits enabled by each set of remembered ports."""
TOP_EXPLOIT = _integers(_top(options) for options in range(256))
"""The heaviest exploit of each set of options."""

PLACEABLE = [
    (h, kind)
    for h in range(NUM_HOSTS)
    for kind in Decoy
    if DECOY_FITS[kind, h] and not BASE_PORTS[h] & DECOY_CHECKS[kind]
]
MEMORY_DECOY_HOST = _integers(h for h, _ in PLACEABLE)
MEMORY_DECOY_KIND = _integers(kind for _, kind in PLACEABLE)
"""Every decoy that can ever be planted: one memory feature each."""
GREEDY_DECOYS = _integers(
    sorted(
        (kind for kind in Decoy if kind is not Decoy.VSFTPD),
        key=lambda kind: -EXPLOITS[DECOYS[kind].defeats].weight,
    )
)
"""Decoys by how strongly red prefers the exploit they defeat. Vsftpd adds nothing to Apache."""

_TARGETS = {"user subnet": Subnet.USER, "enterprise subnet": Subnet.ENTERPRISE, "u": -1, "e": -2}
BLINE_KIND = _integers(kind for kind, _ in tables.BLINE_PLAN)
BLINE_TARGET = _integers((_TARGETS | HOST_ID)[target] for _, target in tables.BLINE_PLAN)
"""Target host or subnet of each index of B_line's plan; -1 stands for `u`, -2 for `e`."""
BLINE_ON_FAILURE = _integers(tables.BLINE_FALLBACK)

_ACTIVITY_BITS = ((0, 0), (1, 0), (1, 1))  # none, scan, exploit
_BELIEF_BITS = ((0, 0), (1, 0), (0, 1), (1, 1))  # no, unknown, user, privileged
OBS_CODE = np.array(
    [[activity + belief for belief in _BELIEF_BITS] for activity in _ACTIVITY_BITS], dtype=np.uint8
)
"""The four features of a host, by activity and belief."""
OBS_WORD = np.ascontiguousarray(OBS_CODE.view(np.uint32)[:, :, 0])
"""The same four bytes as one word, so that a host is written with one store."""
_HOST_SETS = np.arange(ALL_HOSTS + 1)[:, None]
UNIT_MASK = ((_HOST_SETS & UNIT_HOSTS > 0) @ (1 << np.arange(len(Unit)))).astype(np.uint8)
"""The set of unit types that have a host in each set of hosts."""
ROOTED_COST = (_HOST_SETS >> np.arange(NUM_HOSTS) & 1) @ [host.confidentiality for host in HOSTS]
"""What each set of hosts costs per step, in tenths, if red is root there."""
