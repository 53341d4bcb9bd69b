"""The forms of the environment: its observation, its actions and its workflow model."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from wfbench.contract import DecoyAction, EnvInfo, NotesModel, WorkflowModel

from . import lookup, tables

_FIX_HOST = {
    base + h: h for base in (tables.REMOVE, tables.RESTORE) for h in range(tables.NUM_HOSTS)
}


def _decoy(host: int, kind: int) -> DecoyAction:
    rule = tables.DECOYS[tables.Decoy(kind)]
    action = tables.DECOY + tables.NUM_HOSTS * kind + host
    return DecoyAction(action, host, rule.checks_port, rule.opens_port)


def _notes(memory: bool, actions: tuple[int, ...], history: bool) -> NotesModel:  # noqa: FBT001
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
        history=history,
        quiet=tables.HISTORY_QUIET,
        periods=tables.HISTORY_PERIODS,
        period_steps=tables.PERIOD_STEPS,
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
def form(
    memory: bool,  # noqa: FBT001
    actions: str,
    history: bool = False,  # noqa: FBT001, FBT002
) -> tuple[EnvInfo, NDArray[np.int64]]:
    """Return the shapes of the batched form with these options, and its actions.

    An action is one of the 145, or -1 - h for the decoy macro of host h.
    """
    for name, value in (("memory", memory), ("history", history)):
        if not isinstance(value, bool):
            raise TypeError(f"{name} is {value!r}; it must be true or false")
    if history and not memory:
        raise ValueError("history=true needs memory=true")
    chosen = ALL_ACTIONS if actions == "all" else tables.REDUCED_ACTIONS
    notes = None if chosen == ALL_ACTIONS and not memory else _notes(memory, chosen, history)
    size = tables.OBS_SIZE + (0 if notes is None else notes.size)
    info = EnvInfo((size,), "uint8", len(chosen), _workflow(chosen, notes), batched=True)
    return info, np.array(chosen, dtype=np.int64)
