"""The workflow model of the scenario: which hosts and actions belong to which unit type."""

from __future__ import annotations

from wfbench.contract import EnvInfo, WorkflowModel

from .tables import (
    FOOTHOLD,
    HOSTS,
    NUM_ACTIONS,
    NUM_HOSTS,
    OBS_SIZE,
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


WORKFLOW = WorkflowModel(
    units=UNIT_NAMES,
    hosts=tuple(host.name for host in HOSTS),
    host_unit=tuple(int(host.unit) for host in HOSTS),
    fix_host=tuple(_fix_host(action) for action in range(NUM_ACTIONS)),
    footholds=(FOOTHOLD,),
)

BATCH_INFO = EnvInfo(
    obs_shape=(OBS_SIZE,),
    obs_dtype="uint8",
    num_actions=NUM_ACTIONS,
    workflow=WORKFLOW,
    batched=True,
)
