"""Hosts, units, fix actions and decoys of the scenario: the same workflow model as `cage2`'s."""

from __future__ import annotations

from functools import cache

from wfbench.contract import DecoyAction, NotesModel, WorkflowModel
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
SLEEP, MONITOR, ANALYSE, REMOVE, DECOY, RESTORE = 0, 1, 2, 15, 28, 132
"""Action = base + host, where there is one; only Remove and Restore are fixes."""

FOOTHOLD = HOSTS.index("User0")

_LINUX, _WINDOWS = "Linux", "Windows"
_DECOYS = (
    *((80, 80, ""), (21, 21, _WINDOWS), (25, 25, _LINUX), (139, 139, _WINDOWS)),
    *((22, 22, ""), (3389, 3389, _WINDOWS), (443, 443, ""), (21, 80, _LINUX)),
)
"""In the sequence of the blue actions: the port that must be free, the port that is opened, and
the system it needs (Apache, Femitter, HarakaSMPT, Smss, SSHD, Svchost, Tomcat, Vsftpd)."""
_PREFERRED = (1, 2, 6, 0, 3, 5, 4)
"""Decoys by how strongly red prefers the exploit they defeat; Vsftpd adds nothing to Apache."""
_SERVER = (_WINDOWS, {22, 80, 139, 443, 3389})
_SYSTEMS: dict[str, tuple[str, set[int]]] = {
    "Enterprise1": _SERVER,
    "Enterprise2": _SERVER,
    "User0": (_WINDOWS, {21, 22}),
    "User1": (_WINDOWS, {21, 22}),
    "User2": (_WINDOWS, {139, 3389}),
    "User3": (_LINUX, {25, 80, 443, 3389}),
    "User4": (_LINUX, {22, 25, 80, 443, 3390}),
}
"""System and open ports; the other hosts are Linux with SSH."""

_USEFUL = tuple(
    host for host, name in enumerate(HOSTS) if host != FOOTHOLD and "Op_Host" not in name
)
_REDUCED = (
    *(base + host for base in (ANALYSE, REMOVE, RESTORE) for host in _USEFUL),
    *(RESTORE + host for host, name in enumerate(HOSTS) if "Op_Host" in name),
    *(-1 - host for host in _USEFUL),
)
"""The useful actions; -1 - h plants the best decoy that host h still lacks."""


def _placeable() -> list[tuple[int, int]]:
    found = []
    for host, name in enumerate(HOSTS):
        system, ports = _SYSTEMS.get(name, (_LINUX, {22}))
        for kind, (needs, _, wanted) in enumerate(_DECOYS):
            if wanted in ("", system) and needs not in ports:
                found.append((host, kind))
    return found


def _notes(memory: bool, actions: tuple[int, ...], history: bool) -> NotesModel:  # noqa: FBT001
    placeable = _placeable()
    return NotesModel(
        actions=actions,
        memory=memory,
        restores=tuple(RESTORE + host for host in range(len(HOSTS))),
        watched=HOSTS.index("Op_Server0"),
        decoys=tuple(
            DecoyAction(DECOY + len(HOSTS) * kind + host, host, *_DECOYS[kind][:2])
            for host, kind in placeable
        ),
        preferred=tuple(
            place
            for wanted in _PREFERRED
            for place, (_, kind) in enumerate(placeable)
            if kind == wanted
        ),
        otherwise=MONITOR,
        steps=16,
        history=history,
        quiet=4,
        periods=10,
        period_steps=10,
    )


def _unit(host: str) -> int:
    return NAMED_UNITS.index(host.rstrip("0123456789").lower())


def _fix_host(action: int) -> int:
    for base in (REMOVE, RESTORE):
        if base <= action < base + len(HOSTS):
            return action - base
    return -1


@cache
def workflow(
    memory: bool,  # noqa: FBT001
    actions: str,
    history: bool = False,  # noqa: FBT001, FBT002
) -> WorkflowModel:
    """Return the workflow model of the environment with these options."""
    every = tuple(range(NUM_ACTIONS))
    chosen = every if actions == "all" else _REDUCED
    return WorkflowModel(
        units=NAMED_UNITS,
        hosts=HOSTS,
        host_unit=tuple(map(_unit, HOSTS)),
        fix_host=tuple(map(_fix_host, chosen)),
        footholds=(FOOTHOLD,),
        idle=chosen.index(SLEEP) if SLEEP in chosen else 0,
        notes=_notes(memory, chosen, history) if memory or chosen != every else None,
    )
