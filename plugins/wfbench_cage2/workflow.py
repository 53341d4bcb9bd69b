"""The forms the environment can take: which observation, which actions, which workflow model."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from wfbench.contract import EnvInfo, WorkflowModel

from .options import check_actions
from .rules_blue import MEMORY_SIZE
from .tables import (
    FOOTHOLD,
    HOSTS,
    NUM_ACTIONS,
    NUM_HOSTS,
    OBS_SIZE,
    REDUCED_ACTIONS,
    REMOVE,
    RESTORE,
    UNIT_NAMES,
)


def _fix_host(action: int) -> int:
    if REMOVE <= action < REMOVE + NUM_HOSTS:
        return action - REMOVE
    if RESTORE <= action < RESTORE + NUM_HOSTS:
        return action - RESTORE
    return -1


def _workflow(actions: tuple[int, ...]) -> WorkflowModel:
    return WorkflowModel(
        units=UNIT_NAMES,
        hosts=tuple(host.name for host in HOSTS),
        host_unit=tuple(int(host.unit) for host in HOSTS),
        fix_host=tuple(_fix_host(action) for action in actions),
        footholds=(FOOTHOLD,),
    )


WORKFLOW = _workflow(tuple(range(NUM_ACTIONS)))
"""The workflow model of all 145 actions."""


@dataclass(frozen=True)
class Form:
    """What the options `memory` and `actions` make of the environment."""

    obs_size: int
    actions: tuple[int, ...]
    """Per action of the form: one of the 145, or -1 - h for the decoy macro of host h."""
    workflow: WorkflowModel

    @property
    def action_table(self) -> NDArray[np.int64]:
        """The actions as the kernel takes them."""
        return np.array(self.actions, dtype=np.int64)

    @property
    def info(self) -> EnvInfo:
        """The shape of the batched form."""
        return EnvInfo((self.obs_size,), "uint8", len(self.actions), self.workflow, batched=True)


@cache
def form(memory: bool, actions: str) -> Form:  # noqa: FBT001
    """The form with these options."""
    if not isinstance(memory, bool):
        raise TypeError(f"memory is {memory!r}; it must be true or false")
    everything = check_actions(actions) == "all"
    table = tuple(range(NUM_ACTIONS)) if everything else REDUCED_ACTIONS
    return Form(OBS_SIZE + MEMORY_SIZE if memory else OBS_SIZE, table, _workflow(table))
