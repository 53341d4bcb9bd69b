"""The forms of the environment: its observation, its actions and its workflow model."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from wfbench.contract import DecoyAction, EnvInfo, NotesModel, WorkflowModel

from . import lookup, tables
from .rules_blue import MEMORY_SIZE

_FIX_HOST = {
    base + h: h for base in (tables.REMOVE, tables.RESTORE) for h in range(tables.NUM_HOSTS)
}


def _decoy(host: int, kind: int) -> DecoyAction:
    rule = tables.DECOYS[tables.Decoy(kind)]
    action = tables.DECOY + tables.NUM_HOSTS * kind + host
    return DecoyAction(action, host, rule.checks_port, rule.opens_port)


def _notes(memory: bool, actions: tuple[int, ...]) -> NotesModel:  # noqa: FBT001
    kinds = [kind for _, kind in lookup.PLACEABLE]
    return NotesModel(
        actions=actions,
        memory=memory,
        restores=tuple(tables.RESTORE + h for h in range(tables.NUM_HOSTS)),
        watched=tables.OP_SERVER,
        decoys=tuple(_decoy(*place) for place in lookup.PLACEABLE),
        preferred=tuple(
            place
            for wanted in lookup.GREEDY_DECOYS
            for place, kind in enumerate(kinds)
            if kind == wanted
        ),
        otherwise=tables.MONITOR,
        steps=tables.MEMORY_STEPS,
    )


def _workflow(actions: tuple[int, ...], notes: NotesModel | None = None) -> WorkflowModel:
    return WorkflowModel(
        units=tables.UNIT_NAMES,
        hosts=tuple(host.name for host in tables.HOSTS),
        host_unit=tuple(int(host.unit) for host in tables.HOSTS),
        fix_host=tuple(_FIX_HOST.get(action, -1) for action in actions),
        footholds=(tables.FOOTHOLD,),
        idle=actions.index(tables.SLEEP) if tables.SLEEP in actions else 0,
        notes=notes,
    )


ALL_ACTIONS = tuple(range(tables.NUM_ACTIONS))
WORKFLOW = _workflow(ALL_ACTIONS)
"""The workflow model of all 145 actions."""


@cache
def form(memory: bool, actions: str) -> tuple[EnvInfo, NDArray[np.int64]]:  # noqa: FBT001
    """Return the shapes of the batched form with these options, and its actions.

    An action is one of the 145, or -1 - h for the decoy macro of host h.
    """
    if not isinstance(memory, bool):
        raise TypeError(f"memory is {memory!r}; it must be true or false")
    chosen = ALL_ACTIONS if actions == "all" else tables.REDUCED_ACTIONS
    notes = None if chosen == ALL_ACTIONS and not memory else _notes(memory, chosen)
    size = tables.OBS_SIZE + MEMORY_SIZE if memory else tables.OBS_SIZE
    info = EnvInfo((size,), "uint8", len(chosen), _workflow(chosen, notes), batched=True)
    return info, np.array(chosen, dtype=np.int64)
