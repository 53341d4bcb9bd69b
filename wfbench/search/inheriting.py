"""Which trained policy a new workflow starts from."""

from __future__ import annotations

from collections.abc import Sequence

from wfbench.contract import Order
from wfbench.orders import kendall

from .results import WorkflowResult


def parent(how: str, order: Order, finished: Sequence[WorkflowResult]) -> WorkflowResult | None:
    """The workflow to inherit from, or None: to start from scratch.

    `nearest` is by Kendall distance; of several equally near, the most compliant and then the
    latest. A workflow whose training broke down is never inherited from.
    """
    sound = [result for result in finished if result.sound]
    if how == "none" or not sound:
        return None
    if how == "previous":
        return sound[-1]
    return min(sound, key=lambda r: (kendall(order, r.order), -r.compliance, -r.workflow))
