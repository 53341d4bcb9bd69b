"""The compliance that random fixes would reach."""

from __future__ import annotations

from wfbench.contract import Order, Rollout, WorkflowModel
from wfbench.orders.compliance.definitions import find_definition
from wfbench.orders.compliance.ranking import rank


def chance_level(
    definition: str, model: WorkflowModel, order: Order, rollout: Rollout
) -> float | None:
    """Return the compliant share of all graded fixes that a rollout's states allow.

    Every fix action is tried in every row. If the rollout's policy acts at random, this is the
    compliance to expect of it, pooled over episodes; otherwise it says how easy the states were
    that the policy met. A fix is assumed to end a session if its host is compromised and no
    foothold, which is exact for actions that end every session of a host. Each column must begin
    with an episode. None if no fix would be graded.
    """
    from wfbench.orders.compliance import kernel  # compiled code, loaded when first needed

    ranking = rank(model, order)
    compliant, counted = kernel.chance_pass(
        kernel.Rows(*(getattr(rollout, name) for name in kernel.Rows._fields)),
        ranking.place,
        ranking.host_bit,
        ranking.grader(find_definition(definition)),
    )
    return compliant / counted if counted else None
