"""Hosts, units and fix actions of the scenario: the same workflow model as `cage2`'s."""

from __future__ import annotations

from wfbench.contract import WorkflowModel
from wfbench.orders import NAMED_UNITS

HOSTS = (
    "Defender",
    *(f"Enterprise{i}" for i in range(3)),
    *(f"Op_Host{i}" for i in range(3)),
    "Op_Server0",
    *(f"User{i}" for i in range(5)),
)
"""In the sequence of the blue actions and observations."""

NUM_ACTIONS = 145
OBS_SIZE = 4 * len(HOSTS)
SLEEP = 0
REMOVE, RESTORE = 15, 132
"""Action = base + host; only Remove and Restore are fixes."""

FOOTHOLD = HOSTS.index("User0")


def _unit(host: str) -> int:
    return NAMED_UNITS.index(host.rstrip("0123456789").lower())


def _fix_host(action: int) -> int:
    for base in (REMOVE, RESTORE):
        if base <= action < base + len(HOSTS):
            return action - base
    return -1


WORKFLOW = WorkflowModel(
    units=NAMED_UNITS,
    hosts=HOSTS,
    host_unit=tuple(map(_unit, HOSTS)),
    fix_host=tuple(map(_fix_host, range(NUM_ACTIONS))),
    footholds=(FOOTHOLD,),
    idle=SLEEP,
)
