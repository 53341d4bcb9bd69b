"""What a random policy scores by a definition, computed by counting."""

from __future__ import annotations

import numpy as np

from wfbench.compliance.definitions import find_definition
from wfbench.compliance.ranking import rank
from wfbench.contract import Order, Rollout, WorkflowModel


def chance_level(
    definition: str, model: WorkflowModel, order: Order, rollout: Rollout
) -> float | None:
    """The share of compliant ones among all fixes that could be graded in a rollout's states.

    Every fix action is tried in every row. In a rollout of a policy that chooses at random this is
    the compliance to expect of it, pooled over episodes; in any other it says how easy the states
    were in which that policy found itself. A fix is taken to end a session where its host is
    compromised and no foothold, which is exact for actions that end every session of a host. Each
    column must begin with an episode. None if no fix would be graded.
    """
    from wfbench.compliance import kernel  # compiled code, loaded when first needed

    found = find_definition(definition)
    ranking = rank(model, order)
    compliant, counted = kernel.chance_pass(
        np.arange(rollout.actions.shape[1]),
        rollout.actions,
        rollout.terminated,
        rollout.truncated,
        rollout.compromised,
        ranking.place,
        ranking.host_bit,
        *ranking.judge(found),
    )
    return compliant / counted if counted else None
