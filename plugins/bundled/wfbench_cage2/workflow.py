"""The forms of the environment: its observation, its actions and its workflow model."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from wfbench.contract import EnvInfo, WorkflowModel

from . import tables
from .rules_blue import MEMORY_SIZE

_FIX_HOST = {
    base + h: h for base in (tables.REMOVE, tables.RESTORE) for h in range(tables.NUM_HOSTS)
}


def _workflow(actions: tuple[int, ...]) -> WorkflowModel:
    return WorkflowModel(
        units=tables.UNIT_NAMES,
        hosts=tuple(host.name for host in tables.HOSTS),
        host_unit=tuple(int(host.unit) for host in tables.HOSTS),
        fix_host=tuple(_FIX_HOST.get(action, -1) for action in actions),
        footholds=(tables.FOOTHOLD,),
        idle=actions.index(tables.SLEEP) if tables.SLEEP in actions else 0,
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
    size = tables.OBS_SIZE + MEMORY_SIZE if memory else tables.OBS_SIZE
    info = EnvInfo((size,), "uint8", len(chosen), _workflow(chosen), batched=True)
    return info, np.array(chosen, dtype=np.int64)
